import { describeError, type Log } from "../../../platform/runtime/log.ts";
import type { Elsewhere } from "../../homes/elsewhere.ts";
import { MOST_ENDED_SESSIONS, type RevokeAllStore, type Revoking } from "./revoke-all-store.ts";

const MANY = `over ${MOST_ENDED_SESSIONS} sessions of the person ended within an hour: all of them end`;

/** Lists of a session's grants, each revoked in one transaction. */
const MAX_STEPS = 20;

export type RevokeAll = ReturnType<typeof createRevokeAll>;

/** `RevokeAllStore` for all shards. homes/elsewhere.ts has the order of the steps. */
export function createRevokeAll(store: RevokeAllStore, elsewhere: Elsewhere, log: Log) {
  async function revokeSession(session: Revoking) {
    const { key: sid, person } = session;
    for (let step = 0; step < MAX_STEPS; step++) {
      const grants = await elsewhere.voidSession(sid, person);
      if (step > 0 && grants.length === 0) {
        await elsewhere.endSession(sid, person);
        return "ended";
      }
      const ended = await store.revokeAll(step === 0 ? session : { ...session, record: undefined }, grants);
      if (ended === "more") return ended;
      await elsewhere.removeOfSession(sid, grants);
    }
    return "more";
  }

  async function revokeUser(person: Revoking) {
    // Sign-ins of a person before now are not valid, whenever their grants are removed.
    const ended = await store.revokeAll(person);
    return (await elsewhere.endSignedOut(person.key)).mayHaveMore ? "more" : ended;
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
    async revokeAll(owner: Revoking): Promise<"ended" | "more"> {
      const { kind, key, nowMs, record, person } = owner;
      if (kind === "session")
        return person !== undefined && (await store.hasEndedMany(person))
          ? revokeUser({ kind: "user", key: person, nowMs, record: record && { ...record, reason: MANY } })
          : revokeSession(owner);
      if (kind === "user") return revokeUser(owner);
      await elsewhere.end(kind, key);
      let ended = await store.revokeAll(owner);
      let left = await elsewhere.end(kind, key);
      for (let step = 0; step < MAX_STEPS && left.removed > 0; step++) {
        ended = await store.revokeAll({ ...owner, record: undefined });
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
