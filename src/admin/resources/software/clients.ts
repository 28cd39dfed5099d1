import { problem, type Problem } from "../../../http/errors/errors.ts";
import { sha256Hex } from "../../../platform/secrets/hash.ts";
import { randomSecret, type Random } from "../../../platform/runtime/random.ts";
import { brandOrKept, toBrand } from "../../model/brand.ts";
import { flagOrKept } from "../../model/fields.ts";
import { guard, ownsClient } from "../shared/within-organization.ts";
import type { ClientBefore, EventsPort, MediaPort, OAuthPort } from "../../model/ports.ts";
import { builtInRefusal, refusal } from "../../model/rules.ts";
import { DEPENDENTS_LIMIT, findDependents, refuseDependents, refuseFaults } from "../shared/refusals.ts";
import { toFlag, toList, type Change, type Resource, type PageRequest } from "../shared/resource.ts";
import { search } from "../shared/search.ts";
import { check, isBuiltIn, params, schema, type Body, type Rules } from "./client-body.ts";
import { refuseForeign, refuseScopes } from "./organization-clients.ts";
import { revokeManyFirst } from "../keys/revocations.ts";

const FAULTS = `
  SELECT 'invalid_field' AS type, 'tenant' AS field, 'There is no tenant ' || ?2 || '.' AS message
    WHERE NOT EXISTS (SELECT 1 FROM tenant WHERE id = ?2)
  UNION ALL SELECT 'invalid_field', 'service', 'There is no registered service ' || ?3 || '.'
    WHERE ?3 IS NOT NULL AND NOT EXISTS (SELECT 1 FROM service WHERE name = ?3)
  UNION ALL SELECT 'taken', 'name', 'Another client has the name ' || ?4 || '.'
    WHERE EXISTS (SELECT 1 FROM client WHERE name = ?4 AND id <> ?1)`;
/** Changes the row only if its tokens must be revoked: a field that they contain changes, or a scope or key goes. */
const CHANGE_IDENTITY = `
  UPDATE client SET name = ?2, tenant = ?3, confidential = ?4, scopes = ?5
  WHERE id = ?1 AND (name <> ?2 OR tenant <> ?3 OR confidential <> ?4 OR auth_method <> ?6 OR jwks_uri <> ?8
    OR EXISTS (SELECT 1 FROM json_each(iif(jwks = '', '{}', jwks), '$.keys')
      WHERE value NOT IN (SELECT value FROM json_each(iif(?7 = '', '{}', ?7), '$.keys')))
    OR EXISTS (SELECT 1 FROM json_each(scopes) WHERE value NOT IN (SELECT value FROM json_each(?5))))`;
const UPSERT = `
  INSERT INTO client (id, name, tenant, confidential, service, redirect_uris, post_logout_redirect_uris, grant_types,
    scopes, require_pkce, disabled, created_at, display_name, logo_uri, auth_method, jwks, jwks_uri,
    require_pushed, binds_tokens, profile, files_per_user, third_party, brand,
    backchannel_logout_uri, backchannel_logout_session_required, second_factor)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, coalesce(?11, 0), ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, coalesce(?23, '{}'), ?24, ?25, coalesce(?26, 0))
  ON CONFLICT (id) DO UPDATE SET name = excluded.name, tenant = excluded.tenant, confidential = excluded.confidential,
    service = excluded.service, redirect_uris = excluded.redirect_uris,
    post_logout_redirect_uris = excluded.post_logout_redirect_uris, grant_types = excluded.grant_types,
    scopes = excluded.scopes, require_pkce = excluded.require_pkce, display_name = excluded.display_name,
    logo_uri = excluded.logo_uri, auth_method = excluded.auth_method, jwks = excluded.jwks,
    jwks_uri = excluded.jwks_uri, require_pushed = excluded.require_pushed,
    files_per_user = excluded.files_per_user, third_party = excluded.third_party,
    brand = coalesce(?23, brand), second_factor = coalesce(?26, second_factor),
    backchannel_logout_uri = excluded.backchannel_logout_uri,
    backchannel_logout_session_required = excluded.backchannel_logout_session_required,
    binds_tokens = excluded.binds_tokens, profile = excluded.profile, disabled = coalesce(?11, disabled)`;
