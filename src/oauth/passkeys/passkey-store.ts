import { MAY_VOUCH } from "../federation/identity-store.ts";
import { isSignedIn, type ChangingSession, type UserStore, type WithUser } from "../users/user-store.ts";
import type { Verifier } from "./ceremony.ts";
import type { Challenge } from "./challenge.ts";
import { MOST_PASSKEYS } from "./relying-party.ts";
import type { StoredKey } from "./public-key.ts";
import { USE_ASSERTION } from "../clients/assertion-store.ts";

/** A passkey as its person sees it. */
export interface ListedPasskey {
  readonly id: string;
  readonly name: string;
  readonly createdAtMs: number;
  readonly lastUsedAtMs: number | null;
  /** 1: it is copied to other devices of the person. */
  readonly backedUp: number;
  /** JSON. */
  readonly transports: string;
  readonly userHandle: string;
}

export interface StoredPasskey extends Verifier {
  readonly email: string;
}

export interface AddedPasskey extends Omit<Verifier, "userHandle"> {
  readonly id: string;
  readonly email: string;
  readonly userHandle: string;
  readonly isBackedUp: boolean;
  readonly transports: readonly string[];
  readonly name: string;
  /** The session that adds it, which must not have ended. */
  readonly session: ChangingSession;
  readonly nowMs: number;
}

interface Use {
  readonly id: string;
  readonly email: string;
  readonly signCount: number;
  readonly isBackedUp: boolean;
  readonly nowMs: number;
}

const LIST = `
  SELECT id, name, created_at AS createdAtMs, last_used_at AS lastUsedAtMs, backed_up AS backedUp, transports,
    user_handle AS userHandle
  FROM passkey WHERE email = ?1 ORDER BY created_at, id`;
const FIND = `
  SELECT email, public_key AS publicKey, user_handle AS userHandle, backup_eligible AS mayBeBackedUp, sign_count AS signCount
  FROM passkey WHERE id = ?1`;
const OWNER = `(SELECT email FROM passkey WHERE id = ?1)`;
/** Counts one of two answers with one counter. */
const USE = `
  UPDATE passkey SET sign_count = ?3, backed_up = ?4, last_used_at = ?5
  WHERE changes() > 0 AND id = ?1 AND email = ?2 AND (sign_count < ?3 OR (sign_count = 0 AND ?3 = 0))
    AND EXISTS (SELECT 1 FROM user WHERE email = ?2 AND disabled = 0)`;
const ADD = `
  INSERT INTO passkey (id, email, user_handle, public_key, sign_count, backup_eligible, backed_up, transports, name, created_at)
  SELECT ?2, email, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10 FROM user
  WHERE changes() > 0 AND email = ?1 AND ${isSignedIn("?11", "?10", "?12")}
    AND (SELECT count(*) FROM passkey WHERE email = ?1) < ${MOST_PASSKEYS}
  ON CONFLICT (id) DO NOTHING`;
const RENAME = `UPDATE passkey SET name = ?3 WHERE id = ?2 AND email = ?1`;
/** Another way to sign in is left: a password, another passkey, or a provider that reaches all of the account. */
const IS_NOT_LAST = `(
  EXISTS (SELECT 1 FROM user WHERE email = ?1 AND password_hash IS NOT NULL)
  OR EXISTS (SELECT 1 FROM passkey WHERE email = ?1 AND id <> ?2)
  OR EXISTS (SELECT 1 FROM user_identity AS linked JOIN identity_provider AS provider ON provider.id = linked.provider
    WHERE linked.email = ?1 AND provider.tenants = '[]' AND ${MAY_VOUCH}))`;
const remove = (condition: string) => `DELETE FROM passkey WHERE email = ?1 AND id = ?2 ${condition}`;
/** Runs after each change, and keeps what the audit row's `changes()` sees: 1 if the passkey was added or removed. */
const MARK = `
  UPDATE user SET passkey_at = CASE WHEN EXISTS (SELECT 1 FROM passkey WHERE email = ?1) THEN coalesce(passkey_at, ?2) END
  WHERE email = ?1 AND changes() > 0`;

