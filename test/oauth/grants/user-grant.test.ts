import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createBuiltIn } from "../../../src/platform/model/built-in.ts";
import { createNames } from "../../../src/platform/model/names.ts";
import { systemRandom } from "../../../src/platform/runtime/random.ts";
import { createDirectoryStore } from "../../../src/oauth/clients/directory-store.ts";
import { createDirectory } from "../../../src/oauth/clients/directory.ts";
import { grantForUser } from "../../../src/oauth/grants/user-grant.ts";
import { UNBOUND } from "../../../src/oauth/model/binding.ts";
import { BY_PASSWORD } from "../../../src/oauth/model/methods.ts";
import { parseScopes } from "../../../src/oauth/model/granted-scopes.ts";
import { createUserStore } from "../../../src/oauth/users/user-store.ts";
import { call, expectJson } from "../../support/platform/call.ts";
import { put } from "../../support/platform/operator.ts";
import { makeTenant } from "../../support/platform/tenants.ts";
import { unique } from "../../support/platform/unique.ts";
import { makeUser } from "../../support/users.ts";
import { ownIsolate } from "../../support/runtime/own-isolate.ts";
import { runs } from "../../support/model-runs.ts";

/**
 * The scopes in a user flow, over random small platforms in a real database, compared with the rules as plain set
 * logic.
 */
const names = createNames("plat");
const builtIn = createBuiltIn(names);

const TENANTS = ["acme", "bolt", "cove"] as const;
const ORGANIZATION_OF = { acme: "north", bolt: "north", cove: "south" } as const;
const ORGANIZATIONS = ["north", "south"] as const;
const SERVICES = ["alpha", "beta", "gamma"] as const;
const PACKAGES = ["basic", "extra"] as const;
const SCOPES = SERVICES.flatMap((service) => [`${service}.read`, `${service}.write`]);
const ROLES = { reader: ["alpha.read", "beta.read", "gamma.read"], writer: ["alpha.*"], none: [] } as const;

type Tenant = (typeof TENANTS)[number];
type Organization = (typeof ORGANIZATIONS)[number];
type Role = keyof typeof ROLES;

const some = <T>(values: readonly T[]) => fc.subarray([...values]);
const roles = some(Object.keys(ROLES) as Role[]);
const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });

const world = fc.record({
  services: fc.record(
    Object.fromEntries(
      SERVICES.map((name) => [name, fc.record({ essential: fc.boolean(), tenant: fc.constantFrom(...TENANTS) })]),
    ) as Record<string, fc.Arbitrary<{ essential: boolean; tenant: Tenant }>>,
  ),
  packages: fc.record({ basic: some(SERVICES), extra: some(SERVICES) }),
  subscriptions: fc.record({ acme: some(PACKAGES), bolt: some(PACKAGES), cove: some(PACKAGES) }),
  disabled: some(TENANTS),
  members: fc.record({ acme: optional(roles), bolt: optional(roles), cove: optional(roles) }),
  organizationMembers: fc.record({ north: optional(roles), south: optional(roles) }),
  client: fc.record({
    tenant: fc.constantFrom(...TENANTS),
    service: optional(fc.constantFrom(...SERVICES)),
    scopes: some([...SCOPES, "alpha.*"]),
  }),
  withClient: fc.boolean(),
  place: fc.constantFrom("", ...TENANTS.map((id) => `plat.tenant=${id}`), "plat.org=north", "plat.no_tenant"),
  named: some(SCOPES),
  defaultTenant: fc.constantFrom("of-client", "only"),
});
type World = typeof world extends fc.Arbitrary<infer T> ? T : never;

const matches = (pattern: string, scope: string): boolean =>
  pattern === scope || (pattern.endsWith("*") && scope.startsWith(pattern.slice(0, -1)));
const hold = (held: readonly Role[] | undefined, scope: string): boolean =>
  (held ?? []).some((role) => ROLES[role].some((pattern) => matches(pattern, scope)));

