import * as z from "zod/mini";
import { invalid, problem, type Problem } from "../../http/errors.ts";
import { matching } from "../../http/validate.ts";
import { sha256Hex } from "../../platform/hash.ts";
import { PATTERNS } from "../../platform/names.ts";
import { randomSecret } from "../../platform/random.ts";
import { endManyFirst } from "./end-all.ts";
import { disabledFlag, flag, flagOrKept, identifier, scopeList, tenantId } from "../fields.ts";
import { isRedirectUri } from "../redirect-uri.ts";
import {
  builtInRefusal,
  findUsers,
  ASKED_USERS,
  toFlag,
  toList,
  type Change,
  type PutPlan,
  type Resource,
} from "../resource.ts";
import type { AdminDeps } from "../ports.ts";

/** Contract section 5 and 2.1. */
const GRANT_TYPES = ["client_credentials", "authorization_code", "refresh_token", "implicit", "password"] as const;
const redirectUris = z._default(
  z
    .array(
      z
        .string()
        .check(
          z.refine(
            isRedirectUri,
            "must be https, http on a loopback host, or a private-use scheme with a dot, without fragment and wildcard",
          ),
        ),
    )
    .check(z.maxLength(50)),
  [],
);
/** Printable ASCII, so that it survives every way of sending it; 32 characters at least, since only a digest is kept. */
const secret = z.string().check(z.regex(/^[\x21-\x7e]{32,256}$/));

const body = z.object({
  name: z.optional(matching(PATTERNS.clientName)),
  tenant: tenantId,
  confidential: z.boolean(),
  service: z.optional(identifier),
  redirectUris,
  postLogoutRedirectUris: redirectUris,
  grantTypes: z.array(z.enum(GRANT_TYPES)).check(z.maxLength(GRANT_TYPES.length)),
  scopes: scopeList,
  requirePkce: flag,
  clientSecret: z.optional(secret),
  disabled: disabledFlag,
});
type Body = z.output<typeof body>;

const FAULTS = `
  SELECT 'invalid_field' AS type, 'tenant' AS field, 'There is no tenant ' || ?2 || '.' AS message
    WHERE NOT EXISTS (SELECT 1 FROM tenant WHERE id = ?2)
  UNION ALL SELECT 'invalid_field', 'service', 'There is no registered service ' || ?3 || '.'
    WHERE ?3 IS NOT NULL AND NOT EXISTS (SELECT 1 FROM service WHERE name = ?3)
  UNION ALL SELECT 'taken', 'name', 'Another client has the name ' || ?4 || '.'
    WHERE EXISTS (SELECT 1 FROM client WHERE name = ?4 AND id <> ?1)`;
/** What a token carries of its client: when this changes, or a scope is taken away, what was issued before is void. */
const CHANGE_IDENTITY = `
  UPDATE client SET name = ?2, tenant = ?3, confidential = ?4, scopes = ?5
  WHERE id = ?1 AND (name <> ?2 OR tenant <> ?3 OR confidential <> ?4
    OR EXISTS (SELECT 1 FROM json_each(scopes) WHERE value NOT IN (SELECT value FROM json_each(?5))))`;
const UPSERT = `
  INSERT INTO client (id, name, tenant, confidential, service, redirect_uris, post_logout_redirect_uris, grant_types,
    scopes, require_pkce, disabled, created_at)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, coalesce(?11, 0), ?12)
  ON CONFLICT (id) DO UPDATE SET name = excluded.name, tenant = excluded.tenant, confidential = excluded.confidential,
    service = excluded.service, redirect_uris = excluded.redirect_uris,
    post_logout_redirect_uris = excluded.post_logout_redirect_uris, grant_types = excluded.grant_types,
    scopes = excluded.scopes, require_pkce = excluded.require_pkce, disabled = coalesce(?11, disabled)`;
const COLUMNS = `id, name, tenant, confidential, service, redirect_uris, post_logout_redirect_uris, grant_types, scopes,
    require_pkce, disabled, created_at`;
