import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { sha256Hex } from "../../src/platform/secrets/hash.ts";
import { isolate } from "../support/isolate.ts";
import { call, expectJson } from "../support/platform/call.ts";
import { makeClient } from "../support/platform/clients.ts";
import { OPERATOR, put, putService } from "../support/platform/operator.ts";
import { makeTenant } from "../support/platform/tenants.ts";
import { basic, tokenFor } from "../support/platform/tokens.ts";
import { unique } from "../support/platform/unique.ts";
import { cheapHash, join, makeUser } from "../support/users.ts";
import { runs } from "../support/model-runs.ts";

/**
 * The scope explainer. Over random small platforms, it predicts what `/token` and `/authorize` do. If they refuse, its
 * reason begins with their reason in the audit log. Further tests check its sentences one by one.
 */
type Parameters = Record<string, string | undefined>;
const ask = async (parameters: Parameters): Promise<Response> => {
  const given = Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return call(`/admin/v1/explain?${new URLSearchParams(given).toString()}`, { token: await tokenFor(OPERATOR) });
};
const explain = async (parameters: Parameters): Promise<any> => expectJson(await ask(parameters), 200);

const TENANTS = ["acme", "bolt", "cove"] as const;
const SERVICES = ["alpha", "beta"] as const;
const PACKAGES = ["basic", "extra"] as const;
const SCOPES = [...SERVICES.flatMap((service) => [`${service}.read`, `${service}.write`]), "plat.media_view"];
const ROLES = { reader: ["alpha.read", "beta.read", "plat.media_view"], writer: ["alpha.*"], none: [] } as const;
const GRANT_TYPES = ["client_credentials", "authorization_code", "implicit", "password"] as const;
const CLIENT = { clientId: "the.client", clientSecret: "a secret of the client for random platforms" };
const USER = { email: "ada@example.com", password: "a password for random platforms" };

const some = <T>(values: readonly T[]) => fc.subarray([...values]);
/** True once in `times` cases. */
const rarely = (times: number) => fc.integer({ min: 1, max: times }).map((n) => n === 1);
const roles = fc.option(some(Object.keys(ROLES)), { nil: undefined });
const world = fc.record({
  essential: fc.record({ alpha: rarely(4), beta: rarely(4) }),
  owner: fc.record({ alpha: fc.constantFrom(...TENANTS), beta: fc.constantFrom(...TENANTS) }),
  packages: fc.record({ basic: some(SERVICES), extra: some(SERVICES) }),
  subscriptions: fc.record({
    acme: some([...PACKAGES, "platform"]),
    bolt: some([...PACKAGES, "platform"]),
    cove: some([...PACKAGES, "platform"]),
  }),
  disabled: fc.record({
    tenants: fc.constantFrom<readonly string[]>([], [], [], ["acme"], ["bolt"]),
    client: rarely(12),
    user: rarely(12),
  }),
  members: fc.record({ acme: roles, bolt: roles, cove: roles }),
  organization: roles,
  client: fc.record({
    tenant: fc.constantFrom(...TENANTS),
    service: fc.option(fc.constantFrom(...SERVICES), { nil: undefined }),
    scopes: some([...SCOPES, "alpha.*"]),
    withoutGrant: rarely(8),
  }),
  how: fc.constantFrom(...GRANT_TYPES, "password alone"),
  place: fc.constantFrom(
    "",
    "",
    "plat.tenant=acme",
    "plat.tenant=bolt",
    "plat.tenant=nosuch",
    "plat.org=north",
    "plat.no_tenant",
  ),
  placeAsParameter: fc.boolean(),
  named: fc.oneof(fc.constant([]), fc.subarray([...SCOPES, "openid"], { maxLength: 2 })),
});
type World = typeof world extends fc.Arbitrary<infer T> ? T : never;

const sql = (text: string, ...values: unknown[]) => env.DB.prepare(text).bind(...values);
const TABLES = `tenant_member_role tenant_member organization_member_role organization_member session user
  subscription package_service package client_secret client service tenant organization role`.split(/\s+/);
