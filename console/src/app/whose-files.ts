import type { FileOwner } from "../../../api/plinth.ts";

/**
 * Whose files the palette asks for by name (find-files.ts), and when. Pure.
 */
type Owner = Pick<FileOwner, "client" | "visibility"> & { readonly tenant: string };

export interface TenantFiles {
  readonly tenant: string;
  readonly owners: readonly Pick<FileOwner, "client" | "visibility" | "files">[];
}

/** Our choice: what one text may cost. A list is one look into an index. */
export const FIND_LIMITS = { tenants: 5, owners: 12 } as const;

/** `harbour-09.png`, not `Signing keys`, `ada@demo.example` or a half-typed `harbour-09.p`. */
export const looksLikeFile = (text: string): boolean => /^[^@/]+\.[a-z0-9]{2,5}$/i.test(text);

/** The tenant that an address of the console is about. */
export const tenantOf = (pathname: string, search: { readonly tenant?: string }): string | undefined =>
  search.tenant ?? /\/tenants\/(?!new$)([^/]+)$/.exec(pathname)?.[1];

/** Whose files are asked for: those that were looked at last, then each tenant's in its place, none twice. */
export function ownersToAsk(last: Owner | undefined, tenants: readonly TenantFiles[]): readonly Owner[] {
  const all = tenants.flatMap(({ tenant, owners }) =>
    owners.filter(({ files }) => files > 0).map(({ client, visibility }) => ({ tenant, client, visibility })),
  );
  const isLast = ({ tenant, client, visibility }: Owner) =>
    tenant === last?.tenant && client === last.client && visibility === last.visibility;
  return [...(last === undefined ? [] : [last]), ...all.filter((owner) => !isLast(owner))].slice(0, FIND_LIMITS.owners);
}
