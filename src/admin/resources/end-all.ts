import type { AuditRecord } from "../../platform/audit.ts";
import { DATABASE_NOW_MS } from "../../platform/database.ts";
import { problem, type Problem } from "../../http/errors.ts";
import type { AdminDeps } from "../routes.ts";

/**
 * What a client, user, tenant or session got until now, ended; what is registered stays as it is.
 *
 *   access tokens    void everywhere within 5 s; what other isolates issue by older copies of the records is void too
 *   refresh grants   removed, with codes that were not redeemed
 *   browsers         those of the user, or of the session, are signed out
 *
 * Thousands of grants take several transactions, since the database does nothing else during one: the first has the
 * audit row, and each voids again what was issued until then, perhaps by a grant that it removes.
 */
export type EndKind = "client" | "user" | "tenant" | "session";

type EndDeps = Pick<AdminDeps, "db" | "audit" | "voidStatement" | "forget">;

/** Transactions of one request; a repetition goes on. */
const MOST_STEPS = 20;

/** Undefined: all of it ended; else the refusal that asks for a repetition. */
export async function endAll(
  kind: EndKind,
  id: string,
  nowMs: number,
  record: AuditRecord | undefined,
  { db, audit, voidStatement, forget }: EndDeps,
): Promise<Problem | undefined> {
  for (let step = 0; step < MOST_STEPS; step++) {
    const { statements, mostRows } = forget(kind, id, nowMs);
    const results = await db.batch([
      ...(kind === "user" ? [signOutStatement(db, id, nowMs)] : []),
      voidStatement(kind, id, nowMs, "always"),
      ...statements,
      ...(step === 0 && record !== undefined ? [audit.statement("always", record)] : []),
    ]);
    if (results.every(({ meta }) => meta.changes < mostRows)) return undefined;
  }
  const message = "Its tokens are void; there are more grants than one request ends. Send it again.";
  return problem("service_temporarily_unavailable", message, { headers: { "retry-after": "1" } });
}

/** The same in front of a removal, where this would take all grants along in one transaction, and so for too long. */
export async function endManyFirst(
  kind: "client" | "user",
  id: string,
  nowMs: number,
  record: AuditRecord,
  deps: EndDeps,
): Promise<Problem | undefined> {
  const isMany = (await deps.forget(kind, id, nowMs).exceeds.first()) !== null;
  return isMany ? endAll(kind, id, nowMs, { ...record, action: "revoke" }, deps) : undefined;
}

/**
 * Sign-ins of this moment or before count no more, by whichever of two clocks is later: the call began before its
 * password was hashed. The database's own millisecond is left to the sign-in that follows at once.
 */
const SIGN_OUT = `
  UPDATE user SET signed_out_at = max(?2, ${DATABASE_NOW_MS} - 1) WHERE email = ?1`;

/** Ends every sign-in of the user until now: sessions, ID token hints, codes and refresh tokens count no more. */
export const signOutStatement = (db: D1Database, address: string, nowMs: number): D1PreparedStatement =>
  db.prepare(SIGN_OUT).bind(address, nowMs);