/** The rules: the tenant or organization of the token, or a refusal, and its scopes. */
function model(w: World): { refused: "scope" | "no-tenant" | "choose" } | { place: string; scopes: string[] } {
  const includes = (tenant: Tenant, service: string): boolean =>
    w.subscriptions[tenant].some((one) => (w.packages[one] as readonly string[]).includes(service));
  const clientReaches = (tenant: Tenant): boolean =>
    !w.withClient ||
    w.client.tenant === tenant ||
    (w.client.service !== undefined && includes(tenant, w.client.service));
  const memberOf = (tenant: Tenant): boolean => w.members[tenant] !== undefined && !w.disabled.includes(tenant);

  let place = w.place;
  if (place === "") {
    const candidates = TENANTS.filter((tenant) => memberOf(tenant) && clientReaches(tenant));
    if (w.withClient && w.defaultTenant === "of-client") {
      if (!memberOf(w.client.tenant)) return { refused: "no-tenant" };
      place = `plat.tenant=${w.client.tenant}`;
    } else if (candidates.length === 0) return { refused: "no-tenant" };
    else if (candidates.length > 1) return { refused: "choose" };
    else place = `plat.tenant=${candidates[0]}`;
  }
  const [kind, id = ""] = place.split("=");
  if (kind === "plat.tenant" && !(memberOf(id as Tenant) && clientReaches(id as Tenant))) return { refused: "scope" };
  if (kind === "plat.org" && w.organizationMembers[id as Organization] === undefined) return { refused: "scope" };

  const usable = (service: string): boolean => {
    const { essential, tenant } = w.services[service]!;
    if (kind === "plat.no_tenant") return false;
    if (kind === "plat.org") return essential || ORGANIZATION_OF[tenant] === id;
    return essential || tenant === id || includes(id as Tenant, service);
  };
  const held = kind === "plat.tenant" ? w.members[id as Tenant] : w.organizationMembers[id as Organization];
  const grantable = SCOPES.filter(
    (scope) =>
      (!w.withClient || w.client.scopes.some((listed) => matches(listed, scope))) &&
      usable(scope.split(".")[0]!) &&
      kind !== "plat.no_tenant" &&
      hold(held, scope),
  );
  if (w.named.some((scope) => !grantable.includes(scope))) return { refused: "scope" };
  return { place, scopes: w.named.length > 0 ? w.named : grantable };
}

async function build(w: World): Promise<void> {
  const sql = (text: string, ...values: unknown[]) => env.DB.prepare(text).bind(...values);
  const emptied = ["tenant_member_role", "tenant_member", "organization_member_role", "organization_member", "user",
    "subscription", "package_service", "package", "client_secret", "client", "service", "tenant", "organization", "role",
  ].map((table) => sql(`DELETE FROM ${table}`)); // prettier-ignore
  await env.DB.batch([
    ...emptied,
    ...ORGANIZATIONS.map((id) => sql("INSERT INTO organization VALUES (?, ?, 0)", id, id)),
    ...TENANTS.map((id) =>
      sql(
        "INSERT INTO tenant (id, organization, name, disabled, created_at) VALUES (?, ?, ?, ?, 0)",
        id,
        ORGANIZATION_OF[id],
        id,
        Number(w.disabled.includes(id)),
      ),
    ),
    ...Object.entries(ROLES).map(([name, scopes]) =>
      sql("INSERT INTO role (name, scopes, created_at) VALUES (?, ?, 0)", name, JSON.stringify(scopes)),
    ),
    sql("INSERT INTO user (email, name, created_at) VALUES ('ada@example.com', 'Ada', 0)"),
    ...SERVICES.map((name) => {
      const { essential, tenant } = w.services[name]!;
      const scopes = JSON.stringify([`${name}.read`, `${name}.write`]);
      return sql(
        `INSERT INTO service (name, source_url, proxy_path, scopes, essential, tenant, access, created_at)
         VALUES (?, 'https://x.example', ?, ?, ?, ?, 'token', 0)`,
        name,
        `/${name}`,
        scopes,
        Number(essential),
        tenant,
      );
    }),
    ...PACKAGES.flatMap((id) => [
      sql("INSERT INTO package VALUES (?, '1', 'north', 0)", id),
      ...w.packages[id].map((service) => sql("INSERT INTO package_service VALUES (?, ?)", id, service)),
    ]),
    ...TENANTS.flatMap((tenant) =>
      w.subscriptions[tenant].map((id) =>
        sql("INSERT INTO subscription VALUES (?, ?, ?, 0)", tenant, id, `${tenant}-${id}`),
      ),
    ),
    ...memberships("tenant", w.members),
    ...memberships("organization", w.organizationMembers),
    sql(
      `INSERT INTO client (id, name, tenant, confidential, service, redirect_uris, post_logout_redirect_uris, grant_types,
         scopes, require_pkce, created_at) VALUES ('the.client', 'the.client', ?, 1, ?, '[]', '[]', '[]', ?, 0, 0)`,
      w.client.tenant,
      w.client.service ?? null,
      JSON.stringify(w.client.scopes),
    ),
  ]);
}

const memberships = (kind: "tenant" | "organization", members: Record<string, readonly Role[] | undefined>) =>
  Object.entries(members).flatMap(([id, held]) =>
    held === undefined
      ? []
      : [
          env.DB.prepare(`INSERT INTO ${kind}_member VALUES (?, 'ada@example.com', 0)`).bind(id),
          ...held.map((role) =>
            env.DB.prepare(`INSERT INTO ${kind}_member_role VALUES (?, 'ada@example.com', ?)`).bind(id, role),
          ),
        ],
  );

