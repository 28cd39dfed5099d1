import type { AuditRecord } from "../../../platform/ports/audit.ts";
import { describeError, type Log } from "../../../platform/runtime/log.ts";
import type { OwnerKind } from "../../tokens/trust-store.ts";
import type { Elsewhere } from "../../homes/elsewhere.ts";
import { MOST_ENDED_SESSIONS, type RevokeAllStore, type RevokedBy } from "./revoke-all-store.ts";

const MANY = `over ${MOST_ENDED_SESSIONS} sessions of the person ended within an hour: all of them end`;

/** Lists of a session's grants, each revoked in one transaction. */
const MAX_STEPS = 20;

export type RevokeAll = ReturnType<typeof createRevokeAll>;

/** `RevokeAllStore` for all shards. homes/elsewhere.ts has the order of the steps. */
export function createRevokeAll(store: RevokeAllStore, elsewhere: Elsewhere, log: Log) {
  async function revokeSession(sid: string, nowMs: number, record: AuditRecord | undefined, email?: string) {
    for (let step = 0; step < MAX_STEPS; step++) {
      const grants = await elsewhere.voidSession(sid, email);
      if (step > 0 && grants.length === 0) {
        await elsewhere.endSession(sid, email);
        return "ended";
      }
      const first = step === 0 ? record : undefined;
      const ended = await store.revokeAll("session", sid, nowMs, first, { person: email }, grants);
      if (ended === "more") return ended;
      await elsewhere.removeOfSession(sid, grants);
    }
    return "more";
  }

  async function revokeUser(email: string, nowMs: number, record: AuditRecord | undefined) {
    // Sign-ins of a person before now are not valid, whenever their grants are removed.
    const ended = await store.revokeAll("user", email, nowMs, record);
    return (await elsewhere.endSignedOut(email)).mayHaveMore ? "more" : ended;
  }

  return {
    signOutStatement: store.signOutStatement,
    cleanupStep: store.cleanupStep,
    /** Removes sign-ins elsewhere of a person who was signed out. They are invalid already. */
    endElsewhere: (email: string): Promise<unknown> => elsewhere.endSignedOut(email),
    /** Removes sign-ins elsewhere of a person or client, before the directory removes the person or client. */
    forgetElsewhere: elsewhere.forget,
    /** Removes sign-ins that came in between. They give no access any more, so a failure does not undo the removal. */
    async forgetRemoved(kind: "user" | "client", key: string): Promise<void> {
      await elsewhere.forgetRemoved(kind, key).catch((thrown: unknown) =>
        log.error("what lies elsewhere of somebody removed was left to the sweep", {
          kind,
          key,
          error: describeError(thrown),
        }),
      );
    },
    /**
     * As `RevokeAllStore`. A person who goes on and on to end sessions is signed out everywhere, by one row: those of
     * sessions stay in every isolate for an hour.
     */
    async revokeAll(
      kind: OwnerKind,
      key: string,
      nowMs: number,
      record: AuditRecord | undefined,
      by: RevokedBy = {},
    ): Promise<"ended" | "more"> {
      const { person } = by;
      if (kind === "session")
        return person !== undefined && (await store.hasEndedMany(person))
          ? revokeUser(person, nowMs, record && { ...record, reason: MANY })
          : revokeSession(key, nowMs, record, person);
      if (kind === "user") return revokeUser(key, nowMs, record);
      await elsewhere.end(kind, key);
      let ended = await store.revokeAll(kind, key, nowMs, record, by);
      let left = await elsewhere.end(kind, key);
      for (let step = 0; step < MAX_STEPS && left.removed > 0; step++) {
        ended = await store.revokeAll(kind, key, nowMs, undefined, by);
        left = await elsewhere.end(kind, key);
      }
      return left.mayHaveMore ? "more" : ended;
    },
    /** Removes the rows of a user who was signed out. They are invalid already, so rows that remain do no harm. */
    async deleteSignedOut(email: string, signedOutAtMs?: number): Promise<void> {
      await store.deleteSignedOut(email);
      await elsewhere.endSignedOut(email, signedOutAtMs);
    },
  };
}
