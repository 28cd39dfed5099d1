import * as z from "zod/mini";
import { OIDC_SCOPES } from "../../../platform/model/oidc-scopes.ts";
import { parseOutboundUrl } from "../../../platform/outside/outbound-url.ts";
import { scopesOverlap } from "../../../platform/model/scope-pattern.ts";
import { flag, identifier, oneLine, scopeList, scopePattern, tenantId } from "../../model/fields.ts";
import { builtInRefusal, refusal, type Fault, type RuleContext } from "../../model/rules.ts";
import { DEPENDENTS_LIMIT, refuseDependents, refuseFaults } from "../shared/refusals.ts";
import { toFlag, toList, type Resource } from "../shared/resource.ts";

/**
 * The first parts of the addresses of pages and documents. All addresses below them, and below the first parts of the
 * built-in services, are reserved for new versions of services and further documents. Cloudflare answers
 * `/cdn-cgi` by itself.
 */
const RESERVED_PARTS: readonly string[] = [
  "account",
  "cdn-cgi",
  "console",
  "docs",
  "favicon.ico",
  "health",
  "llms.txt",
  "openapi.json",
  ".well-known",
];
const proxyPath = z.string().check(
  z.regex(
    /^(\/[A-Za-z0-9._~-]{1,64}){1,8}$/,
    "must be 1 to 8 parts, each / and 1 to 64 letters, digits and . _ ~ -, such as /orders/v1",
  ),
  z.refine((path) => !/\/\.{1,2}(\/|$)/.test(path), "must have no . or .. in it"),
);
const sourceUrl = z.string().check(
  z.maxLength(512),
  z.refine((text) => !text.includes("?"), "must have no query"),
);

const firstPartOf = (path: string): string => path.split("/")[1] ?? "";

/** Returns the paths above a path as JSON: `/a` and `/a/b` for `/a/b/c`. */
function pathsAbove(path: string): string {
  const parts = path.split("/");
  return JSON.stringify(parts.slice(2).map((_, index) => parts.slice(0, index + 2).join("/")));
}

export const params = z.object({ name: identifier });
/** The description of each scope for people, on one line. */
const scopeDescriptions = z._default(
  z.record(scopePattern, z.string().check(z.minLength(1), z.maxLength(200), oneLine)),
  {},
);
const MOST_DESCRIBED_CHARS = 16_000;

export const schema = z.object({
  sourceUrl,
  proxyPath,
  scopes: scopeList,
  scopeDescriptions,
  essential: flag,
  tenant: tenantId,
  access: z.enum(["token", "public"]),
  forwardAuthorization: flag,
  trusted: flag,
});
type Body = z.output<typeof schema>;

export const isBuiltIn = (name: string, { builtIn }: Pick<RuleContext, "builtIn">): boolean =>
  builtIn.services.some((service) => service.name === name);

export function check(
  _name: string | undefined,
  { sourceUrl: source, proxyPath: path, scopes, scopeDescriptions: words = {} }: Partial<Body>,
  { names, builtIn, allowLoopback, origin }: RuleContext,
): Fault[] {
  const faults: Fault[] = [];
  const refuse = (field: string, message: string) => void faults.push({ type: "invalid_field", field, message });
  const address = source === undefined ? undefined : parseOutboundUrl(source, allowLoopback);
  if (address?.ok === false) refuse("sourceUrl", `sourceUrl ${address.error}.`);
  if (address?.ok === true && address.value.origin === origin)
    refuse("sourceUrl", "sourceUrl is an address of the platform itself.");
  const first = path === undefined ? undefined : firstPartOf(path);
  const firstParts = [...builtIn.services.map(({ proxyPath: own }) => firstPartOf(own)), ...RESERVED_PARTS];
  if (first !== undefined && firstParts.includes(first))
    refuse("proxyPath", `The first part of proxyPath, /${first}, is the platform's own.`);
  const tenancy = ["tenant=*", "org=*", "no_tenant"].map(names.scope);
  const ownScopes = builtIn.services.flatMap((service) => service.scopes);
  const reserved = [...OIDC_SCOPES, ...tenancy, ...ownScopes];
  const taken = scopes?.find((scope) => reserved.some((other) => scopesOverlap(scope, other)));
  if (taken !== undefined) refuse("scopes", `${taken} is, or covers, a scope of the platform itself.`);
  const stray = scopes && Object.keys(words).find((scope) => !scopes.includes(scope));
  if (stray !== undefined) refuse("scopeDescriptions", `${stray} is none of the service's scopes.`);
  if (JSON.stringify(words).length > MOST_DESCRIBED_CHARS)
    refuse("scopeDescriptions", `The descriptions are at most ${MOST_DESCRIBED_CHARS} characters together.`);
  return faults;
}

/**
 * SQL: services of other tenants whose path is above ?3 (one of ?4) or below it. The longer path would receive requests
 * for the shorter one, with the tokens of its callers. An existing service that keeps its path and tenant may stay.
 */
const NESTED = `
  SELECT name, proxy_path FROM service
  WHERE (proxy_path IN (SELECT value FROM json_each(?4)) OR (proxy_path > ?3 || '/' AND proxy_path < ?3 || '0'))
    AND tenant <> ?2 AND name <> ?1
    AND NOT EXISTS (SELECT 1 FROM service WHERE name = ?1 AND proxy_path = ?3 AND tenant = ?2)`;
