import * as z from "zod/mini";
import { invalid } from "../../http/errors.ts";
import { IGNORED_OIDC_SCOPES } from "../../platform/oidc-scopes.ts";
import { parseOutboundUrl } from "../../platform/outbound-url.ts";
import { scopesOverlap } from "../../platform/scope-pattern.ts";
import { flag, identifier, scopeList, tenantId } from "../fields.ts";
import { builtInRefusal, ASKED_USERS, toFlag, toList, type Resource } from "../resource.ts";
import type { AdminDeps } from "../ports.ts";

/**
 * What the addresses of pages and documents begin with (contract 1.1). All that begins so, or as a service of the
 * platform's own does, is kept free for it: the next version of one, another document.
 */
const RESERVED_PARTS: readonly string[] = ["account", "docs", "openapi.json", "health", ".well-known"];
const proxyPath = z.string().check(
  z.regex(/^(\/[A-Za-z0-9._~-]{1,64}){1,8}$/),
  z.refine((path) => !/\/\.{1,2}(\/|$)/.test(path), "must have no . or .. in it"),
);
const sourceUrl = z.string().check(
  z.maxLength(512),
  z.refine((text) => !text.includes("?"), "must have no query"),
);

const firstPartOf = (path: string): string => path.split("/")[1] ?? "";

/** `/a/b/c` → `/a`, `/a/b`; as JSON. */
function pathsAbove(path: string): string {
  const parts = path.split("/");
  return JSON.stringify(parts.slice(2).map((_, index) => parts.slice(0, index + 2).join("/")));
}

const body = z.object({
  sourceUrl,
  proxyPath,
  scopes: scopeList,
  essential: flag,
  tenant: tenantId,
  access: z.enum(["token", "public"]),
  forwardAuthorization: flag,
  trusted: flag,
});

/**
 * Services of other tenants whose path is above ?3, by the list ?4, or below it: the longer path takes what comes to the
 * shorter one, with its callers' tokens. What stands so already goes on.
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
/** Without an access it is refused by the table, which is what becomes of one that came below another meanwhile. */
const UPSERT = `
  INSERT INTO service (name, source_url, proxy_path, scopes, essential, tenant, access, created_at,
    forward_authorization, trusted)
  VALUES (?1, ?5, ?3, ?6, ?7, ?2, iif(EXISTS (${NESTED}), NULL, ?8), ?9, ?10, ?11)
  ON CONFLICT (name) DO UPDATE SET source_url = excluded.source_url, proxy_path = excluded.proxy_path,
    scopes = excluded.scopes, essential = excluded.essential, tenant = excluded.tenant, access = excluded.access,
    forward_authorization = excluded.forward_authorization, trusted = excluded.trusted`;
/** Registered services and, from JSON, the built-in ones, as one list. */
const COLUMNS = `name, source_url, proxy_path, scopes, essential, tenant, access, created_at, forward_authorization, trusted`;
const ALL = `
  (SELECT ${COLUMNS} FROM service
   UNION ALL SELECT value ->> 'name', NULL, value ->> 'proxyPath', value -> 'scopes', value ->> 'essential',
     value ->> 'tenant', 'token', NULL, 0, 0 FROM json_each(?1))`;
const SELECT = `SELECT ${COLUMNS} FROM ${ALL} WHERE name = ?2`;
const PAGE = `SELECT ${COLUMNS}, name AS page_key FROM ${ALL} WHERE name > ?2 ORDER BY name LIMIT ?3 OFFSET ?4`;
const USERS = `
  SELECT * FROM (SELECT 'client' AS kind, id FROM client WHERE service = ?1 LIMIT ?2)
  UNION ALL SELECT * FROM (SELECT 'package', package FROM package_service WHERE service = ?1 LIMIT ?2)`;
/** Packages have no foreign key to services, so the condition stands in the statement. */
const DELETE = `
  DELETE FROM service WHERE name = ?1 AND NOT EXISTS (SELECT 1 FROM package_service WHERE service = ?1)`;

export const services = ({ db, builtIn, names, allowLoopback }: AdminDeps): Resource<z.output<typeof body>> => {
  const builtInJson = JSON.stringify(builtIn.services);
  const tenancy = ["tenant=*", "org=*", "no_tenant"].map(names.scope);
  const reserved = [
    "openid",
    ...IGNORED_OIDC_SCOPES,
    ...tenancy,
    ...builtIn.services.flatMap((service) => service.scopes),
  ];
  const firstParts = [...builtIn.services.map((service) => firstPartOf(service.proxyPath)), ...RESERVED_PARTS];
  return {
    noun: "service",
    collection: "/services",
    key: "name",
    params: z.object({ name: identifier }),
    body,
    faults: ({ params, body: service }) =>
      db.prepare(FAULTS).bind(params["name"], service.tenant, service.proxyPath, pathsAbove(service.proxyPath)),
    builtIn: ({ name = "" }) =>
      builtIn.services.some((service) => service.name === name) ? builtInRefusal("service", name) : undefined,
    async put({ params: { name }, body: service, nowMs, origin }) {
      const address = parseOutboundUrl(service.sourceUrl, allowLoopback);
      if (!address.ok) return invalid("invalid_field", "sourceUrl", `sourceUrl ${address.error}.`);
      if (address.value.origin === origin)
        return invalid("invalid_field", "sourceUrl", "sourceUrl is an address of the platform itself.");
      const first = firstPartOf(service.proxyPath);
      if (firstParts.includes(first))
        return invalid("invalid_field", "proxyPath", `The first part of proxyPath, /${first}, is the platform's own.`);
      const taken = service.scopes.find((scope) => reserved.some((other) => scopesOverlap(scope, other)));
      if (taken !== undefined)
        return invalid("invalid_field", "scopes", `${taken} is, or covers, a scope of the platform itself.`);
      const { sourceUrl: source, proxyPath: path, scopes, essential, tenant, access } = service;
      const [forwards, trusted] = [Number(service.forwardAuthorization), Number(service.trusted)];
      const write = db
        .prepare(UPSERT)
        .bind(
          name,
          tenant,
          path,
          pathsAbove(path),
          source,
          JSON.stringify(scopes),
          Number(essential),
          access,
          nowMs,
          forwards,
          trusted,
        );
      return { writes: [write] };
    },
    row: ({ name }) => ({ sql: SELECT, values: [builtInJson, name] }),
    logged: {
      sourceUrl: { value: "source_url" },
      proxyPath: { value: "proxy_path" },
      scopes: { list: "scopes" },
      essential: { flag: "essential" },
      tenant: { value: "tenant" },
      access: { value: "access" },
      forwardAuthorization: { flag: "forward_authorization" },
      trusted: { flag: "trusted" },
    },
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
      essential: toFlag(row["essential"]),
      tenant: row["tenant"],
      access: row["access"],
    }),
    remove: ({ name }) => ({
      users: [db.prepare(USERS).bind(name, ASKED_USERS)],
      delete: db.prepare(DELETE).bind(name),
    }),
  };
};
