import { problem, type Problem } from "../../../http/errors/errors.ts";
import type { Random } from "../../../platform/runtime/random.ts";
import { toBrand } from "../../model/brand.ts";
import { guard, holds, ownsClient, refuseManyEnded } from "../shared/within-organization.ts";
import type { ClientBefore, EventsPort, MediaPort, OAuthPort } from "../../model/ports.ts";
import { builtInRefusal, refusal } from "../../model/rules.ts";
import { DEPENDENTS_LIMIT, findDependents, refuseDependents, refuseFaults } from "../shared/refusals.ts";
import { toFlag, toList, type Change, type Resource, type PageRequest } from "../shared/resource.ts";
import { search } from "../shared/search.ts";
import { check, isBuiltIn, params, schema, type Body, type Rules } from "./client-body.ts";
import { storedClient, withKept } from "./client-kept.ts";
import { clientWrites } from "./client-writes.ts";
import { hasRoom, refuseForeign, refuseMany, refuseScopes } from "./organization-clients.ts";
import { revokeManyFirst } from "../keys/revocations.ts";

const FAULTS = `
  SELECT 'invalid_field' AS type, 'tenant' AS field, 'There is no tenant ' || ?2 || '.' AS message
    WHERE NOT EXISTS (SELECT 1 FROM tenant WHERE id = ?2)
  UNION ALL SELECT 'invalid_field', 'service', 'There is no registered service ' || ?3 || '.'
    WHERE ?3 IS NOT NULL AND NOT EXISTS (SELECT 1 FROM service WHERE name = ?3)
  UNION ALL SELECT 'taken', 'name', 'Another client has the name ' || ?4 || '.'
    WHERE EXISTS (SELECT 1 FROM client WHERE name = ?4 AND id <> ?1)`;
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
const DELETE = `DELETE FROM client WHERE id = ?1`;

/** SQL: a text that changes if a secret is added or removed. The audit log compares it and does not store it. */
const LIVE_SECRETS = `
  SELECT group_concat(digest || coalesce(expires_at, '')) FROM
    (SELECT digest, expires_at FROM client_secret WHERE client = shown.id ORDER BY digest)`;
interface Deps extends Rules {
  readonly db: D1Database;
  readonly random: Random;
  readonly oauth: Pick<
    OAuthPort,
    | "revokeStatement"
    | "revokeAll"
    | "cleanupStep"
    | "hasEndedMost"
    | "forgetElsewhere"
    | "forgetRemoved"
    | "sealClientSecret"
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
      const room = change.by === undefined ? [] : [guard(db, hasRoom(id, change.by.organization))];
      const after = { name: change.body.name ?? id, tenant: change.body.tenant };
      const { statements, generated } = await clientWrites(change, deps);
      const written = await media.ownerChanges.changeClient({ id, after }, (before) =>
        write([...room, ...unchanged(db, id, before, after), ...statements]),
      );
      // If another request has stored a first secret meanwhile, the generated one is not stored.
      const isStored = generated !== undefined && written.changes.at(-1) === 1;
      return isStored ? { ...written, shownOnce: { clientSecret: generated } } : written;
    },
    async validateRemoval({ clientId = "" }) {
      if (isBuiltIn(clientId, deps)) return builtInRefusal("client", clientId);
      const name = (await storedClient(db, clientId))?.name ?? "";
      const topics = events.topicsOf(name, DEPENDENTS_LIMIT);
      return refuseDependents(db, "client", [topics], media.filesOfClient(name, DEPENDENTS_LIMIT));
    },
    async remove({ params: { clientId = "" }, nowMs, record, by }, remove) {
      const revoking = { kind: "client", key: clientId, nowMs, record, organization: by?.organization } as const;
      const unfinished = await revokeManyFirst(revoking, oauth);
      if (unfinished !== undefined) return unfinished;
      const before = await events.endSubscriptions(clientId, record);
      await oauth.forgetElsewhere("client", clientId);
      const removed = await media.ownerChanges.changeClient({ id: clientId, after: undefined }, (seen) =>
        remove(db.prepare(DELETE).bind(clientId), {
          before: [...unchanged(db, clientId, seen), ...before],
          after: oauth.revokeStatement("client", clientId, nowMs, "if changed", by?.organization),
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
        validate: async ({ params: { clientId = "" }, body }, by) =>
          (await holds(db, hasRoom(clientId, by.organization))) ? refuseScopes(body, by, deps) : refuseMany(by),
        // Before the removal ends grants in other databases.
        validateRemoval: (_, by) => refuseManyEnded(by, oauth),
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
  const stored = await storedClient(db, clientId);
  return refusal(check(clientId, withKept(body, stored), deps)) ?? refuseName(stored, name, body.tenant, deps);
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
