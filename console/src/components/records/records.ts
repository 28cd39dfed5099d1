import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useRef, type RefObject } from "react";
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

/** False once the person has left the page: an answer that comes then must not be shown there. */
export function useIsHere(): RefObject<boolean> {
  const isHere = useRef(false);
  useEffect(() => {
    isHere.current = true;
    return () => void (isHere.current = false);
  }, []);
  return isHere;
}

/** Goes to the page of a new record, unless the person went elsewhere before the answer came. */
export function useOpenNew(kind: RecordKind): (id: string) => Promise<void> {
  const navigate = useNavigate();
  const isHere = useIsHere();
  return async (id) => {
    if (isHere.current) await navigate({ href: recordHref(kind, id) });
  };
}

/** What the form of a record is given. */
export interface RecordFormProps<T> {
  /** Absent: a new one. */
  readonly record?: T;
  readonly cancel: () => void;
  /** It is saved under this id. */
  readonly done: (id: string) => Promise<unknown>;
}