export type PasskeyStore = ReturnType<typeof createPasskeyStore>;

export const createPasskeyStore = (db: D1Database, users: Pick<UserStore, "findBeside">) => {
  const marked = (change: D1PreparedStatement, email: string, nowMs: number): readonly D1PreparedStatement[] => [
    change,
    db.prepare(MARK).bind(email, nowMs),
  ];
  return {
    list: async (email: string): Promise<readonly ListedPasskey[]> =>
      (await db.prepare(LIST).bind(email).all<ListedPasskey>()).results,
    /** The passkey and its person, in one round trip that is the same for an unknown one. */
    async find(id: string): Promise<{ readonly passkey: StoredPasskey | undefined } & Pick<WithUser<unknown>, "user">> {
      const { rows, user } = await users.findBeside<PasskeyRow>(FIND, id, OWNER);
      return { passkey: rows[0] && toStored(rows[0]), user };
    },
    /** False if the challenge was used, the counter is not later, or the passkey or its person is gone. */
    async use({ id, email, signCount, isBackedUp, nowMs }: Use, { digest, endsAtMs }: Challenge): Promise<boolean> {
      const [, used] = await db.batch([
        // A challenge shares the table of clients' assertions, and its sweep.
        db.prepare(USE_ASSERTION).bind(digest, endsAtMs),
        db.prepare(USE).bind(id, email, signCount, isBackedUp ? 1 : 0, nowMs),
      ]);
      return used?.meta.changes === 1;
    },
    /**
     * False if the challenge was used, the passkey is known, the person has too many or was disabled, or the session
     * ended.
     * `audit`: told the result by `changes()`.
     */
    async add(added: AddedPasskey, { digest, endsAtMs }: Challenge, audit: D1PreparedStatement): Promise<boolean> {
      const { email, nowMs } = added;
      const insertion = db
        .prepare(ADD)
        .bind(
          email,
          added.id,
          added.userHandle,
          JSON.stringify(added.publicKey),
          added.signCount,
          added.mayBeBackedUp ? 1 : 0,
          added.isBackedUp ? 1 : 0,
          JSON.stringify(added.transports),
          added.name,
          nowMs,
          added.session.sid,
          added.session.elsewhereSinceMs,
        );
      const results = await db.batch([
        db.prepare(USE_ASSERTION).bind(digest, endsAtMs),
        ...marked(insertion, email, nowMs),
        audit,
      ]);
      return results[1]?.meta.changes === 1;
    },
    async rename(email: string, id: string, name: string): Promise<boolean> {
      return (await db.prepare(RENAME).bind(email, id, name).run()).meta.changes === 1;
    },
    /** False if it is not the person's, or their last way to sign in. `audit`: told by `changes()`. */
    async remove(email: string, id: string, nowMs: number, audit: D1PreparedStatement): Promise<boolean> {
      const removal = db.prepare(remove(`AND ${IS_NOT_LAST}`)).bind(email, id);
      const [removed] = await db.batch([...marked(removal, email, nowMs), audit]);
      return removed?.meta.changes === 1;
    },
    /** The same by an operator, even of the last way. The last statement changes a row if there was such a passkey. */
    removalStatements: (email: string, id: string, nowMs: number): readonly D1PreparedStatement[] =>
      marked(db.prepare(remove("")).bind(email, id), email, nowMs),
  };
};

type PasskeyRow = Omit<StoredPasskey, "publicKey" | "mayBeBackedUp"> & {
  readonly publicKey: string;
  readonly mayBeBackedUp: number;
};

const toStored = ({ publicKey, mayBeBackedUp, ...row }: PasskeyRow): StoredPasskey => ({
  ...row,
  publicKey: JSON.parse(publicKey) as StoredKey,
  mayBeBackedUp: mayBeBackedUp === 1,
});