const SELECT = `SELECT ${COLUMNS} FROM client WHERE id = ?1`;
const PAGE = `SELECT ${COLUMNS}, id AS page_key FROM client WHERE id > ?1 ORDER BY id LIMIT ?2 OFFSET ?3`;
const OWNER = `SELECT name, tenant FROM client WHERE id = ?1`;
const DELETE = `DELETE FROM client WHERE id = ?1`;

/** What changes when a secret does; never kept. */
const LIVE_SECRETS = `
  SELECT group_concat(digest || coalesce(expires_at, '')) FROM
    (SELECT digest, expires_at FROM client_secret WHERE client = shown.id ORDER BY digest)`;
const DROP_SECRETS = `DELETE FROM client_secret WHERE client = ?1`;
const DROP_OTHER_SECRETS = `DELETE FROM client_secret WHERE client = ?1 AND digest <> ?2`;
/** One that was on its way out stays. */
const ADD_SECRET = `
  INSERT INTO client_secret (client, digest, created_at) VALUES (?1, ?2, ?3)
  ON CONFLICT (client, digest) DO UPDATE SET expires_at = NULL`;
/** A generated secret for a client that has none; the answer shows it only if this statement stored it. */
const ADD_FIRST_SECRET = `
  INSERT INTO client_secret (client, digest, created_at)
  SELECT ?1, ?2, ?3 WHERE NOT EXISTS (SELECT 1 FROM client_secret WHERE client = ?1 AND expires_at IS NULL)`;

export const clients = (deps: AdminDeps): Resource<Body> => {
  const { db, names } = deps;
  return {
    noun: "client",
    collection: "/clients",
    key: "clientId",
    params: z.object({ clientId: identifier }),
    body,
    builtIn: ({ clientId = "" }) =>
      clientId.startsWith(names.client("")) ? builtInRefusal("client", clientId) : undefined,
    faults: ({ params, body: client }) =>
      db
        .prepare(FAULTS)
        .bind(params["clientId"], client.tenant, client.service ?? null, client.name ?? params["clientId"]),
    put: (change) => plan(change, deps),
    row: (params) => ({ sql: SELECT, values: [params["clientId"]] }),
    logged: {
      name: { value: "name" },
      tenant: { value: "tenant" },
      confidential: { flag: "confidential" },
      service: { value: "service" },
      redirectUris: { list: "redirect_uris" },
      postLogoutRedirectUris: { list: "post_logout_redirect_uris" },
      grantTypes: { list: "grant_types" },
      scopes: { list: "scopes" },
      requirePkce: { flag: "require_pkce" },
      clientSecret: { secret: LIVE_SECRETS },
      disabled: { flag: "disabled" },
    },
    page: (_, { after, limit, skip }) => db.prepare(PAGE).bind(after, limit, skip),
    toJson: (row) => ({
      clientId: row["id"],
      name: row["name"],
      tenant: row["tenant"],
      confidential: toFlag(row["confidential"]),
      ...(row["service"] === null ? {} : { service: row["service"] }),
      redirectUris: toList(row["redirect_uris"]),
      postLogoutRedirectUris: toList(row["post_logout_redirect_uris"]),
      grantTypes: toList(row["grant_types"]),
      scopes: toList(row["scopes"]),
      requirePkce: toFlag(row["require_pkce"]),
      disabled: toFlag(row["disabled"]),
      createdAt: row["created_at"],
    }),
    remove: async ({ clientId = "" }, nowMs) => {
      const name = (await ownerOf(db, clientId))?.name ?? "";
      return {
        users: [deps.topicsOf(name, ASKED_USERS), deps.filesOfClient(name, ASKED_USERS)],
        first: (record) => endManyFirst("client", clientId, nowMs, record, deps),
        before: (record) => deps.endSubscriptions(clientId, record),
        delete: db.prepare(DELETE).bind(clientId),
        andThen: deps.voidStatement("client", clientId, nowMs, "if changed"),
      };
    },
  };
};

