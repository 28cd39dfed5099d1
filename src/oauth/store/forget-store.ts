import { allExpiredSec } from "../tokens/access-token.ts";
import type { OwnerKind } from "./trust-store.ts";

/**
 * What an operator's revocation removes: everything by which tokens could be had without anybody being asked again. The
 * access tokens themselves end by a row of `revocation` (trust-store.ts), in the same transaction.
 *
 *   client, tenant   refresh grants and codes
 *   user             the same, and the browsers' sessions
 *   session          the same, and the other access tokens of its grants: a refresh may have named another session id
 */
export type ForgetStatements = (kind: OwnerKind, key: string, nowMs: number) => readonly D1PreparedStatement[];

const COLUMN = {
  client: "client",
  user: "email",
  tenant: "authorization ->> 'tenant'",
  session: "authorization ->> 'sessionId'",
} as const satisfies Record<OwnerKind, string>;

const removeFrom = (table: "refresh_grant" | "authorization_code", kind: OwnerKind): string =>
  `DELETE FROM ${table} WHERE ${COLUMN[kind]} = ?1`;
const SESSIONS = {
  user: `DELETE FROM session WHERE email = ?1`,
  session: `DELETE FROM session WHERE sid = ?1`,
} as const;
const END_GRANTS = `
  INSERT OR REPLACE INTO revocation (kind, key, until_ms, expires_sec)
  SELECT 'grant', id, ${Number.MAX_SAFE_INTEGER}, ?2 FROM (
    SELECT id FROM refresh_grant WHERE ${COLUMN.session} = ?1
    UNION SELECT grant_id FROM authorization_code WHERE ${COLUMN.session} = ?1)`;

export const createForgetStatements =
  (db: D1Database): ForgetStatements =>
  (kind, key, nowMs) => [
    ...(kind === "session" ? [db.prepare(END_GRANTS).bind(key, allExpiredSec(nowMs))] : []),
    ...(kind === "session" || kind === "user" ? [db.prepare(SESSIONS[kind]).bind(key)] : []),
    db.prepare(removeFrom("refresh_grant", kind)).bind(key),
    db.prepare(removeFrom("authorization_code", kind)).bind(key),
  ];