const empty = (): Promise<unknown> => env.DB.batch(TABLES.map((table) => sql(`DELETE FROM ${table}`)));
/** A value with the form of the platform's cookies: 32 bytes in base64url. */
const COOKIE = "s".repeat(42) + "A";

async function build(w: World): Promise<void> {
  await empty();
  const nowMs = Date.now();
  const grantTypes = w.client.withoutGrant ? [] : GRANT_TYPES;
  const held = (kind: string, id: string, names: readonly string[] | undefined) =>
    names === undefined
      ? []
      : [
          sql(`INSERT INTO ${kind}_member VALUES (?, ?, 0)`, id, USER.email),
          ...names.map((role) => sql(`INSERT INTO ${kind}_member_role VALUES (?, ?, ?)`, id, USER.email, role)),
        ];
  await env.DB.batch([
    sql("INSERT INTO organization VALUES ('north', 'north', 0)"),
    ...TENANTS.map((id) =>
      sql(
        "INSERT INTO tenant (id, organization, name, disabled, created_at) VALUES (?, 'north', ?, ?, 0)",
        id,
        id,
        Number(w.disabled.tenants.includes(id)),
      ),
    ),
    ...Object.entries(ROLES).map(([name, list]) =>
      sql("INSERT INTO role (name, scopes, created_at) VALUES (?, ?, 0)", name, JSON.stringify(list)),
    ),
    sql(
      "INSERT INTO user (email, name, password_hash, disabled, created_at) VALUES (?, 'Ada', ?, ?, 0)",
      USER.email,
      cheapHash(USER.password),
      Number(w.disabled.user),
    ),
    sql(
      `INSERT INTO session (id_hash, email, sid, provider, authenticated_at, expires_at)
       VALUES (?, ?, 'sid', 'default_idp', ?, ?)`,
      await sha256Hex(COOKIE),
      USER.email,
      nowMs,
      nowMs + 3_600_000,
    ),
    ...SERVICES.map((name) =>
      sql(
        `INSERT INTO service (name, source_url, proxy_path, scopes, essential, tenant, access, created_at)
         VALUES (?, 'https://x.example', ?, ?, ?, ?, 'token', 0)`,
        name,
        `/${name}`,
        JSON.stringify([`${name}.read`, `${name}.write`]),
        Number(w.essential[name]),
        w.owner[name],
      ),
    ),
    ...PACKAGES.flatMap((id) => [
      sql("INSERT INTO package VALUES (?, '1', 'north', 0)", id),
      ...w.packages[id].map((service) => sql("INSERT INTO package_service VALUES (?, ?)", id, service)),
    ]),
    ...TENANTS.flatMap((tenant) =>
      w.subscriptions[tenant].map((id) => sql("INSERT INTO subscription VALUES (?, ?, ?, 0)", tenant, id, tenant + id)),
    ),
    ...TENANTS.flatMap((tenant) => held("tenant", tenant, w.members[tenant])),
    ...held("organization", "north", w.organization),
    sql(
      `INSERT INTO client (id, name, tenant, confidential, service, redirect_uris, post_logout_redirect_uris, grant_types,
         scopes, require_pkce, disabled, created_at) VALUES (?, ?1, ?, 1, ?, '["https://app.example/cb"]', '[]', ?, ?, 0, ?, 0)`,
      CLIENT.clientId,
      w.client.tenant,
      w.client.service ?? null,
      JSON.stringify(grantTypes),
      JSON.stringify(w.client.scopes),
      Number(w.disabled.client),
    ),
    sql(
      "INSERT INTO client_secret (client, digest, created_at) VALUES (?, ?, 0)",
      CLIENT.clientId,
      await sha256Hex(CLIENT.clientSecret),
    ),
  ]);
}

type Answer = { scopes: string[] } | { error: string; requestId: string };