async function plan(change: Change<Body>, deps: AdminDeps): Promise<PutPlan | Problem> {
  const { db, names, builtIn } = deps;
  const { body: client, nowMs } = change;
  const id = change.params["clientId"] ?? "";
  const name = client.name ?? id;
  const refused = checkNames(name, client, names.client(""), builtIn.adminScope);
  if (refused !== undefined) return refused;
  const owner = await ownerOf(db, id);
  if (owner !== undefined && (owner.name !== name || owner.tenant !== client.tenant)) {
    const users = await findUsers(deps, whatKeeps(owner, name, deps));
    if (users.length > 0)
      return problem("conflict_resource", "A client that has topics or files keeps its name and tenant.", {
        details: users,
      });
  }
  const lists = [client.redirectUris, client.postLogoutRedirectUris, client.grantTypes, client.scopes].map((list) =>
    JSON.stringify(list),
  );
  const confidential = Number(client.confidential);
  const identity = [id, name, client.tenant, confidential] as const;
  const write = db
    .prepare(UPSERT)
    .bind(
      ...identity,
      client.service ?? null,
      ...lists,
      Number(client.requirePkce),
      flagOrKept(client.disabled),
      nowMs,
    );
  const voided = (when: "always" | "if changed") => deps.voidStatement("client", id, nowMs, when);
  const writes = [
    db.prepare(CHANGE_IDENTITY).bind(...identity, JSON.stringify(client.scopes)),
    voided("if changed"),
    write,
  ];
  if (client.disabled === true) writes.push(voided("always"));
  if (!client.confidential) return { writes: [...writes, db.prepare(DROP_SECRETS).bind(id)] };
  if (client.clientSecret !== undefined) {
    const digest = await sha256Hex(client.clientSecret);
    // A secret that is replaced leaked, perhaps, so what it got ends with it. The same one again changes nothing.
    const drop = db.prepare(DROP_OTHER_SECRETS).bind(id, digest);
    return { writes: [...writes, drop, voided("if changed"), db.prepare(ADD_SECRET).bind(id, digest, nowMs)] };
  }
  const generated = randomSecret(deps.random);
  const first = db.prepare(ADD_FIRST_SECRET).bind(id, await sha256Hex(generated), nowMs);
  return { writes: [...writes, first], once: { fields: { clientSecret: generated }, write: first } };
}

interface Owner {
  readonly name: string;
  readonly tenant: string;
}

const ownerOf = async (db: D1Database, id: string): Promise<Owner | undefined> =>
  (await db.prepare(OWNER).bind(id).first<Owner>()) ?? undefined;

/**
 * Topics and files go by the client's name: under another tenant, or left behind, topics would become a stranger's, and
 * nobody would reach the files. Under another tenant the client still reaches files of those that it serves.
 */
const whatKeeps = (owner: Owner, newName: string, deps: AdminDeps): readonly D1PreparedStatement[] => [
  deps.topicsOf(owner.name, ASKED_USERS),
  deps.filesOfClient(owner.name, ASKED_USERS, owner.name === newName ? owner.tenant : undefined),
];

function checkNames(name: string, client: Body, reservedPrefix: string, adminScope: string): Problem | undefined {
  if (name.startsWith(reservedPrefix)) return builtInRefusal("client", name);
  if (!PATTERNS.clientName.test(name))
    return invalid(
      "invalid_field",
      "name",
      `The id is not of the form <project>.<app>, so a name of that form is needed: ${PATTERNS.clientName.source}.`,
    );
  if (client.scopes.includes(adminScope))
    return invalid("invalid_field", "scopes", `${adminScope} is the operator client's alone.`);
  if (client.clientSecret !== undefined && !client.confidential)
    return invalid("invalid_field", "clientSecret", "A client that is not confidential has no secret.");
  return undefined;
}
