import { useQueryClient } from "@tanstack/react-query";
import { usePerson } from "../../session/session.ts";

/**
 * The kinds of records that have a list, a page each and a form. A kind names the list's path (`/people`), the place of
 * a record's page (`/people/ada@demo.example`), the keys of their queries (`["people", "ada@demo.example"]`), and their
 * words.
 */
export type RecordKind = "tenants" | "organizations" | "people" | "applications" | "roles";

export const recordHref = (kind: RecordKind, id: string): string =>
  `/${kind}/${id.replaceAll(/[%/\\?#]/g, encodeURIComponent)}`;

/**
 * True if the person may make, edit and delete records of a kind. Those who run an organization may do so with
 * applications alone.
 */
export function useMayEdit(kind: RecordKind): boolean {
  const { write, tenantsOnly } = usePerson().rights;
  return write || (kind === "applications" && tenantsOnly);
}

/** Reads the list of a kind again, and each record of it that a page shows. */
export function useRefresh(kind: RecordKind): () => Promise<void> {
  const queries = useQueryClient();
  return () => queries.invalidateQueries({ queryKey: [kind] });
}

/** What the form of a record is given. */
export interface RecordFormProps<T> {
  /** Absent: a new one. */
  readonly record?: T;
  readonly cancel: () => void;
  /** It is saved under this id. */
  readonly done: (id: string) => Promise<unknown>;
}
