import * as z from "zod/mini";
import { EMAIL_MAX_CHARS, normalizeEmail } from "../../../platform/text/email.ts";
import { DEFAULT_PROVIDER, LEGACY_PROVIDER } from "../../../platform/model/names.ts";
import { parseOutboundUrl } from "../../../platform/outside/outbound-url.ts";
import { flagOrKept, identifier, tenantId } from "../../model/fields.ts";
import type { OAuthPort } from "../../model/ports.ts";
import { refusal, type Fault, type RuleContext } from "../../model/rules.ts";
import { refuseFaults } from "../shared/refusals.ts";
import { toFlag, toList, type Resource } from "../shared/resource.ts";

/** Answers show this text in place of the secret. A PUT that sends it keeps the secret. */
const PLACEHOLDER = "********";
const RESERVED_IDS: readonly string[] = [DEFAULT_PROVIDER, LEGACY_PROVIDER];

/** A credential is printable ASCII (RFC 6749 appendix A). A space at either end would be a mistake of copying. */
const credential = z
  .string()
  .check(z.regex(/^[\x21-\x7e]([\x20-\x7e]{0,1022}[\x21-\x7e])?$/, "must be 1 to 1024 visible ASCII characters"));
/** The scopes of a request (RFC 6749 3.3). */
const scopes = z._default(
  z
    .array(
      z
        .string()
        .check(z.regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,128}$/, "must be a scope: 1 to 128 visible ASCII characters")),
    )
    .check(z.maxLength(50))
    .check(z.refine((list) => list.includes("openid"), "must include openid")),
  ["openid", "email"],
);
/** Returns the domain of an e-mail address in the spelling of stored addresses. */
const domainOf = (text: string): string | undefined => normalizeEmail(`a@${text}`)?.slice(2);
const domain = z.pipe(
  z
    .string()
    .check(z.maxLength(EMAIL_MAX_CHARS))
    .check(z.refine((text) => domainOf(text) !== undefined, "must be the domain of an e-mail address")),
  z.transform((text) => domainOf(text) ?? text),
);
export const params = z.object({
  id: identifier.check(z.refine((id) => !RESERVED_IDS.includes(id), "is the platform's own directory")),
});
export const schema = z.object({
  issuer: z.string().check(z.maxLength(500)),
  clientId: credential,
  clientSecret: z.optional(credential),
  scopes,
  // These have no defaults: a PUT that changes another field must not widen whom a provider may sign in.
  tenants: z.optional(z.array(tenantId).check(z.maxLength(100))),
  domains: z.optional(z.array(domain).check(z.maxLength(100))),
  linking: z.optional(z.enum(["confirm", "operator", "verified_email"])),
  trustEmail: z.optional(z.boolean()),
  button: z.optional(z.string().check(z.maxLength(60))),
});
type Body = z.output<typeof schema>;

export function check(
  _id: string | undefined,
  { issuer }: Partial<Body>,
  { allowLoopback }: Pick<RuleContext, "allowLoopback">,
): Fault[] {
  if (issuer === undefined) return [];
  const address = parseOutboundUrl(issuer, allowLoopback);
  // An issuer has neither query nor fragment (OIDC Discovery 3).
  const fault = !address.ok ? address.error : issuer.includes("?") ? "must have no query" : undefined;
  return fault === undefined ? [] : [{ type: "invalid_field", field: "issuer", message: `issuer ${fault}.` }];
}

/** SQL: a PUT may omit the secret only if the issuer stays, because another issuer must not get the stored secret. */
const FAULTS = `
  SELECT 'missing_field' AS type, 'clientSecret' AS field, 'clientSecret is missing.' AS message
    WHERE ?2 = 0 AND NOT EXISTS (SELECT 1 FROM identity_provider WHERE id = ?1 AND issuer = ?3)
  UNION ALL SELECT 'invalid_field', 'tenants[' || key || ']', 'There is no tenant ' || value || '.'
    FROM json_each(?4) WHERE NOT EXISTS (SELECT 1 FROM tenant WHERE id = value)
  UNION ALL SELECT 'invalid_field', 'linking', 'linking by verified_email needs domains.'
    WHERE '[]' = coalesce(?5, (SELECT domains FROM identity_provider WHERE id = ?1), '[]')
      AND 'verified_email' = coalesce(?6, (SELECT linking FROM identity_provider WHERE id = ?1))`;
/** SQL: links refer to accounts of one issuer, so a new issuer ends them. */
const UNLINK = `
  DELETE FROM user_identity
  WHERE provider = ?1 AND EXISTS (SELECT 1 FROM identity_provider WHERE id = ?1 AND issuer <> ?2)`;
const BINDING = `
  tenants = coalesce(?5, tenants), domains = coalesce(?6, domains), linking = coalesce(?7, linking),
  trusts_email = coalesce(?8, trusts_email), button = coalesce(?9, button)`;