const FAULTS = `
  SELECT 'invalid_field' AS type, 'tenant' AS field, 'There is no tenant ' || ?2 || '.' AS message
    WHERE NOT EXISTS (SELECT 1 FROM tenant WHERE id = ?2)
  UNION ALL SELECT 'taken', 'proxyPath', 'Another service has the path ' || ?3 || '.'
    WHERE EXISTS (SELECT 1 FROM service WHERE proxy_path = ?3 AND name <> ?1)
  UNION ALL SELECT 'taken', 'proxyPath', 'The path and ' || proxy_path || ', of the service ' || name
    || ', are one below the other, and belong to different tenants.' FROM (${NESTED} LIMIT 1)`;
/** SQL: if a nested service appeared meanwhile, `access` is NULL, which the table refuses. */
const UPSERT = `
  INSERT INTO service (name, source_url, proxy_path, scopes, essential, tenant, access, created_at,
    forward_authorization, trusted, scope_descriptions)
  VALUES (?1, ?5, ?3, ?6, ?7, ?2, iif(EXISTS (${NESTED}), NULL, ?8), ?9, ?10, ?11, ?12)
  ON CONFLICT (name) DO UPDATE SET source_url = excluded.source_url, proxy_path = excluded.proxy_path,
    scopes = excluded.scopes, essential = excluded.essential, tenant = excluded.tenant, access = excluded.access,
    forward_authorization = excluded.forward_authorization, trusted = excluded.trusted,
    scope_descriptions = excluded.scope_descriptions`;
const COLUMNS = `name, source_url, proxy_path, scopes, essential, tenant, access, created_at, forward_authorization, trusted,
  scope_descriptions`;
/** SQL: the registered services and, from JSON, the built-in ones, as one list. */
const ALL = `
  (SELECT ${COLUMNS} FROM service
   UNION ALL SELECT value ->> 'name', NULL, value ->> 'proxyPath', value -> 'scopes', value ->> 'essential',
     value ->> 'tenant', 'token', NULL, 0, 0, '{}' FROM json_each(?1))`;
const SELECT = `SELECT ${COLUMNS} FROM ${ALL} WHERE name = ?2`;
const PAGE = `SELECT ${COLUMNS}, name AS page_key FROM ${ALL} WHERE name > ?2 ORDER BY name LIMIT ?3 OFFSET ?4`;
const DEPENDENTS = `
  SELECT * FROM (SELECT 'client' AS kind, id FROM client WHERE service = ?1 LIMIT ?2)
  UNION ALL SELECT * FROM (SELECT 'package', package FROM package_service WHERE service = ?1 LIMIT ?2)`;
/** SQL: the condition replaces a foreign key. Packages have none, because built-in services have no row. */
const DELETE = `
  DELETE FROM service WHERE name = ?1 AND NOT EXISTS (SELECT 1 FROM package_service WHERE service = ?1)`;

interface Deps extends Omit<RuleContext, "origin"> {
  readonly db: D1Database;
}

export const services = (deps: Deps): Resource<Body> => {
  const { db, builtIn } = deps;
  const builtInJson = JSON.stringify(builtIn.services);
  return {
    noun: "service",
    collection: "/services",
    key: "name",
    params,
    schema,
    row: ({ name }) => ({ sql: SELECT, values: [builtInJson, name] }),
    page: (_, { after, limit, skip }) => db.prepare(PAGE).bind(builtInJson, after, limit, skip),
    toJson: (row) => ({
      name: row["name"],
      ...(row["source_url"] === null
        ? { builtIn: true }
        : {
            sourceUrl: row["source_url"],
            createdAt: row["created_at"],
            forwardAuthorization: toFlag(row["forward_authorization"]),
            trusted: toFlag(row["trusted"]),
          }),
      proxyPath: row["proxy_path"],
      scopes: toList(row["scopes"]),
      scopeDescriptions: JSON.parse(String(row["scope_descriptions"])) as object,
      essential: toFlag(row["essential"]),
      tenant: row["tenant"],
      access: row["access"],
    }),
    logged: {
      sourceUrl: { value: "source_url" },
      proxyPath: { value: "proxy_path" },
      scopes: { list: "scopes" },
      scopeDescriptions: { json: "scope_descriptions" },
      essential: { flag: "essential" },
      tenant: { value: "tenant" },
      access: { value: "access" },
      forwardAuthorization: { flag: "forward_authorization" },
      trusted: { flag: "trusted" },
    },
    async validate({ params: { name = "" }, body: service, origin }) {
      if (isBuiltIn(name, deps)) return builtInRefusal("service", name);
      const { tenant, proxyPath: path } = service;
      const refused = await refuseFaults(db.prepare(FAULTS).bind(name, tenant, path, pathsAbove(path)));
      return refused ?? refusal(check(name, service, { ...deps, origin }));
    },
    put({ params: { name }, body: service, nowMs }, write) {
      const { tenant, proxyPath: path, sourceUrl: source, scopes, essential, access } = service;
      const place = [name, tenant, path, pathsAbove(path)];
      const values = [source, JSON.stringify(scopes), Number(essential), access, nowMs];
      const trust = [Number(service.forwardAuthorization), Number(service.trusted)];
      return write([db.prepare(UPSERT).bind(...place, ...values, ...trust, JSON.stringify(service.scopeDescriptions))]);
    },
    async validateRemoval({ name = "" }) {
      if (isBuiltIn(name, deps)) return builtInRefusal("service", name);
      return refuseDependents(db, "service", [db.prepare(DEPENDENTS).bind(name, DEPENDENTS_LIMIT)]);
    },
    remove: ({ params: { name } }, remove) => remove(db.prepare(DELETE).bind(name)),
  };
};
