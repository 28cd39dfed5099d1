import { sha256Hex } from "../../../platform/secrets/hash.ts";
import { randomSecret, type Random } from "../../../platform/runtime/random.ts";
import { brandOrKept } from "../../model/brand.ts";
import { flagOrKept } from "../../model/fields.ts";
import type { OAuthPort } from "../../model/ports.ts";
import type { Change } from "../shared/resource.ts";
import { guard } from "../shared/within-organization.ts";
import type { Body } from "./client-body.ts";
import { KEEPS_RULES, proofOf } from "./client-kept.ts";

/**
 * The statements of a client's PUT. A concurrent PUT may change fields that this one keeps, so the stored row decides
 * which kind of secret the client has.
 */
const REPLACED = [
  "name",
  "tenant",
  "confidential",
  "service",
  "redirect_uris",
  "post_logout_redirect_uris",
  "grant_types",
  "scopes",
  "display_name",
  "logo_uri",
];
/** Columns that a PUT without the field does not change, with their values for a new client. */
const KEPT = {
  auth_method: "''",
  jwks: "''",
  jwks_uri: "''",
  require_pkce: "0",
  disabled: "0",
  require_pushed: "0",
  binds_tokens: "0",
  profile: "''",
  files_per_user: "0",
  third_party: "0",
  brand: "'{}'",
  backchannel_logout_uri: "''",
  backchannel_logout_session_required: "0",
  second_factor: "0",
};
const kept = Object.entries(KEPT).map(([column, initial], at) => ({ column, initial, given: `?${at + 13}` }));
/** SQL: ?2 to ?11 are the replaced columns, ?12 is the time, the others are the kept columns. */
const UPSERT = `
  INSERT INTO client (id, ${REPLACED.join(", ")}, created_at, ${kept.map(({ column }) => column).join(", ")})
  VALUES (?1, ${REPLACED.map((_, at) => `?${at + 2}`).join(", ")}, ?12,
    ${kept.map(({ given, initial }) => `coalesce(${given}, ${initial})`).join(", ")})
  ON CONFLICT (id) DO UPDATE SET ${REPLACED.map((column) => `${column} = excluded.${column}`).join(", ")},
    ${kept.map(({ column, given }) => `${column} = coalesce(${given}, ${column})`).join(", ")}`;
/** Changes the row only if its tokens must be revoked: a field that they contain changes, or a scope or key goes. */
const CHANGE_IDENTITY = `
  UPDATE client SET name = ?2, tenant = ?3, confidential = ?4, scopes = ?5
  WHERE id = ?1 AND (name <> ?2 OR tenant <> ?3 OR confidential <> ?4 OR auth_method <> ?6 OR jwks_uri <> ?8
    OR EXISTS (SELECT 1 FROM json_each(iif(jwks = '', '{}', jwks), '$.keys')
      WHERE ?7 IS NOT NULL AND value NOT IN (SELECT value FROM json_each(iif(?7 = '', '{}', ?7), '$.keys')))
    OR EXISTS (SELECT 1 FROM json_each(scopes) WHERE value NOT IN (SELECT value FROM json_each(?5))))`;

/** SQL: drops all secrets of a client that has none, and those of the other kind: to send, or to sign with. */
const DROP_UNFIT_SECRETS = `
  DELETE FROM client_secret WHERE client = ?1 AND EXISTS (SELECT 1 FROM client WHERE id = ?1 AND (
    confidential = 0 OR auth_method = 'private_key_jwt' OR (auth_method = '') <> (client_secret.sealed IS NULL)))`;
const FITTING = `iif((SELECT auth_method FROM client WHERE id = ?1) = '', ?2, ?3)`;
const DROP_OTHER_SECRETS = `DELETE FROM client_secret WHERE client = ?1 AND digest <> ${FITTING}`;
const FIRST = `NOT EXISTS (SELECT 1 FROM client_secret WHERE client = ?1 AND expires_at IS NULL)`;
/** SQL: adds a secret. The digest, and the sealed secret, are those of its kind. */
const addSecret = (condition: string): string => `
  INSERT INTO client_secret (client, digest, created_at, sealed)
  SELECT id, ${FITTING}, ?5, iif(auth_method = '', NULL, ?4) FROM client
  WHERE id = ?1 AND confidential = 1 AND auth_method IN ('', 'client_secret_jwt') AND ${condition}`;