const COLUMNS = `id, name, tenant, confidential, service, redirect_uris, post_logout_redirect_uris, grant_types, scopes,
    require_pkce, disabled, created_at, display_name, logo_uri, auth_method, jwks, jwks_uri, files_per_user, require_pushed,
    binds_tokens, profile, third_party, brand, backchannel_logout_uri, backchannel_logout_session_required,
    second_factor`;
const SELECT = `SELECT ${COLUMNS} FROM client WHERE id = ?1`;
const PAGE = `SELECT ${COLUMNS}, id AS page_key FROM client WHERE id > ?1 AND tenant <> '~' ORDER BY id LIMIT ?2 OFFSET ?3`;
/** The plus signs make SQLite read only the clients of these tenants. */
const pageOf = (condition: string): string => `
  SELECT ${COLUMNS}, id AS page_key FROM client
  WHERE ${condition} AND +id > ?1 ORDER BY +id LIMIT ?2 OFFSET ?3`;
const SEARCHED = {
  table: "client",
  columns: COLUMNS,
  key: "id",
  smallKeys: false,
  // Clients of the tenant "~" are not registered, and have a list of their own.
  shown: "tenant <> '~'",
  ids: ["name"],
  names: ["display_name"],
} as const;
/** SQL: clients of an organization, of a tenant, and of a tenant of an organization. `n` is the first parameter. */
const ownClients = (n: number): string => `tenant IN (SELECT id FROM tenant WHERE organization = ?${n})`;
const clientsOf = (n: number): string => `tenant = ?${n}`;
const ownClientsOf = (n: number): string =>
  `tenant = (SELECT id FROM tenant WHERE id = ?${n} AND organization = ?${n + 1})`;
const OWNER = `SELECT name, tenant FROM client WHERE id = ?1`;
const DELETE = `DELETE FROM client WHERE id = ?1`;

/** SQL: a text that changes if a secret is added or removed. The audit log compares it and does not store it. */
const LIVE_SECRETS = `
  SELECT group_concat(digest || coalesce(expires_at, '')) FROM
    (SELECT digest, expires_at FROM client_secret WHERE client = shown.id ORDER BY digest)`;
const DROP_SECRETS = `DELETE FROM client_secret WHERE client = ?1`;
/**
 * SQL: drops secrets of the other kind. A secret to sign with must not be sent, and vice versa. `?2`: the client signs.
 */
const DROP_OTHER_KIND = `DELETE FROM client_secret WHERE client = ?1 AND (sealed IS NOT NULL) <> ?2`;
const DROP_OTHER_SECRETS = `DELETE FROM client_secret WHERE client = ?1 AND digest <> ?2`;
/** SQL: adds a secret, or ends the expiry of a secret that the client already has. */
const ADD_SECRET = `
  INSERT INTO client_secret (client, digest, created_at, sealed) VALUES (?1, ?2, ?3, ?4)
  ON CONFLICT (client, digest) DO UPDATE SET expires_at = NULL`;
/** SQL: stores a generated secret for a client without one. The answer shows it only if this statement stored it. */
const ADD_FIRST_SECRET = `
  INSERT INTO client_secret (client, digest, created_at, sealed)
  SELECT ?1, ?2, ?3, ?4 WHERE NOT EXISTS (SELECT 1 FROM client_secret WHERE client = ?1 AND expires_at IS NULL)`;

interface Deps extends Rules {
  readonly db: D1Database;
  readonly random: Random;
  readonly oauth: Pick<
    OAuthPort,
    "revokeStatement" | "revokeAll" | "cleanupStep" | "forgetElsewhere" | "forgetRemoved" | "sealClientSecret"
  >;
  readonly events: EventsPort;
  readonly media: Pick<MediaPort, "filesOfClient" | "ownerChanges">;
}

