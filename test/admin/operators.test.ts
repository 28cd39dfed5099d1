import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { holds, ownsTopicsOf } from "../../src/admin/resources/shared/within-organization.ts";
import { call, expectJson } from "../support/platform/call.ts";
import { operate, put } from "../support/platform/operator.ts";
import { makeTenant } from "../support/platform/tenants.ts";
import { unique } from "../support/platform/unique.ts";
import { makePerson, OPERATOR_SCOPES, redeem, signIn, tokenOf, type Person } from "../support/parties/operators.ts";
import { makeUser } from "../support/users.ts";

const admin = (path: string, token: string, json?: unknown): Promise<Response> =>
  call(`/admin/v1/${path}`, json === undefined ? { token } : { token, method: "PUT", json });

/** The subjects that the person has read, by the audit log. */
async function readBy({ user }: Person): Promise<readonly string[]> {
  const rows = await operate(`audit?action=list&actor=${encodeURIComponent(`operator ${user.email}`)}`);
  return (await expectJson<{ subject: string }[]>(rows, 200)).map(({ subject }) => subject);
}

describe("a person with the role plat.admin_read", () => {
  let person: Person;
  let token: string;
  beforeAll(async () => {
    person = await makePerson(["plat.admin_read"]);
    token = (await signIn(person, `plat.org=${person.organization}`)).access_token;
  });

  it("sees the whole platform", async () => {
    const other = await makeTenant();
    expect(await expectJson(await admin(`tenants/${other}`, token), 200)).toMatchObject({ id: other });
    expect((await admin("audit?limit=1", token)).status).toBe(200);
  });

  it("leaves a row in the audit log for what there was to read", async () => {
    const absent = [`topics/${unique("none")}.app/x/events`, `push-subscriptions/${unique("none")}/deliveries/e1`];
    for (const path of absent) expect([path, (await admin(path, token)).status]).toEqual([path, 404]);
    expect((await admin("clients?cursor=x", token)).status).toBe(400);
    expect((await admin("users?pageSize=1", token)).status).toBe(200);
    expect(await readBy(person)).toEqual(["users"]);
  });

  it("changes nothing, and the refusal names the scope for people", async () => {
    const id = unique("org");
    const refused = await expectJson(await admin(`organizations/${id}`, token, { name: "x" }), 403);
    expect(refused.message).toBe("The access token lacks the scope plat.admin_write.");
    expect((await admin(`organizations/${id}`, token)).status).toBe(404);
  });

  it("is refused once the role loses the scope", async () => {
    expect((await admin("roles", token)).status).toBe(200);
    await put(`roles/${person.role}`, { scopes: [] });
    expect((await admin("roles", token)).status).toBe(401);
  });
});

describe("a person with the role plat.admin_write", () => {
  it("runs the whole platform, and the audit names the person", async () => {
    const person = await makePerson(["plat.admin_write"]);
    const issued = await signIn(person, `plat.org=${person.organization} plat.admin_write`);
    const id = unique("org");
    const made = await admin(`organizations/${id}`, issued.access_token, { name: "North" });
    expect(made.status).toBe(201);
    const rows = await expectJson(await admin(`audit?subject=organizations/${id}`, issued.access_token), 200);
    expect(rows).toMatchObject([{ actor: `operator ${person.user.email}`, action: "put" }]);
  });

  it("keeps the scope by a refresh", async () => {
    const person = await makePerson(["plat.admin_write"]);
    const issued = await signIn(person, `plat.org=${person.organization}`);
    const again = await redeem(person.app, { grant_type: "refresh_token", refresh_token: issued.refresh_token });
    expect(again.scope).toContain("plat.admin_write");
    expect((await admin("roles", again.access_token)).status).toBe(200);
  });
});