/** SQL: adds a secret, or ends the expiry of a secret that the client already has. */
const ADD_SECRET = `${addSecret("true")} ON CONFLICT (client, digest) DO UPDATE SET expires_at = NULL`;
/** SQL: stores a generated secret for a client without one. The answer shows it only if this statement stored it. */
const ADD_FIRST_SECRET = addSecret(FIRST);

interface Deps {
  readonly db: D1Database;
  readonly random: Random;
  readonly oauth: Pick<OAuthPort, "revokeStatement" | "sealClientSecret">;
}

/** Returns the statements of a PUT. If the last statement stores a generated secret, `generated` is that secret. */
export async function clientWrites(
  { params: { clientId: id = "" }, body: client, nowMs, by }: Pick<Change<Body>, "params" | "body" | "nowMs" | "by">,
  { db, random, oauth }: Deps,
): Promise<{ readonly statements: readonly D1PreparedStatement[]; readonly generated?: string }> {
  const { name = id, tenant, redirectUris: uris, postLogoutRedirectUris, grantTypes } = client;
  const lists = [uris, postLogoutRedirectUris, grantTypes].map((list) => JSON.stringify(list));
  const scopes = JSON.stringify(client.scopes);
  const identity = [id, name, tenant, Number(client.confidential)];
  const { authMethod, jwks = null, jwksUri = null } = proofOf(client);
  const proof = [emptyFor("client_secret", authMethod), jwks, jwksUri];
  const revoke = (when: "always" | "if changed") => oauth.revokeStatement("client", id, nowMs, when, by?.organization);
  const statements = [
    db.prepare(CHANGE_IDENTITY).bind(...identity, scopes, ...proof),
    revoke("if changed"),
    db
      .prepare(UPSERT)
      .bind(
        ...identity,
        client.service ?? null,
        ...lists,
        scopes,
        client.displayName,
        client.logoUri,
        nowMs,
        ...proof,
        flagOrKept(client.requirePkce),
        flagOrKept(client.disabled),
        flagOrKept(client.requirePushedAuthorizationRequests),
        flagOrKept(client.dpopBoundAccessTokens),
        emptyFor("none", client.securityProfile),
        flagOrKept(client.filesPerUser),
        flagOrKept(client.thirdParty),
        brandOrKept(client.brand),
        client.backchannelLogoutUri ?? null,
        flagOrKept(client.backchannelLogoutSessionRequired),
        flagOrKept(client.requireSecondFactor),
      ),
    guard(db, { sql: KEEPS_RULES, values: [id, Number(client.clientSecret !== undefined)] }),
    ...(client.disabled === true ? [revoke("always")] : []),
  ];
  const drop = db.prepare(DROP_UNFIT_SECRETS).bind(id);
  if (!client.confidential || authMethod === "private_key_jwt") return { statements: [...statements, drop] };
  const generated = client.clientSecret === undefined ? randomSecret(random) : undefined;
  const next = client.clientSecret ?? generated ?? "";
  const signing = await oauth.sealClientSecret(id, next);
  const digests = [await sha256Hex(next), signing.digest];
  const secret = [id, ...digests, signing.sealed, nowMs];
  if (generated !== undefined)
    return { statements: [...statements, drop, db.prepare(ADD_FIRST_SECRET).bind(...secret)], generated };
  // The replaced secret may have leaked, so its tokens are revoked. Sending the same secret changes nothing.
  const replace = [db.prepare(DROP_OTHER_SECRETS).bind(id, ...digests), revoke("if changed")];
  return { statements: [...statements, ...replace, db.prepare(ADD_SECRET).bind(...secret)] };
}

/** The value of a column that is empty for this word; null if the body leaves the field out. */
const emptyFor = (word: string, value: string | undefined): string | null =>
  value === undefined ? null : value === word ? "" : value;
