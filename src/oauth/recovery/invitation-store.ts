/** An invitation that may be accepted. */
export interface Invitation {
  readonly kind: "tenant" | "organization";
  /** The id of the tenant or organization. */
  readonly owner: string;
  /** The name of the tenant or organization. */
  readonly place: string;
  readonly email: string;
  readonly language: string;
  /** The person cannot sign in yet: they have neither a password nor a linked account at a provider. */
  readonly needsPassword: boolean;
  /** An operator hands the link over. So its use does not verify the address. */
  readonly byHand: boolean;
}

const KINDS = ["tenant", "organization"] as const;
type Kind = Invitation["kind"];

const NEEDS_PASSWORD = `
  password_hash IS NULL AND NOT EXISTS (SELECT 1 FROM user_identity WHERE user_identity.email = user.email)`;
const find = (kind: Kind): string => `
  SELECT '${kind}' AS kind, ${kind} AS owner, ${kind}.name AS place, user.email AS email, language,
    ${NEEDS_PASSWORD} AS needsPassword, by_hand AS byHand
  FROM ${kind}_invitation AS invitation JOIN user ON user.email = invitation.email
    JOIN ${kind} ON ${kind}.id = invitation.${kind}
  WHERE token_hash = ?1 AND expires_at > ?2 AND user.disabled = 0`;
const FIND = KINDS.map(find).join(" UNION ALL ");
/** `?3`: the hash of the new password; null if the person needs none. */
const accept = (kind: Kind): string => `
  UPDATE user SET password_hash = coalesce(?3, password_hash), email_verified_at = coalesce(email_verified_at,
    (SELECT iif(by_hand, NULL, ?2) FROM ${kind}_invitation WHERE token_hash = ?1))
  WHERE email = (SELECT email FROM ${kind}_invitation WHERE token_hash = ?1 AND expires_at > ?2)
    AND disabled = 0 AND (${NEEDS_PASSWORD}) = (?3 IS NOT NULL)`;
/** Fails unless the statement before it changed a row, and so rolls the transaction back. */
const ONLY_IF_CHANGED = `SELECT json(iif(changes() > 0, '1', 'nothing changed'))`;
const join = (kind: Kind): string => `
  INSERT INTO ${kind}_member (${kind}, email, created_at)
  SELECT ${kind}, email, ?2 FROM ${kind}_invitation WHERE token_hash = ?1 ON CONFLICT DO NOTHING`;
/** A role that was removed meanwhile is not given. */
const addRoles = (kind: Kind): string => `
  INSERT OR IGNORE INTO ${kind}_member_role (${kind}, email, role)
  SELECT ${kind}, email, role.name FROM ${kind}_invitation, json_each(roles) AS given
    JOIN role ON role.name = given.value WHERE token_hash = ?1`;
const end = (kind: Kind): string => `DELETE FROM ${kind}_invitation WHERE token_hash = ?1`;
const expired = (kind: Kind): string => `SELECT * FROM (
  SELECT token_hash AS tokenHash, email FROM ${kind}_invitation WHERE expires_at <= ?1 ORDER BY expires_at LIMIT ?2)`;
const EXPIRED = KINDS.map(expired).join(" UNION ALL ");
/** `?1`: links, as JSON. An invitation that was renewed meanwhile has another one. */
const deleteThese = (kind: Kind): string => `
  DELETE FROM ${kind}_invitation WHERE token_hash IN (SELECT value ->> 'tokenHash' FROM json_each(?1))`;

/** Tables with rows of people who were more than invited. */
const OF_PEOPLE = [
  "tenant_member",
  "organization_member",
  "user_identity",
  "passkey",
  "totp",
  "consent",
  "session",
  "authorization_code",
  "refresh_grant",
];
const DROP_INVITED = `
  DELETE FROM user WHERE email IN (SELECT value ->> 'email' FROM json_each(?1))
    AND signed_out_at = created_at AND password_hash IS NULL AND email_verified_at IS NULL AND subject IS NULL
    AND disabled = 0
    ${OF_PEOPLE.map((table) => `AND NOT EXISTS (SELECT 1 FROM ${table} WHERE ${table}.email = user.email)`).join("\n    ")}
    ${KINDS.map(
      (kind) => `AND NOT EXISTS (
      SELECT 1 FROM ${kind}_invitation AS open WHERE open.email = user.email AND open.expires_at > ?2)`,
    ).join("\n    ")}
    AND NOT EXISTS (SELECT 1 FROM mail_link WHERE mail_link.email = user.email
      AND token_hash NOT IN (SELECT value ->> 'tokenHash' FROM json_each(?1)))`;

/** A link in a mail that has ended. */
export interface EndedLink {
  readonly tokenHash: string;
  readonly email: string;
}

/**
 * Removes the accounts that only invitations made (admin/resources/people/invitations.ts) and that nothing but these
 * links refers to.
 */
export const dropInvited = (db: D1Database, links: readonly EndedLink[], nowMs: number): D1PreparedStatement =>
  db.prepare(DROP_INVITED).bind(JSON.stringify(links), nowMs);

export type InvitationStore = ReturnType<typeof createInvitationStore>;

export function createInvitationStore(db: D1Database) {
  /** Undefined if the invitation is unknown, accepted, withdrawn or expired, or its person is disabled. */
  async function findOpen(tokenHash: string, nowMs: number): Promise<Invitation | undefined> {
    const row = await db.prepare(FIND).bind(tokenHash, nowMs).first<InvitationRow>();
    return row === null ? undefined : { ...row, needsPassword: row.needsPassword === 1, byHand: row.byHand === 1 };
  }
  return {
    find: findOpen,
    /**
     * Makes the person a member, sets the password unless `hash` is null, and ends the invitation. Returns false if the
     * invitation has ended, or `needsPassword` has changed. `audit` is part of the transaction.
     */
    async accept(
      tokenHash: string,
      { kind, needsPassword }: Invitation,
      hash: string | null,
      nowMs: number,
      audit: D1PreparedStatement,
    ): Promise<boolean> {
      try {
        await db.batch([
          db.prepare(accept(kind)).bind(tokenHash, nowMs, hash),
          db.prepare(ONLY_IF_CHANGED),
          db.prepare(join(kind)).bind(tokenHash, nowMs),
          db.prepare(addRoles(kind)).bind(tokenHash),
          db.prepare(end(kind)).bind(tokenHash),
          audit,
        ]);
        return true;
      } catch (thrown) {
        const now = await findOpen(tokenHash, nowMs);
        if (now === undefined || now.needsPassword !== needsPassword) return false;
        throw thrown;
      }
    },
    /** Deletes at most `limit` expired invitations of each kind, and accounts that only they made. Returns how many. */
    async deleteExpired(nowMs: number, limit: number): Promise<number> {
      const { results } = await db.prepare(EXPIRED).bind(nowMs, limit).all<EndedLink & Record<string, unknown>>();
      if (results.length === 0) return 0;
      const links = JSON.stringify(results);
      await db.batch([
        dropInvited(db, results, nowMs),
        ...KINDS.map((kind) => db.prepare(deleteThese(kind)).bind(links)),
      ]);
      return results.length;
    },
  };
}

type InvitationRow = Omit<Invitation, "needsPassword" | "byHand"> & Record<"needsPassword" | "byHand", number>;