const UPSERT = `
  INSERT INTO identity_provider (id, issuer, client_id, scopes, tenants, domains, linking, trusts_email, button,
    sealed_client_secret, trusted_since, created_at)
  VALUES (?1, ?2, ?3, ?4, coalesce(?5, '[]'), coalesce(?6, '[]'), coalesce(?7, 'confirm'), coalesce(?8, 0),
    coalesce(?9, ''), ?10, ?11, ?11)
  ON CONFLICT (id) DO UPDATE SET issuer = excluded.issuer, client_id = excluded.client_id, scopes = excluded.scopes,
    sealed_client_secret = iif(sealed_client_secret = ?12, sealed_client_secret, excluded.sealed_client_secret),
    trusted_since = iif(issuer = excluded.issuer, trusted_since, excluded.trusted_since), ${BINDING}`;
const UPDATE = `UPDATE identity_provider SET client_id = ?3, scopes = ?4, ${BINDING} WHERE id = ?1 AND issuer = ?2`;
const COLUMNS = `id, issuer, client_id, scopes, tenants, domains, linking, trusts_email, button,
  created_at`;
const SELECT = `SELECT ${COLUMNS} FROM identity_provider WHERE id = ?1`;
const PAGE = `
  SELECT ${COLUMNS}, id AS page_key FROM identity_provider
  WHERE id > ?1 ORDER BY id LIMIT ?2 OFFSET ?3`;
const DELETE = `DELETE FROM identity_provider WHERE id = ?1`;
const SEALED = `SELECT sealed_client_secret AS sealed FROM identity_provider WHERE id = ?1`;

interface Deps extends Pick<RuleContext, "allowLoopback"> {
  readonly db: D1Database;
  readonly oauth: Pick<OAuthPort, "providerSecrets">;
}

/**
 * OIDC providers by which users may sign in. If a provider is removed or gets another issuer, its sessions, its links
 * to accounts and its unfinished sign-ins end.
 */
export const identityProviders = ({ db, allowLoopback, oauth }: Deps): Resource<Body> => ({
  noun: "identity provider",
  collection: "/identity-providers",
  key: "id",
  params,
  schema,
  row: ({ id }) => ({ sql: SELECT, values: [id] }),
  page: (_, { after, limit, skip }) => db.prepare(PAGE).bind(after, limit, skip),
  toJson: (row) => ({
    id: row["id"],
    issuer: row["issuer"],
    clientId: row["client_id"],
    clientSecret: PLACEHOLDER,
    scopes: toList(row["scopes"]),
    tenants: toList(row["tenants"]),
    domains: toList(row["domains"]),
    linking: row["linking"],
    trustEmail: toFlag(row["trusts_email"]),
    button: row["button"],
    createdAt: row["created_at"],
  }),
  logged: {
    issuer: { value: "issuer" },
    clientId: { value: "client_id" },
    clientSecret: { secret: "SELECT sealed_client_secret FROM identity_provider WHERE id = shown.id" },
    scopes: { list: "scopes" },
    tenants: { list: "tenants" },
    domains: { list: "domains" },
    linking: { value: "linking" },
    trustEmail: { flag: "trusts_email" },
    button: { value: "button" },
  },
  async validate({ params: { id }, body }) {
    const { clientSecret, issuer, tenants = [], domains, linking = null } = body;
    const hasSecret = Number(newSecret(clientSecret) !== undefined);
    const values = [id, hasSecret, issuer, JSON.stringify(tenants), listOrKept(domains), linking];
    return (await refuseFaults(db.prepare(FAULTS).bind(...values))) ?? refusal(check(id, body, { allowLoopback }));
  },
  async put({ params: { id = "" }, body: provider, nowMs }, write) {
    const { issuer, clientId, scopes: wanted, tenants, domains, linking = null } = provider;
    const lists = [JSON.stringify(wanted), listOrKept(tenants), listOrKept(domains)];
    const values = [id, issuer, clientId, ...lists, linking, flagOrKept(provider.trustEmail), provider.button ?? null];
    const secret = newSecret(provider.clientSecret);
    if (secret === undefined) return write([db.prepare(UPDATE).bind(...values)]);
    // The same secret is no change, so the stored text stays as it is.
    const stored = await db.prepare(SEALED).bind(id).first<{ sealed: string }>();
    const isSame = stored !== null && (await oauth.providerSecrets.open(id, stored.sealed)) === secret;
    const sealed = await oauth.providerSecrets.seal(id, secret);
    return write([
      db.prepare(UNLINK).bind(id, issuer),
      db.prepare(UPSERT).bind(...values, sealed, nowMs, isSame ? stored.sealed : null),
    ]);
  },
  remove: ({ params: { id } }, remove) => remove(db.prepare(DELETE).bind(id)),
});

const newSecret = (given: string | undefined): string | undefined => (given === PLACEHOLDER ? undefined : given);

/** Returns the value for a statement: null if the body omits the list. */
const listOrKept = (list: readonly string[] | undefined): string | null =>
  list === undefined ? null : JSON.stringify([...new Set(list)].sort());