describe("the scopes of operators are never granted", () => {
  const operator = (scope: string): boolean => OPERATOR_SCOPES.some((one) => scope.split(" ").includes(one));

  it.each([["plat.*"], ["plat.admin_*"], ["*"]])("by the pattern %s of a role or of a client", async (pattern) => {
    const byRole = await makePerson([pattern]);
    expect(operator((await signIn(byRole, `plat.org=${byRole.organization}`)).scope)).toBe(false);
    const byClient = await makePerson(OPERATOR_SCOPES, [pattern]);
    expect(operator((await signIn(byClient, `plat.org=${byClient.organization}`)).scope)).toBe(false);
    const named = await signIn(byClient, `plat.org=${byClient.organization} plat.admin_write`);
    expect(named.error).toBe("invalid_scope");
  });

  it("in a token for a tenant, or outside any tenant", async () => {
    const person = await makePerson(OPERATOR_SCOPES);
    for (const place of [`plat.tenant=${person.tenant}`, "plat.no_tenant", "openid"]) {
      expect(operator((await signIn(person, place)).scope)).toBe(false);
      expect((await signIn(person, `${place} plat.admin_write`)).error).toBe("invalid_scope");
    }
  });

  it("to a client that acts for itself", async () => {
    const person = await makePerson(OPERATOR_SCOPES, OPERATOR_SCOPES, true);
    expect(operator((await redeem(person.app, { grant_type: "client_credentials" })).scope)).toBe(false);
    const named = await redeem(person.app, { grant_type: "client_credentials", scope: "plat.admin_read" });
    expect(named.error).toBe("invalid_scope");
  });

  it.each([true, false])("by a password without a page, confidential client %s", async (confidential) => {
    const person = await makePerson(OPERATOR_SCOPES, OPERATOR_SCOPES, confidential);
    const { email: username, password } = person.user;
    const form = { grant_type: "password", plat_id_provider: "legacy_idp", username, password };
    const all = await redeem(person.app, { ...form, scope: `plat.org=${person.organization}` });
    expect(all.scope).toBe(`plat.org=${person.organization}`);
    const named = await redeem(person.app, { ...form, scope: `plat.org=${person.organization} plat.admin_write` });
    expect(named.error).toBe("invalid_scope");
  });
});

