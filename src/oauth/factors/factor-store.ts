import { isSignedIn, type ChangingSession } from "../users/user-store.ts";

/** A secret that makes codes. */
export interface StoredTotp {
  readonly sealedSecret: string;
  /** The step of the newest used code. */
  readonly lastStep: number;
}

export interface NewTotp extends StoredTotp {
  readonly email: string;
  readonly recoveryHashes: readonly string[];
  /** The session that sets it up, which must not have ended. */
  readonly session: ChangingSession;
  readonly nowMs: number;
}

const FIND = `SELECT sealed_secret AS sealedSecret, last_step AS lastStep FROM totp WHERE email = ?1`;
/** Changes the row for one of two requests with one code. */
const USE_STEP = `UPDATE totp SET last_step = ?2 WHERE email = ?1 AND last_step < ?2`;
const HAS_RECOVERY = `SELECT 1 AS found FROM recovery_code WHERE email = ?1 AND code_hash = ?2`;
const USE_RECOVERY = `DELETE FROM recovery_code WHERE email = ?1 AND code_hash = ?2`;
const COUNT_RECOVERY = `SELECT count(*) AS n FROM recovery_code WHERE email = ?1`;
const ADD = `
  INSERT INTO totp (email, sealed_secret, last_step, created_at)
  SELECT email, ?2, ?3, ?4 FROM user WHERE email = ?1 AND ${isSignedIn("?5", "?4", "?6")}
  ON CONFLICT (email) DO NOTHING`;
const MARK = `UPDATE user SET second_factor_at = ?2 WHERE email = ?1 AND changes() > 0`;
const DROP_RECOVERY = `DELETE FROM recovery_code WHERE email = ?1`;
/** Only beside the secret that they belong to. */
const ADD_RECOVERY = `
  INSERT INTO recovery_code (email, code_hash) SELECT ?1, value FROM json_each(?2)
  WHERE EXISTS (SELECT 1 FROM totp WHERE email = ?1 AND sealed_secret = ?3)`;
const REPLACE_RECOVERY = `
  INSERT INTO recovery_code (email, code_hash) SELECT totp.email, value FROM totp, json_each(?2) WHERE totp.email = ?1`;
const UNMARK = `UPDATE user SET second_factor_at = NULL WHERE email = ?1 AND second_factor_at IS NOT NULL`;
const REMOVE = `DELETE FROM totp WHERE email = ?1`;

export type FactorStore = ReturnType<typeof createFactorStore>;

export const createFactorStore = (db: D1Database) => {
  const removal = (email: string): readonly D1PreparedStatement[] =>
    [DROP_RECOVERY, REMOVE, UNMARK].map((sql) => db.prepare(sql).bind(email));
  return {
    find: async (email: string): Promise<StoredTotp | undefined> =>
      (await db.prepare(FIND).bind(email).first<StoredTotp>()) ?? undefined,
    /** False if a code of this step or a later one was used already. */
    useStep: async (email: string, step: number): Promise<boolean> =>
      (await db.prepare(USE_STEP).bind(email, step).run()).meta.changes === 1,
    hasRecoveryCode: async (email: string, hash: string): Promise<boolean> =>
      (await db.prepare(HAS_RECOVERY).bind(email, hash).first()) !== null,
    /** False if it was used already. */
    useRecoveryCode: async (email: string, hash: string): Promise<boolean> =>
      (await db.prepare(USE_RECOVERY).bind(email, hash).run()).meta.changes === 1,
    countRecoveryCodes: async (email: string): Promise<number> =>
      (await db.prepare(COUNT_RECOVERY).bind(email).first<number>("n")) ?? 0,
    /**
     * Returns false if there is one already, the session ended, or the user was disabled or signed out. `audit`: told
     * the result by `changes()`.
     */
    async add(
      { email, sealedSecret, lastStep, recoveryHashes, session, nowMs }: NewTotp,
      audit: D1PreparedStatement,
    ): Promise<boolean> {
      const [added] = await db.batch([
        db.prepare(ADD).bind(email, sealedSecret, lastStep, nowMs, session.sid, session.elsewhereSinceMs),
        db.prepare(MARK).bind(email, nowMs),
        audit,
        db.prepare(ADD_RECOVERY).bind(email, JSON.stringify(recoveryHashes), sealedSecret),
      ]);
      return added?.meta.changes === 1;
    },
    /** Replaces the recovery codes. False if the secret was removed meanwhile. `audit`: told by `changes()`. */
    async replaceRecoveryCodes(email: string, hashes: readonly string[], audit: D1PreparedStatement): Promise<boolean> {
      const add = db.prepare(REPLACE_RECOVERY).bind(email, JSON.stringify(hashes));
      const [, added] = await db.batch([db.prepare(DROP_RECOVERY).bind(email), add, audit]);
      return (added?.meta.changes ?? 0) > 0;
    },
    /** Removes secret and recovery codes. `audit`: told by `changes()` whether there were any. */
    async remove(email: string, audit: D1PreparedStatement): Promise<boolean> {
      const results = await db.batch([...removal(email), audit]);
      return results[2]?.meta.changes === 1;
    },
    /** The same, in a transaction of the operator's. */
    removalStatements: removal,
  };
};
