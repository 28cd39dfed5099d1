import * as z from "zod/mini";
import { email, identifier } from "../fields.ts";
import type { Resource } from "../resource.ts";
import type { AdminDeps } from "../ports.ts";

/** `sub` of the provider's ID tokens: at most 255 characters of ASCII (OIDC Core 2). */
const body = z.object({ subject: z.string().check(z.regex(/^[\x20-\x7e]{1,255}$/)) });

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

/**
 * Accounts at identity providers that sign in as a user: one of each provider. What was had by one that is taken away, or
 * gives way to another, counts no more: sessions and refresh grants by the link's absence or its time, access tokens by the
 * user's row, since nothing tells those apart that another sign-in got.
 */
export const userIdentities = ({ db, voidStatement }: AdminDeps): Resource<z.output<typeof body>> => ({
  noun: "linked identity",
  collection: "/users/{email}/identities",
  key: "provider",
  params: z.object({ email, provider: identifier }),
  owner: { noun: "user", params: z.object({ email }), exists: (params) => db.prepare(USER).bind(params["email"]) },
  body,
  faults: ({ params, body: { subject } }) => db.prepare(FAULTS).bind(params["email"], params["provider"], subject),
  async put({ params, body: { subject }, nowMs }) {
    const { email: address = "", provider = "" } = params;
    return {
      writes: [
        db.prepare(DROP_OTHER).bind(address, provider, subject),
        voidStatement("user", address, nowMs, "if changed"),
        db.prepare(LINK).bind(address, provider, subject, nowMs),
      ],
    };
  },
  row: (params) => ({ sql: SELECT, values: [params["email"], params["provider"]] }),
  logged: { subject: { value: "subject" } },
  page: (params, { after, limit, skip }) => db.prepare(PAGE).bind(params["email"], after, limit, skip),
  toJson: (row) => ({
    email: row["email"],
    provider: row["provider"],
    subject: row["subject"],
    linkedBy: row["linked_by"],
    linkedAt: row["linked_at"],
  }),
  remove: ({ email: address = "", provider }, nowMs) => ({
    delete: db.prepare(DELETE).bind(address, provider),
    andThen: voidStatement("user", address, nowMs, "if changed"),
  }),
});