describe("a person with the role plat.admin_tenant", () => {
  const GIVES = ["plat.admin_tenant", "plat.media_view"];
  let boss: Person;
  let other: Person;
  let token: string;
  /** A role with a scope that the person has, and a role with a scope that the person lacks. */
  const roles = { lesser: unique("role"), greater: unique("role") };
  beforeAll(async () => {
    [boss, other] = [await makePerson(GIVES), await makePerson(GIVES)];
    await put(`roles/${roles.lesser}`, { scopes: ["plat.media_view"] });
    await put(`roles/${roles.greater}`, { scopes: ["plat.media_manage"] });
    token = await tokenOf(boss);
  });

  const ask = async (method: string, path: string, json?: unknown): Promise<number> => {
    const answer = await call(`/admin/v1/${path}`, { method, token, ...(json === undefined ? {} : { json }) });
    await answer.text();
    return answer.status;
  };
  const idsIn = async (path: string, key: string): Promise<readonly string[]> =>
    (await expectJson<Record<string, string>[]>(await admin(path, token), 200)).map((one) => one[key] ?? "");
  const client = (tenant: string, more: object = {}) => ({
    tenant,
    confidential: true,
    grantTypes: ["client_credentials"],
    scopes: ["plat.media_view"],
    ...more,
  });

  it("leaves no row that says that it has read what it was refused", async () => {
    expect([await ask("GET", "users"), await ask("GET", `tenants/${other.tenant}/files`)]).toEqual([403, 404]);
    expect(await ask("GET", "clients")).toBe(200);
    expect(await readBy(boss)).toEqual(["clients"]);
  });

  it("sees the organization and its tenants, and no others", async () => {
    expect(await idsIn("organizations", "id")).toEqual([boss.organization]);
    expect(await idsIn("tenants", "id")).toEqual([boss.tenant]);
    expect(await idsIn("clients", "clientId")).toEqual([boss.app.clientId]);
    expect(await idsIn(`tenants/${boss.tenant}/members`, "email")).toEqual([boss.user.email]);
    for (const [own, foreign] of [
      [`tenants/${boss.tenant}`, `tenants/${other.tenant}`],
      [`tenants/${boss.tenant}/usage`, `tenants/${other.tenant}/usage`],
      [`tenants/${boss.tenant}/members`, `tenants/${other.tenant}/members`],
      [`tenants/${boss.tenant}/subscriptions`, `tenants/${other.tenant}/subscriptions`],
      [`organizations/${boss.organization}`, `organizations/${other.organization}`],
      [`organizations/${boss.organization}/members`, `organizations/${other.organization}/members`],
      [`clients/${boss.app.clientId}`, `clients/${other.app.clientId}`],
    ])
      expect([own, await ask("GET", own!), foreign, await ask("GET", foreign!)]).toEqual([own, 200, foreign, 404]);
  });

  it("gets the same answer for what others have and for what does not exist", async () => {
    for (const [method, path, json] of [
      ["GET", "clients/ID"],
      ["DELETE", "clients/ID"],
      ["POST", "clients/ID/secret"],
      ["POST", "clients/ID/revoke"],
      ["PUT", "clients/ID", client(boss.tenant)],
    ] as const) {
      const answer = async (id: string) => {
        const asked = await call(`/admin/v1/${path.replace("ID", id)}`, { method, token, ...(json && { json }) });
        return [asked.status, (await asked.text()).replaceAll(id, "ID").replace(/"id":"[^"]*"/, "")];
      };
      expect(await answer(other.app.clientId)).toEqual(await answer(`${other.tenant}.nothing`));
    }
    expect(await expectJson(await admin(`clients/${other.app.clientId}`, await tokenOf(other)), 200)).toMatchObject({
      tenant: other.tenant,
    });
  });

  it("reaches nothing else of the operator service", async () => {
    for (const [path, id] of [
      ["users", boss.user.email],
      ["roles", boss.role],
      ["services", "media"],
      ["packages", "platform"],
    ] as const)
      expect([path, await ask("GET", path), await ask("GET", `${path}/${id}`)]).toEqual([path, 403, 404]);
    expect(await ask("GET", "identity-providers")).toBe(403);
    for (const path of ["audit", "metrics", "explain", "signing-keys", "seal-keys", "push-subscriptions"])
      expect([path, await ask("GET", path)]).toEqual([path, 403]);
    expect(await ask("PUT", `users/${boss.user.email}`, { password: "a new password of theirs" })).toBe(403);
    expect(await ask("PUT", `roles/${boss.role}`, { scopes: ["plat.admin_write"] })).toBe(403);
    expect(await ask("PUT", `tenants/${boss.tenant}`, { organization: boss.organization, name: "x" })).toBe(403);
    expect(await ask("DELETE", `tenants/${boss.tenant}`)).toBe(403);
    expect(await ask("POST", `users/${boss.user.email}/revoke`)).toBe(404);
    expect(await ask("POST", `users/${boss.user.email}/unlock`)).toBe(403);
  });

  it("makes, changes, rotates and removes clients of its tenants", async () => {
    const id = `${boss.tenant}.${unique("web")}`;
    expect(await ask("PUT", `clients/${id}`, client(boss.tenant))).toBe(201);
    expect(await ask("PUT", `clients/${id}`, client(boss.tenant, { disabled: true }))).toBe(200);
    expect(await ask("POST", `clients/${id}/secret`)).toBe(201);
    expect(await ask("POST", `clients/${id}/revoke`)).toBe(204);
    expect(await ask("DELETE", `clients/${id}`)).toBe(204);
  });

  it("takes no client, name, service or scope of others", async () => {
    const id = `${boss.tenant}.${unique("web")}`;
    const service = unique("svc-");
    const registered = { sourceUrl: `https://${service}.example.com`, proxyPath: `/${service}/v1`, scopes: [] };
    await put(`services/${service}`, { ...registered, tenant: other.tenant, access: "token" });
    for (const [path, body] of [
      [other.app.clientId, client(boss.tenant)],
      [other.app.clientId, client(other.tenant)],
      [`${other.tenant}.new`, client(boss.tenant)],
      ["shop", client(boss.tenant, { name: `${boss.tenant}.shop` })],
      [id, client(boss.tenant, { name: `${other.tenant}.shop` })],
      [id, client(other.tenant)],
      [id, client("plat")],
      [id, client(boss.tenant, { service })],
      [id, client(boss.tenant, { scopes: ["plat.admin_write"] })],
      ...[
        "*",
        "plat.*",
        "plat.pubsub.t*",
        "plat.pubsub.topic=*",
        `plat.pubsub.topic=${other.tenant}*`,
        `plat.pubsub.topic=${other.tenant}.shop.orders`,
        `plat.pubsub.topic=${boss.tenant}`,
      ].map((scope) => [id, client(boss.tenant, { scopes: ["plat.media_view", scope] })] as const),
    ] as const)
      expect([path, body, await ask("PUT", `clients/${path}`, body)]).toEqual([path, body, 403]);
    expect(await ask("GET", `clients/${id}`)).toBe(404);
  });

  it("registers clients that read its own topics, and serve its own service with no other rights", async () => {
    const id = `${boss.tenant}.${unique("web")}`;
    const service = unique("svc-");
    const registered = { sourceUrl: `https://${service}.example.com`, proxyPath: `/${service}/v1`, access: "token" };
    await put(`services/${service}`, { ...registered, tenant: boss.tenant, scopes: [`${service}.read`] });
    const own = [`plat.pubsub.topic=${boss.tenant}.shop.*`, `plat.pubsub.topic=${boss.tenant}*`, "plat.pubsub_publish"];
    expect(await ask("PUT", `clients/${id}`, client(boss.tenant, { scopes: own }))).toBe(201);
    expect(await ask("PUT", `clients/${id}`, client(boss.tenant, { scopes: ["other-svc.read"] }))).toBe(200);
    const serving = (scopes: readonly string[]) =>
      ask("PUT", `clients/${id}`, client(boss.tenant, { service, scopes }));
    expect(await serving([...own, `${service}.read`, "plat.media_manage"])).toBe(200);
    for (const scope of ["other-svc.read", "plat.pubsub.own_tenant_topic=*", "plat.media_admin", `${service}.*`, "*"])
      expect([scope, await serving([scope])]).toEqual([scope, 403]);
    expect(await ask("DELETE", `clients/${id}`)).toBe(204);
  });

  it("registers no client that reads the topics of a foreign client, whatever its name", async () => {
    const person = await makePerson(GIVES);
    const own = await tokenOf(person);
    const foreign = `${person.tenant}.${unique("foreign")}`;
    await put(`clients/${foreign}`, client(other.tenant));
    const id = `${person.tenant}.${unique("web")}`;
    const listing = async (pattern: string) => {
      const scopes = [`plat.pubsub.topic=${pattern}`];
      return (await admin(`clients/${id}`, own, client(person.tenant, { scopes }))).status;
    };
    for (const pattern of [
      `${foreign}.orders`,
      `${foreign}.o*`,
      `${foreign}*`,
      `${person.tenant}.*`,
      `${person.tenant}*`,
    ])
      expect([pattern, await listing(pattern)]).toEqual([pattern, 403]);
    for (const pattern of [`${foreign}x.orders`, `${foreign.slice(0, -1)}*`, `${person.tenant}.shop.*`])
      expect([pattern, [200, 201].includes(await listing(pattern))]).toEqual([pattern, true]);
  });

  it("sees no topics of a foreign client, whatever its name", async () => {
    const [own, foreign] = [`${boss.tenant}.${unique("own")}`, `${boss.tenant}.${unique("foreign")}`];
    await put(`clients/${own}`, client(boss.tenant));
    await put(`clients/${foreign}`, client(other.tenant));
    const seen = (owner: string) => holds(env.DB, ownsTopicsOf(owner, boss.organization));
    // A topic outlives its client.
    const removed = `${boss.tenant}.removed`;
    expect(await Promise.all([own, removed, foreign, other.app.clientId].map(seen))).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });

  it("gives members of the organization roles that it has itself, and no others", async () => {
    const colleague = await makeUser({ tenant: boss.tenant, scopes: [] });
    const path = `tenants/${boss.tenant}/members/${colleague.email}`;
    expect(await ask("PUT", path, { roles: [roles.lesser] })).toBe(200);
    for (const refused of [[roles.greater], ["no-such-role"], [roles.lesser, roles.greater]])
      expect([refused, await ask("PUT", path, { roles: refused })]).toEqual([refused, 403]);
    const upper = `organizations/${boss.organization}/members/${colleague.email}`;
    expect(await ask("PUT", upper, { roles: [boss.role] })).toBe(201);
    expect(await ask("DELETE", upper)).toBe(204);
    expect(await ask("DELETE", path)).toBe(204);
  });

  it("changes nobody who may do more", async () => {
    const operator = await makeUser({ tenant: boss.tenant, scopes: ["plat.media_manage"] });
    for (const path of [`tenants/${boss.tenant}/members/${operator.email}`]) {
      expect(await ask("PUT", path, { roles: [] })).toBe(403);
      expect(await ask("DELETE", path)).toBe(403);
    }
  });

  it("learns nothing of people elsewhere, and adds none of them", async () => {
    const answers = await Promise.all(
      [other.user.email, "nobody@nowhere.example"].map(async (email) => {
        const json = { roles: [roles.lesser] };
        const asked = await call(`/admin/v1/tenants/${boss.tenant}/members/${email}`, { method: "PUT", token, json });
        return [asked.status, (await asked.json<{ message: string }>()).message];
      }),
    );
    expect(answers[0]).toEqual(answers[1]);
    expect(answers[0]![0]).toBe(403);
    expect(await ask("PUT", `tenants/${other.tenant}/members/${boss.user.email}`, { roles: [] })).toBe(403);
    expect(await ask("PUT", `organizations/${other.organization}/members/${boss.user.email}`, { roles: [] })).toBe(403);
  });

  it("subscribes its tenants to packages of the organization alone", async () => {
    const [own, foreign] = [unique("pkg"), unique("pkg")];
    await put(`packages/${own}`, { version: "1", organization: boss.organization, services: [] });
    await put(`packages/${foreign}`, { version: "1", organization: other.organization, services: [] });
    expect(await ask("PUT", `tenants/${boss.tenant}/subscriptions/${own}`, {})).toBe(201);
    expect(await ask("DELETE", `tenants/${boss.tenant}/subscriptions/${own}`)).toBe(204);
    expect(await ask("PUT", `tenants/${boss.tenant}/subscriptions/${foreign}`, {})).toBe(403);
    expect(await ask("DELETE", `tenants/${boss.tenant}/subscriptions/platform`)).toBe(403);
    expect(await ask("PUT", `tenants/${other.tenant}/subscriptions/${own}`, {})).toBe(403);
  });
});