export const clients = (deps: Deps): Resource<Body> => {
  const { db, oauth, events, media } = deps;
  const listed = (condition: (parameter: number) => string, of: readonly string[], page: PageRequest) =>
    search(db, SEARCHED).own(pageOf(condition(4)), condition(8), of, page);
  return {
    noun: "client",
    collection: "/clients",
    key: "clientId",
    params,
    schema,
    row: ({ clientId }) => ({ sql: SELECT, values: [clientId] }),
    searched: true,
    byTenant: true,
    page: (_, page) =>
      page.tenant === undefined ? search(db, SEARCHED).page(PAGE, page) : listed(clientsOf, [page.tenant], page),
    toJson: (row) => ({
      clientId: row["id"],
      name: row["name"],
      displayName: row["display_name"],
      logoUri: row["logo_uri"],
      brand: toBrand(row["brand"]),
      tenant: row["tenant"],
      confidential: toFlag(row["confidential"]),
      ...(row["service"] === null ? {} : { service: row["service"] }),
      redirectUris: toList(row["redirect_uris"]),
      postLogoutRedirectUris: toList(row["post_logout_redirect_uris"]),
      grantTypes: toList(row["grant_types"]),
      scopes: toList(row["scopes"]),
      requirePkce: toFlag(row["require_pkce"]),
      filesPerUser: toFlag(row["files_per_user"]),
      thirdParty: toFlag(row["third_party"]),
      requireSecondFactor: toFlag(row["second_factor"]),
      backchannelLogoutUri: row["backchannel_logout_uri"],
      backchannelLogoutSessionRequired: toFlag(row["backchannel_logout_session_required"]),
      authMethod: row["auth_method"] || "client_secret",
      requirePushedAuthorizationRequests: toFlag(row["require_pushed"]),
      dpopBoundAccessTokens: toFlag(row["binds_tokens"]),
      securityProfile: row["profile"] || "none",
      jwks: row["jwks"],
      jwksUri: row["jwks_uri"],
      disabled: toFlag(row["disabled"]),
      createdAt: row["created_at"],
    }),
    logged: {
      name: { value: "name" },
      displayName: { value: "display_name" },
      logoUri: { value: "logo_uri" },
      brand: { json: "brand" },
      tenant: { value: "tenant" },
      confidential: { flag: "confidential" },
      service: { value: "service" },
      redirectUris: { list: "redirect_uris" },
      postLogoutRedirectUris: { list: "post_logout_redirect_uris" },
      grantTypes: { list: "grant_types" },
      scopes: { list: "scopes" },
      requirePkce: { flag: "require_pkce" },
      filesPerUser: { flag: "files_per_user" },
      thirdParty: { flag: "third_party" },
      requireSecondFactor: { flag: "second_factor" },
      backchannelLogoutUri: { value: "backchannel_logout_uri" },
      backchannelLogoutSessionRequired: { flag: "backchannel_logout_session_required" },
      authMethod: { value: "auth_method" },
      requirePushedAuthorizationRequests: { flag: "require_pushed" },
      dpopBoundAccessTokens: { flag: "binds_tokens" },
      securityProfile: { value: "profile" },
      jwks: { value: "jwks" },
      jwksUri: { value: "jwks_uri" },
      clientSecret: { secret: LIVE_SECRETS },
      disabled: { flag: "disabled" },
    },
    validate: (change) => validate(change, deps),
    async put(change, write) {
      const { clientId: id = "" } = change.params;
      const after = { name: change.body.name ?? id, tenant: change.body.tenant };
      const { statements, generated } = await writes(change, deps);
      const written = await media.ownerChanges.changeClient({ id, after }, (before) =>
        write([...unchanged(db, id, before, after), ...statements]),
      );
      // If another request has stored a first secret meanwhile, the generated one is not stored.
      const isStored = generated !== undefined && written.changes.at(-1) === 1;
      return isStored ? { ...written, shownOnce: { clientSecret: generated } } : written;
    },
    async validateRemoval({ clientId = "" }) {
      if (isBuiltIn(clientId, deps)) return builtInRefusal("client", clientId);
      const name = (await ownerOf(db, clientId))?.name ?? "";
      const topics = events.topicsOf(name, DEPENDENTS_LIMIT);
      return refuseDependents(db, "client", [topics], media.filesOfClient(name, DEPENDENTS_LIMIT));
    },
    async remove({ params: { clientId = "" }, nowMs, record }, remove) {
      const unfinished = await revokeManyFirst("client", clientId, nowMs, record, oauth);
      if (unfinished !== undefined) return unfinished;
      const before = await events.endSubscriptions(clientId, record);
      await oauth.forgetElsewhere("client", clientId);
      const removed = await media.ownerChanges.changeClient({ id: clientId, after: undefined }, (seen) =>
        remove(db.prepare(DELETE).bind(clientId), {
          before: [...unchanged(db, clientId, seen), ...before],
          after: oauth.revokeStatement("client", clientId, nowMs, "if changed"),
        }),
      );
      await oauth.forgetRemoved("client", clientId);
      await events.endSubscriptionsElsewhere(clientId, record);
      return removed;
    },
    within: {
      owns: ({ clientId }, organization) => ownsClient(clientId, organization),
      page: (organization, page) =>
        page.tenant === undefined
          ? listed(ownClients, [organization], page)
          : listed(ownClientsOf, [page.tenant, organization], page),
      change: {
        permits: ({ params: { clientId = "" }, body: { tenant, service } }, organization) => ({
          sql: OWN_CHANGE,
          values: [clientId, organization, tenant, service ?? null],
        }),
        refuse: ({ params: { clientId = "" }, body }, by) => refuseForeign(clientId, body, by, deps),
        validate: ({ body }, by) => refuseScopes(body, by, deps),
      },
    },
  };
};

