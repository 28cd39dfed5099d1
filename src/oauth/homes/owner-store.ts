import type { OwnerKind } from "../tokens/trust-store.ts";

/** Keeps a transaction at about 0.2 s. Every isolate holds the grants of a revoked session for an hour, one by one. */
export const MAX_ROWS = { client: 5_000, tenant: 5_000, user: 5_000, session: 500 } as const satisfies Record<
  OwnerKind,
  number
>;
/** The column that tells the owner of a grant or a code. */
export const COLUMN = {
  client: "client",
  user: "email",
  tenant: "authorization ->> 'tenant'",
  session: "authorization ->> 'sessionId'",
} as const satisfies Record<OwnerKind, string>;

/** The ids of a session's grants begin with its own. Grants from before have other ids, and are in an index. */
const grantsOfSession = (columns: string): string => `
  SELECT ${columns} FROM refresh_grant WHERE id > ?1 || '.' AND id < ?1 || '/'
  UNION ALL SELECT ${columns} FROM refresh_grant WHERE authorization ->> 'sessionId' = ?1 AND instr(id, '.') = 0`;
/** The part of a statement behind `FROM`. `columns`: those of a session's grants. */
export const grantsOf = (kind: OwnerKind, columns = "id, client"): string =>
  kind === "session" ? `(${grantsOfSession(columns)})` : `refresh_grant WHERE ${COLUMN[kind]} = ?1`;
