import { env } from "cloudflare:workers";
import { systemRandom, randomId, randomSecret } from "../../src/platform/runtime/random.ts";
import { sha256Hex } from "../../src/platform/secrets/hash.ts";
import { isOwn, testObjects } from "./shards.ts";
import { shardsOf } from "../../src/platform/storage/shards.ts";
import { createPlacementStore } from "../../src/shards/placement-store.ts";
import { createSizeStore } from "../../src/shards/size-store.ts";
import { createTenantObjectStore } from "../../src/shards/tenant-object-store.ts";
import { createTenantCopies } from "../../src/shards/tenant-copies.ts";
import { heardLog } from "./runtime/heard-log.ts";
import { noteSecret } from "./secrets.ts";

/**
 * Writes the records that most tests need as rows. A tenant with a client would need five requests of an operator,
 * which take ten times as long. `test/admin/seed.test.ts` compares these rows with the rows that the requests leave.
 */
export interface SeedClient {
  readonly tenant: string;
  readonly grantTypes: readonly string[];
  readonly scopes: readonly string[];
  readonly service?: string | undefined;
  readonly confidential?: boolean;
  readonly redirectUris?: readonly string[];
  readonly postLogoutRedirectUris?: readonly string[];
  readonly displayName?: string;
  readonly requirePkce?: boolean;
  readonly requirePushedAuthorizationRequests?: boolean;
  readonly dpopBoundAccessTokens?: boolean;
  readonly thirdParty?: boolean;
}

/** The fields that need no rules. Other fields have rules that only the operator service has. */
const FIELDS: Readonly<Record<keyof SeedClient, true>> = {
  tenant: true,
  grantTypes: true,
  scopes: true,
  service: true,
  confidential: true,
  redirectUris: true,
  postLogoutRedirectUris: true,
  displayName: true,
  requirePkce: true,
  requirePushedAuthorizationRequests: true,
  dpopBoundAccessTokens: true,
  thirdParty: true,
};

export const isSeedClient = (registration: object): registration is SeedClient =>
  Object.entries(registration).every(([field, value]) => field in FIELDS || value === undefined);

/** Makes a tenant with its own organization, subscribed to the built-in package by default. */
export async function seedTenant(tenant: string, subscribed = true): Promise<void> {
  const shards = shardsOf(env);
  const numbers = shards.map(({ number }) => number);
  const objectStore = createTenantObjectStore(env.DB);
  const now = Date.now();
  await env.DB.batch([
    insert("organization", { id: `${tenant}-org`, name: `Organization of ${tenant}`, created_at: now }),
    ...(isOwn ? objectStore.placeStatements(tenant, undefined) : []),
    ...(shards.length === 1 ? [] : createSizeStore(env.DB).placeStatements(tenant, numbers, now)),
    insert("tenant", {
      id: tenant,
      organization: `${tenant}-org`,
      name: `Tenant ${tenant}`,
      created_at: now,
      second_factor: 0,
    }),
    ...(subscribed
      ? [insert("subscription", { tenant, package: "platform", id: randomId(systemRandom), created_at: now })]
      : []),
  ]);
  const store = createPlacementStore(env.DB);
  await createTenantCopies({ shards, objects: testObjects, store, log: heardLog }).copy(tenant);
}

/** Makes a client and returns its secret. A public client has none. */
export async function seedClient(id: string, client: SeedClient): Promise<string | undefined> {
  const { tenant, confidential = true } = client;
  const secret = confidential ? randomSecret(systemRandom) : undefined;
  const now = Date.now();
  const statements = [
    insert("client", {
      id,
      name: id,
      tenant,
      confidential: Number(confidential),
      service: client.service ?? null,
      redirect_uris: JSON.stringify(client.redirectUris ?? []),
      post_logout_redirect_uris: JSON.stringify(client.postLogoutRedirectUris ?? []),
      grant_types: JSON.stringify(client.grantTypes),
      scopes: JSON.stringify(client.scopes),
      require_pkce: Number(client.requirePkce ?? false),
      created_at: now,
      display_name: client.displayName ?? "",
      require_pushed: Number(client.requirePushedAuthorizationRequests ?? false),
      binds_tokens: Number(client.dpopBoundAccessTokens ?? false),
      third_party: Number(client.thirdParty ?? false),
      second_factor: 0,
    }),
  ];
  if (secret !== undefined) {
    noteSecret("clientSecret", secret);
    statements.push(insert("client_secret", { client: id, digest: await sha256Hex(secret), created_at: now }));
  }
  await env.DB.batch(statements);
  return secret;
}

/** Makes a person, who was created a second ago. `passwordHash` is null for a person without a password. */
export async function seedUser(email: string, passwordHash: string | null = null): Promise<void> {
  const madeAt = Date.now() - 1_000;
  const row = { email, name: "Ada", password_hash: passwordHash, created_at: madeAt, signed_out_at: madeAt - 1 };
  await insert("user", row).run();
}

/** Makes the person a member of the tenant, with a role that has only these scopes. */
export async function seedMember(
  email: string,
  tenant: string,
  role: string,
  scopes: readonly string[],
): Promise<void> {
  const now = Date.now();
  await env.DB.batch([
    insert("role", { name: role, scopes: JSON.stringify(scopes), created_at: now, second_factor: 0 }),
    insert("tenant_member", { tenant, email, created_at: now }),
    insert("tenant_member_role", { tenant, email, role }),
  ]);
}

const insert = (table: string, row: Readonly<Record<string, string | number | null>>): D1PreparedStatement =>
  env.DB.prepare(
    `INSERT INTO ${table} (${Object.keys(row).join(", ")}) VALUES (${Object.keys(row)
      .map(() => "?")
      .join(", ")})`,
  ).bind(...Object.values(row));
