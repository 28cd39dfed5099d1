import type { ServiceRecord } from "../../platform/model/built-in.ts";
import { AS_OF } from "../../platform/storage/database.ts";
import { readBrand, type Brand } from "../../platform/model/brand.ts";
import { planOf } from "../../platform/model/plans.ts";
import type { ClientRights, TenantRights } from "../model/granted-scopes.ts";
import type { SealedSecret } from "./mac-secret.ts";

/** A client as the grants see it. `secretDigests` are SHA-256 in hex. */
export interface ClientRecord extends ClientRights {
  readonly name: string;
  /** The name and the logo on pages for people. May be empty; undefined in copies of an earlier version. */
  readonly displayName?: string;
  readonly logoUri?: string;
  readonly brand?: Brand | undefined;
  readonly confidential: boolean;
  /** Gets tokens of people only after two factors. Undefined in copies of an earlier version. */
  readonly asksTwoFactors?: boolean;
  /** How it authenticates; empty: by a secret. Undefined in copies of an earlier version, as those below. */
  readonly authMethod?: string;
  /** Its public keys, or their address, if it authenticates by them. */
  readonly jwks?: string;
  readonly jwksUri?: string;
  /** Its authorization requests come through `/par` alone. */
  readonly requirePushed?: boolean;
  /** Keeps people's files apart. */
  readonly filesPerUser?: boolean;
  /** People are asked before it gets access (consent/consent.ts). */
  readonly thirdParty?: boolean;
  /** Nobody registered it, so people are asked each time and shown where its data come from. */
  readonly unregistered?: ClientSource;
  /** It is told when a session ends (logout/logout.ts). */
  readonly isToldOfLogout?: boolean;
  /** It keeps to the FAPI 2.0 Security Profile: signed assertions, pushed requests, PKCE with S256, bound tokens. */
  readonly isFapi?: boolean;
  /** Its access tokens are bound to keys (RFC 9449). */
  readonly bindsTokens?: boolean;
  readonly redirectUris: readonly string[];
  readonly postLogoutRedirectUris: readonly string[];
  readonly requirePkce: boolean;
  readonly grantTypes: readonly string[];
  readonly secretDigests: readonly string[];
  /** Its secrets, if it signs by them. */
  readonly sealedSecrets?: readonly SealedSecret[];
}

/** `host`: of the document that describes the client. Empty: the client registered itself. */
interface ClientSource {
  readonly host: string;
  /** Its own words about itself, JSON, and when they were read. */
  readonly metadata: string;
  readonly readAtMs: number;
}

export interface ClientRow extends ClientRecord {
  /** The client, or its own tenant, whatever tenant the token is for. */
  readonly disabled: boolean;
}

export interface TenantRow extends TenantRights {
  readonly packages: readonly string[];
}

/** Client, tenant and services of a token request are read in one round trip. */
export interface ClientAndTenant {
  readonly client: ClientRow | undefined;
  readonly tenant: TenantRow | undefined;
  /** The database's time of this read. */
  readonly asOfMs: number;
}

const CLIENT = `
  SELECT id, name, display_name AS displayName, logo_uri AS logoUri, tenant, confidential, service, redirect_uris AS redirectUris,
    post_logout_redirect_uris AS postLogoutRedirectUris, require_pkce AS requirePkce, grant_types AS grantTypes, scopes,
    disabled OR EXISTS (SELECT 1 FROM tenant WHERE tenant.id = client.tenant AND tenant.disabled) AS disabled,
    second_factor AS asksTwoFactors, auth_method AS authMethod, jwks, jwks_uri AS jwksUri, require_pushed AS requirePushed, files_per_user AS filesPerUser, third_party AS thirdParty, brand, binds_tokens AS bindsTokens, profile = 'fapi2' AS isFapi,
    backchannel_logout_uri <> '' AS isToldOfLogout,
    (SELECT json_group_array(digest) FROM client_secret
      WHERE client = client.id AND (expires_at IS NULL OR expires_at > ?2)) AS secretDigests,
    iif(auth_method = 'client_secret_jwt', (SELECT json_group_array(json_object('digest', digest, 'sealed', sealed))
      FROM client_secret WHERE client = client.id AND sealed IS NOT NULL AND (expires_at IS NULL OR expires_at > ?2)),
      '[]') AS sealedSecrets
  FROM client WHERE id = ?1`;