/** Returns the answer of a new isolate, which has no cached copies. */
async function really(w: World): Promise<Answer> {
  const scope = [w.place, ...w.named].join(" ").trim();
  const { fetch } = isolate();
  const post = async (form: Record<string, string>, withClient: boolean): Promise<Answer> => {
    const body = new URLSearchParams({ ...form, ...(scope === "" || "code" in form ? {} : { scope }) });
    const headers: HeadersInit = withClient ? { authorization: basic(CLIENT) } : {};
    const response = await fetch("/oauth2/v1/token", { method: "POST", body, headers });
    const answer = await response.json<any>();
    const requestId = response.headers.get("plat-request-id") ?? "";
    return response.status === 200 ? { scopes: answer.scope.split(" ") } : { error: answer.error, requestId };
  };
  const { email: username, password } = USER;
  const byPassword = { grant_type: "password", plat_id_provider: "legacy_idp", username, password };
  switch (w.how) {
    case "client_credentials":
      return post({ grant_type: "client_credentials" }, true);
    case "password":
      return post(byPassword, true);
    case "password alone":
      return post(byPassword, false);
    case "authorization_code":
    case "implicit": {
      const type = w.how === "implicit" ? "token" : "code";
      const query = new URLSearchParams({ client_id: CLIENT.clientId, response_type: type, prompt: "none", scope });
      const response = await fetch(`/oauth2/v1/authorize?${query.toString()}`, {
        headers: { cookie: `__Host-plat_session=${COOKIE}` },
      });
      const requestId = response.headers.get("plat-request-id") ?? "";
      if (response.status !== 302) return { error: "a page", requestId };
      const target = new URL(response.headers.get("location") ?? "");
      const told = new URLSearchParams(target.hash.slice(1));
      const code = target.searchParams.get("code");
      if (code !== null) return post({ grant_type: "authorization_code", code }, true);
      const error = told.get("error");
      // The explainer assumes the person's consent.
      if (error === "consent_required") return (await allowAll(w)) ? really(w) : { error, requestId };
      return error === null ? { scopes: (told.get("scope") ?? "").split(" ") } : { error, requestId };
    }
  }
}

/** Does the steps of a person at the page. False: the step was done before. */
async function allowAll({ client, place }: World): Promise<boolean> {
  const org = place.startsWith("plat.org=") ? place.slice("plat.org=".length) : "";
  const values = [USER.email, CLIENT.clientId, org, client.tenant];
  const { meta } = await sql(`INSERT OR IGNORE INTO consent VALUES (?, ?, ?, ?, '["*"]', 1)`, ...values).run();
  return meta.changes > 0;
}

const ofWorld = (w: World): Parameters => {
  const asTenant = w.placeAsParameter && w.place.startsWith("plat.tenant=");
  const scope = [...(asTenant ? [] : [w.place]), ...w.named].join(" ").trim();
  return {
    client: w.how === "password alone" ? undefined : CLIENT.clientId,
    user: w.how === "client_credentials" ? undefined : USER.email,
    tenant: asTenant ? w.place.split("=")[1] : undefined,
    scope: scope === "" ? undefined : scope,
    grant: w.how === "password alone" ? "password" : w.how,
  };
};

describe("the explainer on any small platform", () => {
  afterAll(empty);

  // shows: operator/beyond-the-resources/explain
  it("agrees with the token endpoints and gives the same reason", { timeout: 120_000 }, async () => {
    const seen = new Set<string>();
    await fc.assert(
      fc.asyncProperty(world, async (w) => {
        await build(w);
        const [said, done] = [await explain(ofWorld(w)), await really(w)];
        expect([said.granted, done]).toEqual(["scopes" in done, done]);
        expect(said.checks.every((check: any) => check.passed)).toBe(said.granted);
        const named = (w.named as string[]).filter((scope) => scope !== "openid");
        expect(said.scopes.map((entry: any) => entry.scope)).toEqual(named);
        if ("scopes" in done) {
          seen.add(`${w.how}: granted`);
          expect(said.effective.toSorted()).toEqual(done.scopes.toSorted());
          expect(said.scopes.every((entry: any) => entry.granted)).toBe(true);
          return;
        }
        seen.add(`${w.how}: ${done.error}`);
        expect(said.effective).toEqual([]);
        if (named.length > 0) expect(said.scopes.some((entry: any) => !entry.granted)).toBe(true);
        const row = await sql("SELECT reason FROM audit_entry WHERE request_id = ?", done.requestId).first<{
          reason: string;
        }>();
        const failed: { check: string; detail: string }[] = said.checks.filter((check: any) => !check.passed);
        expect(said.reason).toBe(failed[0]?.detail);
        // A missing user is reported last, at a page. Several tenants have their own text.
        if (done.error === "invalid_scope" && failed[0]?.check !== "user" && !row!.reason.startsWith("one of"))
          expect(failed.map(({ detail }) => detail.slice(0, row!.reason.length))).toContain(row!.reason);
      }),
      { numRuns: runs(50) },
    );
    for (const how of [...GRANT_TYPES, "password alone"]) {
      expect(seen).toContain(`${how}: granted`);
      expect(seen).toContain(`${how}: invalid_scope`);
    }
    expect([...seen].filter((what) => /invalid_client|unauthorized_client|a page/.test(what))).not.toEqual([]);
  });
});

