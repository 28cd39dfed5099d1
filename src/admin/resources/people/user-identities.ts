import * as z from "zod/mini";
import { email, identifier } from "../../model/fields.ts";
import type { OAuthPort } from "../../model/ports.ts";
import { refuseFaults } from "../shared/refusals.ts";
import type { Resource } from "../shared/resource.ts";

export const params = z.object({ email, provider: identifier });
/** The subject is the `sub` of the provider's ID tokens: at most 255 characters of ASCII (OIDC Core 2). */
export const schema = z.object({
  subject: z
    .string()
    .check(z.regex(/^[\x20-\x7e]{1,255}$/, "must be 1 to 255 ASCII characters, the sub of the provider")),
});

const USER = `SELECT 1 FROM user WHERE email = ?1`;
const FAULTS = `
  SELECT 'absent' AS type, 'email' AS field, 'There is no user ' || ?1 || '.' AS message
    WHERE NOT EXISTS (SELECT 1 FROM user WHERE email = ?1)
  UNION ALL SELECT 'absent', 'provider', 'There is no identity provider ' || ?2 || '.'
    WHERE NOT EXISTS (SELECT 1 FROM identity_provider WHERE id = ?2)
  UNION ALL SELECT 'taken', 'subject', 'That account is linked to ' || email || '.'
    FROM user_identity WHERE provider = ?2 AND subject = ?3 AND email <> ?1`;
const DROP_OTHER = `DELETE FROM user_identity WHERE email = ?1 AND provider = ?2 AND subject <> ?3`;
const LINK = `
  INSERT INTO user_identity (email, provider, subject, linked_by, linked_at) VALUES (?1, ?2, ?3, 'operator', ?4)
  ON CONFLICT (email, provider) DO NOTHING`;
const COLUMNS = `email, provider, subject, linked_by, linked_at`;
const SELECT = `SELECT ${COLUMNS} FROM user_identity WHERE email = ?1 AND provider = ?2`;
const PAGE = `
  SELECT ${COLUMNS}, provider AS page_key FROM user_identity
  WHERE email = ?1 AND provider > ?2 ORDER BY provider LIMIT ?3 OFFSET ?4`;
const DELETE = `DELETE FROM user_identity WHERE email = ?1 AND provider = ?2`;

interface Deps {
  readonly db: D1Database;
  readonly oauth: Pick<OAuthPort, "revokeStatement" | "tellByOperator">;
}

/**
 * Accounts at identity providers that sign in as a user, one of each provider. If an account is removed or replaced,
 * all tokens of the user are revoked, because access tokens do not name the account by which the user signed in.
 * Sessions and refresh grants end because the link is gone or newer than they are. A mail tells the user.
 */
export const userIdentities = ({ db, oauth }: Deps): Resource<z.output<typeof schema>> => ({
  noun: "linked identity",
  collection: "/users/{email}/identities",
  key: "provider",
  params,
  owner: { noun: "user", params: z.object({ email }), exists: ({ email: address }) => db.prepare(USER).bind(address) },
  schema,
  row: ({ email: address, provider }) => ({ sql: SELECT, values: [address, provider] }),
  page: ({ email: address }, { after, limit, skip }) => db.prepare(PAGE).bind(address, after, limit, skip),
  toJson: (row) => ({
    email: row["email"],
    provider: row["provider"],
    subject: row["subject"],
    linkedBy: row["linked_by"],
    linkedAt: row["linked_at"],
  }),
  logged: { subject: { value: "subject" } },
  validate: ({ params: { email: address, provider }, body: { subject } }) =>
    refuseFaults(db.prepare(FAULTS).bind(address, provider, subject)),
  async put({ params: { email: address = "", provider = "" }, body: { subject }, nowMs, call }, write) {
    const written = await write([
      db.prepare(DROP_OTHER).bind(address, provider, subject),
      oauth.revokeStatement("user", address, nowMs, "if changed"),
      db.prepare(LINK).bind(address, provider, subject, nowMs),
    ]);
    if (written.changes[2] === 1) oauth.tellByOperator(call, "linked", address);
    return written;
  },
  async remove({ params: { email: address = "", provider }, nowMs, call }, remove) {
    const removed = await remove(db.prepare(DELETE).bind(address, provider), {
      after: oauth.revokeStatement("user", address, nowMs, "if changed"),
    });
    if (removed) oauth.tellByOperator(call, "unlinked", address);
    return removed;
  },
});