describe("grantForUser", () => {
  // shows: oauth/what-the-service-does/scopes-by-role
  // shows: oauth/who-gets-which-scope/plat.tenant-of-a-user
  // shows: oauth/who-gets-which-scope/a-service-scope
  it("grants the scopes that the rules grant, on any small platform", { timeout: 60_000 }, async () => {
    const users = createUserStore(env.DB, "email", systemRandom);
    const seen = new Set<string>();
    await fc.assert(
      fc.asyncProperty(world, async (w) => {
        await build(w);
        const directory = createDirectory({
          store: createDirectoryStore(env.DB),
          builtIn,
          operatorDigests: async () => [],
          isolate: ownIsolate,
        });
        const asked = parseScopes([w.place, ...w.named].join(" "), names);
        const user = await users.find("ada@example.com");
        if (!asked.ok || user === undefined) throw new Error("the request parses and the user exists");
        const client = w.withClient ? (await directory.find("the.client", undefined, { nowMs: 1 })).client : undefined;
        // A client of a disabled tenant is refused before a grant is asked for.
        if (w.withClient && client === undefined) {
          expect(w.disabled).toContain(w.client.tenant);
          return;
        }
        const outcome = await grantForUser(
          { names, builtIn, directory },
          {
            client,
            clientAuthenticated: false,
            binding: UNBOUND,
            user,
            scopes: asked.value,
            defaultTenant: w.defaultTenant,
            methods: BY_PASSWORD,
            asksTwoFactors: false,
            hasPages: true,
          },
          1,
        );
        const expected = model(w);
        if ("refused" in expected) {
          seen.add(expected.refused);
          expect(outcome).toMatchObject({ ok: false, error: { kind: expected.refused } });
          return;
        }
        seen.add("granted");
        if (!outcome.ok) throw new Error(`refused: ${JSON.stringify(outcome.error)}`);
        const [place, ...granted] = outcome.value.scopes;
        expect(place).toBe(expected.place);
        // If no scope is named, a pattern may stand for several scopes.
        const probes = SCOPES.filter((scope) => granted.some((one) => matches(one, scope)));
        expect(new Set(probes)).toEqual(new Set(expected.scopes));
      }),
      { numRuns: runs(25) },
    );
    expect([...seen].sort()).toEqual(["choose", "granted", "no-tenant", "scope"]);
  });
});

/** Examples: consuming belongs to an essential service, publishing to one that needs a package. */
describe("The platform's own services, for a user whose role holds them all", () => {
  const SIGN_IN = { grant_type: "password", plat_id_provider: "legacy_idp" };
  const CONSUME = "plat.pubsub.topic=*";
  const PUBLISH = "plat.pubsub_publish";

  // shows: events/what-the-service-does/publishing-needs-a-package
  // shows: oauth/who-gets-which-scope/plat.org
  // shows: oauth/who-gets-which-scope/plat.pubsub.topic-plat.pubsub_publish
  it("need no package to consume and one to publish; organizations have none, and outside tenants there is nothing", async () => {
    const tenant = await makeTenant({ subscribed: false });
    const user = await makeUser({ tenant, scopes: [CONSUME, PUBLISH] });
    const role = unique("role");
    await put(`roles/${role}`, { scopes: [CONSUME, PUBLISH] });
    await put(`organizations/${tenant}-org/members/${user.email}`, { roles: [role] });
    const form = { ...SIGN_IN, username: user.email, password: user.password };
    const granted = async (place: string): Promise<string[]> => {
      const { scope } = await expectJson(await call("/oauth2/v1/token", { form: { ...form, scope: place } }), 200);
      return (scope as string).split(" ").slice(1);
    };
    const refused = async (scope: string): Promise<string> =>
      (await expectJson(await call("/oauth2/v1/token", { form: { ...form, scope } }), 400)).error;
    expect(await granted(`plat.tenant=${tenant}`)).toEqual([CONSUME]);
    expect(await granted(`plat.org=${tenant}-org`)).toEqual([CONSUME]);
    expect(await granted(`plat.org=${tenant}-org plat.pubsub.topic=shop.orders`)).toEqual([
      "plat.pubsub.topic=shop.orders",
    ]);
    expect(await refused(`plat.org=${tenant}-org ${PUBLISH}`)).toBe("invalid_scope");
    expect(await granted("plat.no_tenant")).toEqual([]);
    await put(`tenants/${tenant}/subscriptions/platform`, {});
    expect(await granted(`plat.tenant=${tenant}`)).toEqual([CONSUME, PUBLISH]);
    expect(await granted(`plat.org=${tenant}-org`)).toEqual([CONSUME]);
  });
});
