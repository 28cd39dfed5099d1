import type { ServiceRecord } from "../../platform/built-in.ts";
import { DATABASE_NOW_MS } from "../../platform/database.ts";
import { planOf, type Plan } from "../../platform/plans.ts";

/** Reads what the operator registered. Everything that one token request needs is one round trip. */
export interface ClientRow {
  readonly id: string;
  readonly name: string;
  readonly tenant: string;
  readonly confidential: boolean;
  readonly service: string | undefined;
  readonly redirectUris: readonly string[];
  readonly postLogoutRedirectUris: readonly string[];
  readonly requirePkce: boolean;
  readonly grantTypes: readonly string[];
  readonly scopes: readonly string[];
  readonly disabled: boolean;
  /** SHA-256 digests in hex of the secrets that live now. */
  readonly secretDigests: readonly string[];
}

export interface TenantRow {
  readonly id: string;
  readonly disabled: boolean;
  readonly plan: Plan;
  /** Registered services that are essential or the tenant's own or in one of its packages. */
  readonly services: readonly ServiceRecord[];
  /** Names of services that its packages include, built-in ones too. */
  readonly subscribed: readonly string[];
  readonly packages: readonly string[];
}

export interface DirectoryStore {
  /** The client, and the tenant that it asks for (its own where `tenant` is undefined). */
  clientAndTenant(
    clientId: string,
    tenant: string | undefined,
    nowMs: number,
  ): Promise<{
    readonly client: ClientRow | undefined;
    readonly tenant: TenantRow | undefined;
    /** When this was read, by the database's clock. */
    readonly asOfMs: number;
  }>;
}

/** First in the batch, so that no change that it does not show is older. */
const AS_OF = `SELECT ${DATABASE_NOW_MS} AS as_of`;

const CLIENT = `
  SELECT id, name, tenant, confidential, service, redirect_uris, post_logout_redirect_uris, require_pkce, grant_types,
    scopes, disabled,
    (SELECT json_group_array(digest) FROM client_secret
      WHERE client = client.id AND (expires_at IS NULL OR expires_at > ?2)) AS secret_digests
  FROM client WHERE id = ?1`;

const TENANT = `
  SELECT id, disabled, plan,
    (SELECT json_group_array(package) FROM subscription WHERE tenant = tenant.id) AS packages,
    (SELECT json_group_array(DISTINCT package_service.service) FROM subscription
      JOIN package_service ON package_service.package = subscription.package
      WHERE subscription.tenant = tenant.id) AS subscribed
  FROM tenant WHERE id = coalesce(?2, (SELECT tenant FROM client WHERE id = ?1))`;

const SERVICES = `
  SELECT name, proxy_path, scopes, essential, tenant FROM service WHERE name IN (
    SELECT name FROM service WHERE essential = 1
    UNION SELECT name FROM service WHERE tenant = coalesce(?2, (SELECT tenant FROM client WHERE id = ?1))
    UNION SELECT package_service.service FROM subscription
      JOIN package_service ON package_service.package = subscription.package
      WHERE subscription.tenant = coalesce(?2, (SELECT tenant FROM client WHERE id = ?1)))`;

export function createDirectoryStore(db: D1Database): DirectoryStore {
  return {
    async clientAndTenant(clientId, tenant, nowMs) {
      const asked = tenant ?? null;
      const [times, clients, tenants, services] = await db.batch<Row>([
        db.prepare(AS_OF),
        db.prepare(CLIENT).bind(clientId, nowMs),
        db.prepare(TENANT).bind(clientId, asked),
        db.prepare(SERVICES).bind(clientId, asked),
      ]);
      const client = clients?.results[0];
      const found = tenants?.results[0];
      return {
        asOfMs: Number(times?.results[0]?.["as_of"] ?? 0),
        client: client === undefined ? undefined : toClient(client),
        tenant: found === undefined ? undefined : toTenant(found, services?.results ?? []),
      };
    },
  };
}

type Row = Record<string, string | number | null>;

const toClient = (row: Row): ClientRow => ({
  id: String(row["id"]),
  name: String(row["name"]),
  tenant: String(row["tenant"]),
  confidential: row["confidential"] === 1,
  service: row["service"] === null ? undefined : String(row["service"]),
  redirectUris: toList(row["redirect_uris"]),
  postLogoutRedirectUris: toList(row["post_logout_redirect_uris"]),
  requirePkce: row["require_pkce"] === 1,
  grantTypes: toList(row["grant_types"]),
  scopes: toList(row["scopes"]),
  disabled: row["disabled"] === 1,
  secretDigests: toList(row["secret_digests"]),
});

const toTenant = (row: Row, services: readonly Row[]): TenantRow => ({
  id: String(row["id"]),
  disabled: row["disabled"] === 1,
  plan: planOf(row["plan"]),
  packages: toList(row["packages"]),
  subscribed: toList(row["subscribed"]),
  services: services.map((service) => ({
    name: String(service["name"]),
    proxyPath: String(service["proxy_path"]),
    scopes: toList(service["scopes"]),
    essential: service["essential"] === 1,
    tenant: String(service["tenant"]),
  })),
});

const toList = (json: string | number | null | undefined): readonly string[] =>
  JSON.parse(String(json ?? "[]")) as string[];
