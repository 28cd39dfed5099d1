import * as z from "zod/mini";
import { invalid } from "../../http/errors.ts";
import { DEFAULT_PROVIDER, LEGACY_PROVIDER } from "../../platform/names.ts";
import { readOutsideAddress } from "../../platform/outside-address.ts";
import { identifier } from "../fields.ts";
import { toList, type Resource } from "../resource.ts";
import type { AdminDeps } from "../routes.ts";

/** Stands for the secret wherever it is shown; sent back, it leaves the secret as it is. */
const PLACEHOLDER = "********";
const RESERVED_IDS: readonly string[] = [DEFAULT_PROVIDER, LEGACY_PROVIDER];

/** RFC 6749 appendix A: printable ASCII. Space at an end would be a mistake of copying. */
const credential = z.string().check(z.regex(/^[\x21-\x7e]([\x20-\x7e]{0,1022}[\x21-\x7e])?$/));
/** RFC 6749 3.3. */
const scopes = z._default(
  z
    .array(z.string().check(z.regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,128}$/)))
    .check(z.maxLength(50))
    .check(z.refine((list) => list.includes("openid"), "must include openid")),
  ["openid", "email"],
);
const body = z.object({
  issuer: z.string().check(z.maxLength(500)),
  clientId: credential,
  clientSecret: z.optional(credential),
  scopes,
});

/** A secret that is left out stays with the issuer that it is for: it would be sent to another one as soon as one is named. */
const FAULTS = `
  SELECT 'missing_field' AS type, 'clientSecret' AS field, 'clientSecret is missing.' AS message
    WHERE ?2 = 0 AND NOT EXISTS (SELECT 1 FROM identity_provider WHERE id = ?1 AND issuer = ?3)`;
const UPSERT = `
  INSERT INTO identity_provider (id, issuer, client_id, scopes, sealed_client_secret, trusted_since, created_at)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)
  ON CONFLICT (id) DO UPDATE SET issuer = excluded.issuer, client_id = excluded.client_id, scopes = excluded.scopes,
    sealed_client_secret = iif(sealed_client_secret = ?7, sealed_client_secret, excluded.sealed_client_secret),
    trusted_since = iif(issuer = excluded.issuer, trusted_since, excluded.trusted_since)`;
const UPDATE = `UPDATE identity_provider SET client_id = ?3, scopes = ?4 WHERE id = ?1 AND issuer = ?2`;
const SELECT = `SELECT id, issuer, client_id, scopes, created_at FROM identity_provider WHERE id = ?1`;
const PAGE = `
  SELECT id, issuer, client_id, scopes, created_at, id AS page_key FROM identity_provider
  WHERE id > ?1 ORDER BY id LIMIT ?2 OFFSET ?3`;
const DELETE = `DELETE FROM identity_provider WHERE id = ?1`;

const SEALED = `SELECT sealed_client_secret AS sealed FROM identity_provider WHERE id = ?1`;

/** OIDC providers that users may sign in with. Sessions and sign-ins under way end with the provider, or with its issuer. */
export const identityProviders = ({
  db,
  allowLoopback,
  providerSecrets,
}: AdminDeps): Resource<z.output<typeof body>> => ({
  noun: "identity provider",
  collection: "/identity-providers",
  key: "id",
  params: z.object({
    id: identifier.check(z.refine((id) => !RESERVED_IDS.includes(id), "is the platform's own directory")),
  }),
  body,
  faults: ({ params, body: { clientSecret, issuer } }) =>
    db.prepare(FAULTS).bind(params["id"], Number(newSecret(clientSecret) !== undefined), issuer),
  async put({ params: { id = "" }, body: provider, nowMs }) {
    const { issuer, clientId } = provider;
    const address = readOutsideAddress(issuer, allowLoopback);
    // OIDC Discovery 3: an issuer has neither query nor fragment.
    const fault = !address.ok ? address.error : issuer.includes("?") ? "must have no query" : undefined;
    if (fault !== undefined) return invalid("invalid_field", "issuer", `issuer ${fault}.`);
    const values = [id, issuer, clientId, JSON.stringify(provider.scopes)];
    const secret = newSecret(provider.clientSecret);
    if (secret === undefined) return { writes: [db.prepare(UPDATE).bind(...values)] };
    // The same secret again stays as it is sealed, so that it is no change.
    const stored = await db.prepare(SEALED).bind(id).first<{ sealed: string }>();
    const isSame = stored !== null && (await providerSecrets.open(id, stored.sealed)) === secret;
    const sealed = await providerSecrets.seal(id, secret);
    return { writes: [db.prepare(UPSERT).bind(...values, sealed, nowMs, isSame ? stored.sealed : null)] };
  },
  row: ({ id }) => ({ sql: SELECT, values: [id] }),
  logged: {
    issuer: { value: "issuer" },
    clientId: { value: "client_id" },
    clientSecret: { secret: "SELECT sealed_client_secret FROM identity_provider WHERE id = shown.id" },
    scopes: { list: "scopes" },
  },
  page: (_, { after, limit, skip }) => db.prepare(PAGE).bind(after, limit, skip),
  toJson: (row) => ({
    id: row["id"],
    issuer: row["issuer"],
    clientId: row["client_id"],
    clientSecret: PLACEHOLDER,
    scopes: toList(row["scopes"]),
    createdAt: row["created_at"],
  }),
  remove: ({ id }) => ({ delete: db.prepare(DELETE).bind(id) }),
});

const newSecret = (given: string | undefined): string | undefined => (given === PLACEHOLDER ? undefined : given);