describe("the explainer", () => {
  // shows: operator/beyond-the-resources/explain
  it("names the packages that include a missing service, and the way to get a scope", async () => {
    const [tenant, other] = [await makeTenant({ subscribed: false }), await makeTenant({ subscribed: false })];
    const [service, pkg] = [unique("svc"), unique("pkg")];
    const scopes = [`${service}.read`];
    await putService(service, { scopes: [`${service}.*`], tenant });
    const { clientId } = await makeClient({ tenant, service, scopes: [...scopes, "plat.media_view"] });
    const lacking = await explain({ client: clientId, tenant: other });
    expect(lacking).toMatchObject({ granted: false, effective: [], scopes: [] });
    expect(lacking.reason).toBe(
      `tenant ${other} has no package that includes service ${service}; no package includes it`,
    );
    await put(`packages/${pkg}`, { version: "1", organization: `${tenant}-org`, services: [service] });
    expect((await explain({ client: clientId, tenant: other })).reason).toBe(
      `tenant ${other} has no package that includes service ${service}; packages that include it: ${pkg}`,
    );
    await put(`tenants/${other}/subscriptions/${pkg}`, {});
    const now = await explain({
      client: clientId,
      tenant: other,
      scope: `${service}.read plat.media_view nosuch.scope`,
    });
    expect(now.scopes).toEqual([
      { scope: `${service}.read`, granted: true, reason: `${service}.read is granted` },
      {
        scope: "plat.media_view",
        granted: false,
        reason: `tenant ${other} may use no service that has plat.media_view; service media of tenant plat has it, packages that include it: platform`,
      },
      { scope: "nosuch.scope", granted: false, reason: `client ${clientId} does not list nosuch.scope` },
    ]);
    expect(now).toMatchObject({ granted: false, reason: now.scopes[1].reason });
    const own = await explain({ client: clientId });
    expect(own).toMatchObject({ granted: true, effective: [`plat.tenant=${tenant}`, `${service}.read`] });
    expect(own.checks.map(({ check }: any) => check)).toEqual(["client", "grant", "place"]);
    const unheard = await explain({ client: clientId, scope: "nosuch.scope" });
    expect(unheard.checks.at(-1)).toEqual({
      check: "tenant_uses_service",
      scope: "nosuch.scope",
      passed: false,
      detail: `tenant ${tenant} may use no service that has nosuch.scope; no service has it`,
    });
  });

  it("explains users by memberships, roles, tenants to choose from, and ways to sign in", async () => {
    const tenant = await makeTenant();
    const [user, role] = [await makeUser({ tenant, scopes: ["plat.media_view"] }), unique("role")];
    await put(`roles/${role}`, { scopes: ["plat.media_*"] });
    const clientId = `${tenant}.${unique("app")}`;
    const settings = { tenant, confidential: false, grantTypes: ["implicit"], scopes: ["plat.media_*"] };
    await put(`clients/${clientId}`, settings);
    const query = { client: clientId, user: user.email };
    expect(await explain({ ...query, scope: "plat.media_view openid" })).toMatchObject({
      granted: true,
      effective: [`plat.tenant=${tenant}`, "openid", "plat.media_view"],
    });
    const lacks = await explain({ ...query, user: user.email.toUpperCase(), scope: "plat.media_manage" });
    expect(lacks.reason).toMatch(`no role of ${user.email} there holds plat.media_manage; roles that hold it: `);
    expect((await explain({ ...query, grant: "password" })).reason).toBe(
      `client ${clientId} is not registered for password; it is for: implicit`,
    );
    expect((await explain({ client: clientId })).reason).toMatch(/not registered for client_credentials/);
    await put(`clients/${clientId}`, { ...settings, grantTypes: ["client_credentials"] });
    expect((await explain({ client: clientId })).reason).toMatch(/has no secret, and client_credentials needs one/);
    expect((await explain(query)).reason).toMatch(/not registered for authorization_code, implicit, password/);
    await put(`clients/${clientId}`, settings);
    const lines = async (scope: string): Promise<string> => (await explain({ user: user.email, scope })).reason;
    expect(await lines("plat.no_tenant plat.media_view")).toBe(
      "a token outside any tenant may use no service that has plat.media_view; services are used in a tenant or an organization",
    );
    expect(await lines(`plat.org=${tenant}-org`)).toBe(
      `${user.email} is no member of organization ${tenant}-org; a member of: none`,
    );
    await put(`organizations/${tenant}-org/members/${user.email}`, { roles: [role] });
    expect(await lines(`plat.org=${tenant}-org plat.media_view`)).toBe(
      `organization ${tenant}-org may use no service that has plat.media_view; service media of tenant plat has it`,
    );
    const other = await makeTenant();
    const stranger = await explain({ ...query, tenant: other });
    expect(stranger.checks.filter(({ passed }: any) => !passed)).toEqual([
      {
        check: "client_tenant",
        passed: false,
        detail: `client ${clientId} belongs to tenant ${tenant} and to no service`,
      },
      {
        check: "place",
        passed: false,
        detail: `${user.email} is no member of tenant ${other}; a member of: ${tenant}`,
      },
    ]);
    await join(user.email, other);
    expect((await explain({ user: user.email })).reason).toBe(
      `${user.email} belongs to several tenants that could be meant: name one of ${[tenant, other].toSorted().join(", ")}`,
    );
    expect(await explain({ user: user.email, tenant: other })).toMatchObject({ granted: true });
  });

  it("says for each scope that a grant without pages cannot ask for the second factor that a tenant requires", async () => {
    const tenant = await makeTenant();
    const { email } = await makeUser({ tenant, scopes: ["plat.media_view"] });
    const settings = { organization: `${tenant}-org`, name: "Strict" };
    await put(`tenants/${tenant}`, { ...settings, requireSecondFactor: true });
    const said = await explain({ user: email, scope: "plat.media_view nosuch.scope" });
    const reason = `tenant ${tenant} needs two factors, which this grant cannot ask for`;
    expect(said).toMatchObject({ granted: false, reason, effective: [] });
    expect(said.scopes).toEqual([
      { scope: "plat.media_view", granted: false, reason },
      { scope: "nosuch.scope", granted: false, reason },
    ]);
    const failed = said.checks.filter(({ passed }: any) => !passed);
    expect(failed.map(({ check, scope }: any) => [check, scope])).toEqual([
      ["place", undefined],
      ["tenant_uses_service", "nosuch.scope"],
      ["role_holds_scope", "nosuch.scope"],
    ]);
    await put(`tenants/${tenant}`, { ...settings, requireSecondFactor: false });
    expect((await explain({ user: email, scope: "plat.media_view" })).granted).toBe(true);
  });

  it("answers about unknown and disabled records, and reads them each time", async () => {
    const tenant = await makeTenant();
    const client = await makeClient({ tenant, scopes: ["plat.media_view"] });
    const other = isolate();
    const headers = { authorization: `Bearer ${await tokenFor(OPERATOR)}` };
    const elsewhere = async (query: string): Promise<any> =>
      (await other.fetch(`/admin/v1/explain?${query}`, { headers })).json();
    expect(await elsewhere(`client=${client.clientId}`)).toMatchObject({ granted: true });
    await other.token(client);
    const settings = { tenant, confidential: true, grantTypes: ["client_credentials"], scopes: ["plat.media_view"] };
    await put(`clients/${client.clientId}`, { ...settings, disabled: true });
    expect((await elsewhere(`client=${client.clientId}`)).reason).toBe(`client ${client.clientId} is disabled`);
    await put(`clients/${client.clientId}`, { ...settings, disabled: false });
    expect((await explain({ client: client.clientId, tenant: "nosuch" })).reason).toBe("tenant nosuch is unknown");
    const user = await makeUser({ tenant });
    expect((await explain({ user: user.email, tenant: "nosuch" })).reason).toMatch(/; there is no tenant nosuch$/);
    await put(`tenants/${tenant}`, { organization: `${tenant}-org`, name: "x", disabled: true });
    expect((await explain({ client: client.clientId })).reason).toBe(
      `tenant ${tenant} of client ${client.clientId} is disabled`,
    );
    expect((await explain({ user: user.email, tenant })).reason).toMatch(`; tenant ${tenant} is disabled`);
    await put(`users/${user.email}`, { disabled: true });
    expect((await explain({ user: user.email })).reason).toBe(`user ${user.email} is disabled`);
    for (const [query, reason] of [
      [{ client: "no.body" }, "client no.body is unknown"],
      [{ user: "nobody@example.org" }, "user nobody@example.org is unknown"],
      [{ client: client.clientId, tenant: "abc", scope: "plat.tenant=xyz" }, "two tenants in one request"],
      [{ client: "plat.operator", scope: "plat.media_view" }, /^client plat.operator does not list plat.media_view/],
    ] as const) {
      const said = await explain(query);
      expect([said.granted, said.reason]).toEqual([
        false,
        typeof reason === "string" ? reason : expect.stringMatching(reason),
      ]);
      expect(said.checks.at(-1)).toMatchObject({ passed: false });
    }
    expect(await explain({ client: "plat.operator" })).toMatchObject({
      granted: true,
      effective: ["plat.tenant=plat", "plat.admin"],
    });
    const admin = await explain({ client: client.clientId, scope: "plat.admin" });
    expect(admin.reason).toBe(`tenant ${tenant} of client ${client.clientId} is disabled`);
  });

  it.each([
    [{}, "missing_query_parameter", "client"],
    [{ scope: "a.b" }, "missing_query_parameter", "client"],
    [{ client: "" }, "invalid_query_parameter", "client"],
    [{ client: "a b" }, "invalid_query_parameter", "client"],
    [{ client: "x.app", tenant: "UPPER" }, "invalid_query_parameter", "tenant"],
    [{ client: "x.app", tenant: "" }, "invalid_query_parameter", "tenant"],
    [{ client: "x.app", user: "nobody" }, "invalid_query_parameter", "user"],
    [{ client: "x.app", scope: " " }, "invalid_query_parameter", "scope"],
    [{ client: "x.app", scope: "a,b" }, "invalid_query_parameter", "scope"],
    [{ client: "x.app", scope: "a.b ".repeat(101) }, "invalid_query_parameter", "scope"],
    [{ client: "x.app", grant: "magic" }, "invalid_query_parameter", "grant"],
    [{ client: "x.app", grant: "implicit" }, "missing_query_parameter", "user"],
    [{ user: "a@b.example", grant: "implicit" }, "missing_query_parameter", "client"],
    [{ client: "x.app", user: "a@b.example", grant: "client_credentials" }, "invalid_query_parameter", "grant"],
  ] as [Parameters, string, string][])("400 for %j", async (query, type, field) => {
    expect(await expectJson(await ask(query), 400)).toMatchObject({
      type: "validation_violation",
      details: [{ type, field, message: expect.stringContaining(field) }],
    });
  });

  it("refuses a parameter that is given twice", async () => {
    const token = await tokenFor(OPERATOR);
    const response = await call("/admin/v1/explain?client=a.b&client=c.d", { token });
    expect(await expectJson(response, 400)).toMatchObject({ details: [{ field: "client" }] });
  });
});