const TENANT = `
  SELECT id, disabled, plan, second_factor AS asksTwoFactors, brand,
    (SELECT json_group_array(package) FROM subscription WHERE tenant = tenant.id) AS packages,
    (SELECT json_group_array(DISTINCT package_service.service) FROM subscription
      JOIN package_service ON package_service.package = subscription.package
      WHERE subscription.tenant = tenant.id) AS subscribed
  FROM tenant WHERE id = coalesce(?2, (SELECT tenant FROM client WHERE id = ?1))`;

const SERVICES = `
  SELECT name, proxy_path AS proxyPath, scopes, essential, tenant FROM service WHERE name IN (
    SELECT name FROM service WHERE essential = 1
    UNION SELECT name FROM service WHERE tenant = coalesce(?2, (SELECT tenant FROM client WHERE id = ?1))
    UNION SELECT package_service.service FROM subscription
      JOIN package_service ON package_service.package = subscription.package
      WHERE subscription.tenant = coalesce(?2, (SELECT tenant FROM client WHERE id = ?1)))`;

export type DirectoryStore = ReturnType<typeof createDirectoryStore>;

export const createDirectoryStore = (db: D1Database) => ({
  /** The client and the tenant, or the client's own tenant if `tenant` is undefined. */
  async clientAndTenant(clientId: string, tenant: string | undefined, nowMs: number): Promise<ClientAndTenant> {
    const tenantId = tenant ?? null;
    const [times, clients, tenants, services] = await db.batch([
      db.prepare(AS_OF),
      db.prepare(CLIENT).bind(clientId, nowMs),
      db.prepare(TENANT).bind(clientId, tenantId),
      db.prepare(SERVICES).bind(clientId, tenantId),
    ]);
    const [time] = (times?.results ?? []) as { asOfMs: number }[];
    const [client] = (clients?.results ?? []) as Columns<ClientRow>[];
    const [found] = (tenants?.results ?? []) as Columns<TenantRow>[];
    return {
      asOfMs: time?.asOfMs ?? 0,
      client: client && {
        ...client,
        displayName: client.displayName ?? "",
        logoUri: client.logoUri ?? "",
        brand: readBrand(client.brand ?? "{}"),
        confidential: client.confidential === 1,
        asksTwoFactors: client.asksTwoFactors === 1,
        authMethod: client.authMethod ?? "",
        jwks: client.jwks ?? "",
        jwksUri: client.jwksUri ?? "",
        filesPerUser: client.filesPerUser === 1,
        thirdParty: client.thirdParty === 1,
        unregistered: undefined,
        requirePushed: client.requirePushed === 1 || client.isFapi === 1,
        bindsTokens: client.bindsTokens === 1 || client.isFapi === 1,
        service: client.service ?? undefined,
        redirectUris: toList(client.redirectUris),
        postLogoutRedirectUris: toList(client.postLogoutRedirectUris),
        isFapi: client.isFapi === 1,
        isToldOfLogout: client.isToldOfLogout === 1,
        requirePkce: client.requirePkce === 1 || client.isFapi === 1,
        grantTypes: toList(client.grantTypes),
        scopes: toList(client.scopes),
        disabled: client.disabled === 1,
        secretDigests: toList(client.secretDigests),
        sealedSecrets: JSON.parse(client.sealedSecrets ?? "[]") as SealedSecret[],
      },
      tenant: found && {
        ...found,
        disabled: found.disabled === 1,
        asksTwoFactors: found.asksTwoFactors === 1,
        plan: planOf(found.plan),
        brand: readBrand(found.brand ?? "{}"),
        packages: toList(found.packages),
        subscribed: toList(found.subscribed),
        services: ((services?.results ?? []) as Columns<ServiceRecord>[]).map((service) => ({
          ...service,
          scopes: toList(service.scopes),
          essential: service.essential === 1,
        })),
      },
    };
  },
});

/** A row as D1 returns it: lists are JSON, booleans are numbers. */
type Columns<T> = {
  [K in keyof T]: T[K] extends boolean | undefined
    ? number | null
    : T[K] extends string
      ? string
      : T[K] extends string | undefined
        ? string | null
        : string;
};

const toList = (json: string): readonly string[] => JSON.parse(json) as string[];
