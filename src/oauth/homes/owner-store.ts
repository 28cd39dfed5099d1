import type { OwnerKind } from "../tokens/trust-store.ts";

/**
 * Rows of one transaction, which then takes about 0.2 s. Fewer for a session: each of its grants is revoked by its id,
 * and every isolate keeps that for an hour.
 */
export const MAX_ROWS = { client: 5_000, tenant: 5_000, user: 5_000, session: 500 } as const satisfies Record<
  OwnerKind,
  number
>;
/** The column with the owner of a grant or code. */
export const COLUMN = {
  client: "client",
  user: "email",
  tenant: "authorization ->> 'tenant'",
  session: "authorization ->> 'sessionId'",
} as const satisfies Record<OwnerKind, string>;

/** Ids of grants begin with the session's id and a dot. Grants of older releases have other ids, which an index has. */
const grantsOfSession = (columns: string): string => `
  SELECT ${columns} FROM refresh_grant WHERE id > ?1 || '.' AND id < ?1 || '/'
  UNION ALL SELECT ${columns} FROM refresh_grant WHERE authorization ->> 'sessionId' = ?1 AND instr(id, '.') = 0`;
/** SQL behind `FROM`: the grants of an owner. `columns`: only needed for a session, whose grants are two queries. */
export const grantsOf = (kind: OwnerKind, columns = "id, client, email"): string =>
  kind === "session" ? `(${grantsOfSession(columns)})` : `refresh_grant WHERE ${COLUMN[kind]} = ?1`;

/**
 * A person who was signed out signs in again at once, while earlier sign-ins are still removed: only sign-ins up to the
 * end (`until`, SQL) go. For a condition of grants and codes, and of sessions.
 */
export const signedInUntil = (until: string): string =>
  `coalesce(authorization ->> 'authenticatedAtMs', 0) <= ${until}`;
export const sessionsUntil = (until: string): string => `authenticated_at <= ${until}`;
