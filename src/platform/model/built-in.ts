import type { Names } from "./names.ts";

/**
 * The platform's own records, read-only: services, the package with the two that need a subscription, and the operator
 * client with its tenant and organization. They have no rows in D1, since their names carry the deployment's prefix and
 * no operator may change them.
 */
export interface BuiltIn {
  readonly services: readonly ServiceRecord[];
  readonly package: { readonly id: string; readonly version: string; readonly services: readonly string[] };
  readonly operatorClientId: string;
  /** Parent of the operator client; its id is the platform's own prefix. */
  readonly tenant: string;
  /** Scope of the operator client. */
  readonly adminScope: string;
  /** Scopes of people, in a token for an organization: read or change the whole platform, or run its own tenants. */
  readonly operatorScopes: readonly string[];
}

/** The fields of a service, built in or registered, that decide about scopes. */
export interface ServiceRecord {
  readonly name: string;
  readonly proxyPath: string;
  /** Scopes of the service; a scope that ends in `*` covers every ending. */
  readonly scopes: readonly string[];
  /** Usable without a subscription. */
  readonly essential: boolean;
  /** The tenant that owns it. */
  readonly tenant: string;
}

const OPERATOR_SCOPES = ["admin_read", "admin_write", "admin_tenant"] as const;

export function createBuiltIn(names: Names): BuiltIn {
  const tenant = names.platform;
  const service = (name: string, version: string, essential: boolean, scopes: readonly string[]): ServiceRecord => ({
    name,
    proxyPath: `/${name}/${version}`,
    essential,
    tenant,
    scopes: scopes.map(names.scope),
  });
  return {
    services: [
      service("oauth2", "v1", true, []),
      service("events", "v1", true, ["pubsub.topic=*", "pubsub.own_tenant_topic=*"]),
      service("admin", "v1", true, ["admin", ...OPERATOR_SCOPES]),
      service("pubsub", "v1", false, ["pubsub_publish"]),
      service("media", "v2", false, ["media_view", "media_manage", "media_admin"]),
    ],
    package: { id: "platform", version: "1", services: ["pubsub", "media"] },
    operatorClientId: names.client("operator"),
    tenant,
    adminScope: names.scope("admin"),
    operatorScopes: OPERATOR_SCOPES.map(names.scope),
  };
}