/** SQL: the tenant of the client, before and after, and its service belong to the organization. */
const OWN_CHANGE = `
  ?3 IN (SELECT id FROM tenant WHERE organization = ?2)
  AND NOT EXISTS (SELECT 1 FROM client WHERE id = ?1 AND tenant NOT IN (SELECT id FROM tenant WHERE organization = ?2))
  AND (?4 IS NULL OR EXISTS (SELECT 1 FROM service WHERE name = ?4
    AND tenant IN (SELECT id FROM tenant WHERE organization = ?2)))`;

async function validate({ params: { clientId = "" }, body }: Change<Body>, deps: Deps): Promise<Problem | undefined> {
  if (isBuiltIn(clientId, deps)) return builtInRefusal("client", clientId);
  const { db } = deps;
  const name = body.name ?? clientId;
  const refused = await refuseFaults(db.prepare(FAULTS).bind(clientId, body.tenant, body.service ?? null, name));
  if (refused !== undefined) return refused;
  return refusal(check(clientId, body, deps)) ?? refuseName(await ownerOf(db, clientId), name, body.tenant, deps);
}

/**
 * Topics and files belong to the client's name. After a rename nobody would reach the files, and another client could
 * take the topics. After a change of tenant, the client still reaches files of the tenants that it serves. For some
 * seconds after a rename or deletion, isolates still accept tokens with the earlier name: a file that was committed by
 * one is not for the next client of this name.
 */
async function refuseName(
  owner: Owner | undefined,
  name: string,
  tenant: string,
  { db, events, media }: Deps,
): Promise<Problem | undefined> {
  const isKept = owner?.name === name;
  if (isKept && owner.tenant === tenant) return undefined;
  const belongings = (of: string, inTenant?: string) =>
    findDependents(db, [events.topicsOf(of, DEPENDENTS_LIMIT)], media.filesOfClient(of, DEPENDENTS_LIMIT, inTenant));
  const [own, left] = await Promise.all([
    owner === undefined ? [] : belongings(owner.name, isKept ? owner.tenant : undefined),
    isKept ? [] : belongings(name),
  ]);
  if (own.length > 0)
    return problem("conflict_resource", "A client that has topics or files keeps its name and tenant.", {
      details: own,
    });
  if (left.length > 0)
    return problem("conflict_resource", "An earlier client left topics or files of this name: choose another name.", {
      details: left,
    });
  return undefined;
}

