import { useQueryClient } from "@tanstack/react-query";

/**
 * The kinds of records that have a list, a page each and a form. A kind names the list's path (`/people`), the place of
 * a record's page (`/people/ada@demo.example`) and the keys of their queries (`["people", "ada@demo.example"]`).
 */
export type RecordKind = "tenants" | "organizations" | "people" | "applications" | "roles";

export const recordHref = (kind: RecordKind, id: string): string =>
  `/${kind}/${encodeURIComponent(id).replaceAll("%40", "@")}`;

/** Reads the list of a kind again, and each record of it that a page shows. */
export function useRefresh(kind: RecordKind): () => Promise<void> {
  const queries = useQueryClient();
  return () => queries.invalidateQueries({ queryKey: [kind] });
}