/** Returns the statements of a PUT. If the last statement stores a generated secret, `generated` is that secret. */
async function writes(
  { params: { clientId: id = "" }, body: client, nowMs }: Change<Body>,
  { db, random, oauth }: Deps,
): Promise<{ readonly statements: readonly D1PreparedStatement[]; readonly generated?: string }> {
  const { redirectUris: uris, postLogoutRedirectUris, grantTypes, scopes } = client;
  const lists = [uris, postLogoutRedirectUris, grantTypes, scopes].map((list) => JSON.stringify(list));
  const identity = [id, client.name ?? id, client.tenant, Number(client.confidential)];
  const flags = [Number(client.requirePkce), flagOrKept(client.disabled)];
  const shown = [client.displayName, client.logoUri];
  const method = client.authMethod === "client_secret" ? "" : client.authMethod;
  const bounds = [client.requirePushedAuthorizationRequests, client.dpopBoundAccessTokens].map(Number);
  const proof = [method, client.jwks, client.jwksUri];
  const revoke = (when: "always" | "if changed") => oauth.revokeStatement("client", id, nowMs, when);
  const statements = [
    db.prepare(CHANGE_IDENTITY).bind(...identity, JSON.stringify(scopes), ...proof),
    revoke("if changed"),
    db
      .prepare(UPSERT)
      .bind(
        ...identity,
        client.service ?? null,
        ...lists,
        ...flags,
        nowMs,
        ...shown,
        ...proof,
        ...bounds,
        client.securityProfile === "none" ? "" : client.securityProfile,
        Number(client.filesPerUser),
        Number(client.thirdParty),
        brandOrKept(client.brand),
        client.backchannelLogoutUri,
        Number(client.backchannelLogoutSessionRequired),
        flagOrKept(client.requireSecondFactor),
      ),
    ...(client.disabled === true ? [revoke("always")] : []),
  ];
  if (!client.confidential || method === "private_key_jwt")
    return { statements: [...statements, db.prepare(DROP_SECRETS).bind(id)] };
  const generated = client.clientSecret === undefined ? randomSecret(random) : undefined;
  const next = client.clientSecret ?? generated ?? "";
  const signs = method === "client_secret_jwt";
  const { digest, sealed } = signs
    ? await oauth.sealClientSecret(id, next)
    : { digest: await sha256Hex(next), sealed: null };
  if (generated !== undefined) {
    const drop = db.prepare(DROP_OTHER_KIND).bind(id, Number(signs));
    return {
      statements: [...statements, drop, db.prepare(ADD_FIRST_SECRET).bind(id, digest, nowMs, sealed)],
      generated,
    };
  }
  // The replaced secret may have leaked, so its tokens are revoked. Sending the same secret changes nothing.
  const replace = [db.prepare(DROP_OTHER_SECRETS).bind(id, digest), revoke("if changed")];
  return { statements: [...statements, ...replace, db.prepare(ADD_SECRET).bind(id, digest, nowMs, sealed)] };
}

/**
 * Fails a write if a concurrent change has given the client another name or tenant: files belong to them, and only the
 * owner of the name `before` is closed. A concurrent change to the same name and tenant does no harm.
 */
function unchanged(
  db: D1Database,
  id: string,
  before: ClientBefore,
  after: Owner = NOBODY,
): readonly D1PreparedStatement[] {
  if (before === "any") return [];
  const { name, tenant } = before === "absent" ? after : before;
  return [guard(db, { sql: IS_UNCHANGED, values: [id, name, tenant, after.name, after.tenant] })];
}

const IS_UNCHANGED = `NOT EXISTS (SELECT 1 FROM client
  WHERE id = ?1 AND (name <> ?2 OR tenant <> ?3) AND (name <> ?4 OR tenant <> ?5))`;

interface Owner {
  readonly name: string;
  readonly tenant: string;
}

const NOBODY: Owner = { name: "", tenant: "" };

const ownerOf = async (db: D1Database, id: string): Promise<Owner | undefined> =>
  (await db.prepare(OWNER).bind(id).first<Owner>()) ?? undefined;
