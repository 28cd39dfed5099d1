import { beforeAll, describe, expect, it } from "vitest";
import { call, expectJson } from "../support/platform/call.ts";
import { makeClient } from "../support/platform/clients.ts";
import { operate, put } from "../support/platform/operator.ts";
import { makeTenant } from "../support/platform/tenants.ts";
import { basic } from "../support/platform/tokens.ts";
import { unique } from "../support/platform/unique.ts";
import { makeUser } from "../support/users.ts";
import { isLiving } from "../oauth/support/answers.ts";

/** No reference to an unknown record is stored, and no record with references is removed. */

/** The ids of a record of each kind, each used by another one. */
const ids = {
  tenant: "",
  organization: "",
  email: "",
  role: unique("role"),
  service: unique("svc"),
  package: unique("pkg"),
  client: "",
};
beforeAll(async () => {
  ids.tenant = await makeTenant({ subscribed: false });
  ids.organization = `${ids.tenant}-org`;
  ids.email = (await makeUser({ tenant: ids.tenant })).email;
  await put(`roles/${ids.role}`, { scopes: ["a.b"] });
  await put(`tenants/${ids.tenant}/members/${ids.email}`, { roles: [ids.role] });
  await put(`organizations/${ids.organization}/members/${ids.email}`, { roles: [ids.role] });
  await put(`services/${ids.service}`, service());
  await put(`packages/${ids.package}`, { version: "1", organization: ids.organization, services: [ids.service] });
  await put(`tenants/${ids.tenant}/subscriptions/${ids.package}`, {});
  ids.client = (await makeClient({ tenant: ids.tenant, service: ids.service })).clientId;
});
const service = () => ({
  sourceUrl: "https://s.example",
  proxyPath: `/${ids.service}`,
  scopes: [],
  tenant: ids.tenant,
  access: "token",
});

describe("a DELETE of something in use answers 409, changes nothing, and names each kind of dependent", () => {
  it.each<[string, () => string, () => [field: string, id: string][]]>([
    [
      "an organization",
      () => `organizations/${ids.organization}`,
      () => [
        ["tenant", ids.tenant],
        ["package", ids.package],
      ],
    ],
    [
      "a tenant",
      () => `tenants/${ids.tenant}`,
      () => [
        ["client", ids.client],
        ["service", ids.service],
        ["subscription", ids.package],
      ],
    ],
    [
      "a role",
      () => `roles/${ids.role}`,
      () => [
        ["tenant member", `${ids.tenant}/${ids.email}`],
        ["organization member", `${ids.organization}/${ids.email}`],
      ],
    ],
    [
      "a service",
      () => `services/${ids.service}`,
      () => [
        ["client", ids.client],
        ["package", ids.package],
      ],
    ],
    ["a package", () => `packages/${ids.package}`, () => [["tenant", ids.tenant]]],
  ])("%s", async (_, path, users) => {
    const before = await (await operate(path())).text();
    const refused = await expectJson(await operate(path(), "DELETE"), 409);
    expect(refused).toMatchObject({
      type: "conflict_resource",
      details: users().map(([field, id]) => ({ type: "in_use", field, message: `In use by: ${field} ${id}.` })),
    });
    expect(await (await operate(path())).text()).toBe(before);
  });

  it("names five of a kind, and says that there are more", async () => {
    const organization = unique("org");
    await put(`organizations/${organization}`, { name: "x" });
    const tenants = Array.from({ length: 6 }, () => unique("t")).toSorted();
    const refusal = async () => await expectJson(await operate(`organizations/${organization}`, "DELETE"), 409);
    for (const id of tenants.slice(0, 5)) await put(`tenants/${id}`, { organization, name: "x" });
    const named = (await refusal()).details.map(({ message }: any) => message);
    expect(named).toEqual(tenants.slice(0, 5).map((id) => `In use by: tenant ${id}.`));
    await put(`tenants/${tenants[5]}`, { organization, name: "x" });
    const more = {
      type: "in_use",
      field: "tenant",
      message: expect.stringMatching(/^In use by: more of the kind tenant/),
    };
    expect((await refusal()).details).toMatchObject([{}, {}, {}, {}, {}, more]);
  });
});

describe("the collection of an unknown owner", () => {
  it.each([
    ["tenants/nosuch/members", "tenant"],
    ["tenants/nosuch/subscriptions", "tenant"],
    ["organizations/nosuch/members", "organization"],
  ])("%s answers 404 and names the owner", async (path, noun) => {
    expect((await expectJson(await operate(path), 404)).message).toContain(`no such ${noun}`);
  });
});

describe("a PUT with an unknown reference answers 400 and names the field", () => {
  it.each<[string, () => string, () => object, string[]]>([
    [
      "a tenant's organization",
      () => `tenants/${unique("t")}`,
      () => ({ organization: "nowhere", name: "x" }),
      ["organization"],
    ],
    [
      "a client's tenant and service",
      () => `clients/${ids.tenant}.${unique("app")}`,
      () => ({ tenant: "nowhere", service: "nothing", confidential: false, grantTypes: [], scopes: [] }),
      ["tenant", "service"],
    ],
    [
      "a service's tenant",
      () => `services/${unique("svc")}`,
      () => ({ ...service(), tenant: "nowhere", proxyPath: "/no-1" }),
      ["tenant"],
    ],
    [
      "a package's organization and second service",
      () => `packages/${unique("pkg")}`,
      () => ({ version: "1", organization: "nowhere", services: ["media", "nothing"] }),
      ["organization", "services[1]"],
    ],
    [
      "a tenant member's second role",
      () => `tenants/${ids.tenant}/members/${ids.email}`,
      () => ({ roles: [ids.role, "nothing"] }),
      ["roles[1]"],
    ],
    [
      "an organization member's role",
      () => `organizations/${ids.organization}/members/${ids.email}`,
      () => ({ roles: ["nothing"] }),
      ["roles[0]"],
    ],
  ])("%s", async (_, path, json, fields) => {
    const at = path();
    const before = await (await operate(at)).text();
    const refused = await expectJson(await operate(at, "PUT", json()), 400);
    expect(refused).toMatchObject({ type: "validation_violation" });
    expect(refused.details.map(({ type, field }: any) => [type, field])).toEqual(
      fields.map((field) => ["invalid_field", field]),
    );
    // The row is unchanged or still missing. Only the request id differs.
    expect(await (await operate(at)).text()).toBe(before);
  });

  it("names fields inside other fields too", async () => {
    const json = { organization: ids.organization, name: "x", quota: { files: -1, bytes: "many" } };
    const refused = await expectJson(await operate(`tenants/${ids.tenant}`, "PUT", json), 400);
    expect(refused.details.map(({ field }: any) => field)).toEqual(["quota.files", "quota.bytes"]);
  });
});

describe("removing an organization", () => {
  it("removes memberships and revokes the tokens that members got by them", async () => {
    const organization = unique("org");
    const user = await makeUser();
    await put(`organizations/${organization}`, { name: "x" });
    await put(`organizations/${organization}/members/${user.email}`, { roles: [] });
    const form = {
      grant_type: "password",
      plat_id_provider: "legacy_idp",
      username: user.email,
      password: user.password,
      scope: `plat.org=${organization}`,
    };
    const granted = await expectJson(await call("/oauth2/v1/token", { form }), 200);
    expect(await isLiving(granted.access_token)).toBe(true);
    expect((await operate(`organizations/${organization}`, "DELETE")).status).toBe(204);
    expect(await isLiving(granted.access_token)).toBe(false);
    expect((await call("/oauth2/v1/token", { form })).status).toBe(400);
  });
});

describe("a secret", () => {
  it("is never cached, in any answer that shows it", async () => {
    const clientId = `${ids.tenant}.${unique("app")}`;
    const json = { tenant: ids.tenant, confidential: true, grantTypes: ["client_credentials"], scopes: [] };
    const made = await operate(`clients/${clientId}`, "PUT", json);
    expect([made.status, made.headers.get("cache-control")]).toEqual([201, "no-store"]);
    const { clientSecret } = await made.json<any>();
    const rotated = await operate(`clients/${clientId}/secret`, "POST");
    expect([rotated.status, rotated.headers.get("cache-control")]).toEqual([201, "no-store"]);
    const again = await operate(`clients/${clientId}`, "PUT", json);
    expect([again.status, again.headers.get("cache-control")]).toEqual([200, "no-cache, private"]);
    expect(await again.json()).not.toHaveProperty("clientSecret");
    const form = { grant_type: "client_credentials" };
    for (const secret of [clientSecret, (await rotated.json<any>()).clientSecret])
      expect(
        (
          await call("/oauth2/v1/token", {
            form,
            headers: { authorization: basic({ clientId, clientSecret: secret }) },
          })
        ).status,
      ).toBe(200);
  });

  it("is not made for a public client, and the answer says what to do", async () => {
    const clientId = `${ids.tenant}.${unique("app")}`;
    await put(`clients/${clientId}`, { tenant: ids.tenant, confidential: false, grantTypes: [], scopes: [] });
    const refusals = [
      [`clients/${clientId}/secret`, 409, "not_confidential"],
      ["clients/plat.operator/secret", 409, "built_in"],
    ] as const;
    for (const [path, status, type] of refusals)
      expect(await expectJson(await operate(path, "POST"), status)).toMatchObject({ details: [{ type }] });
    expect((await operate("clients/no.body/secret", "POST")).status).toBe(404);
  });
});

describe("the audit log", () => {
  // shows: operator/conventions/audit-log
  it("has a row for every kind of change, and none for a refused one", async () => {
    const tenant = await makeTenant();
    const { clientId } = await makeClient({ tenant });
    const { email } = await makeUser({ tenant });
    const changes: [method: string, path: string, action: string, subject?: string][] = [
      ["POST", `users/${email}/unlock`, "unlock", `users/${email}`],
      ["POST", `clients/${clientId}/secret`, "rotate secret", `clients/${clientId}`],
      ["POST", `clients/${clientId}/revoke`, "revoke", `clients/${clientId}`],
      ["POST", `users/${email}/revoke`, "revoke", `users/${email}`],
      ["POST", `tenants/${tenant}/revoke`, "revoke", `tenants/${tenant}`],
      ["POST", "sessions/of-the-audit/revoke", "revoke", "sessions/of-the-audit"],
      ["POST", "signing-keys", "rotate keys", "signing-keys"],
      ["DELETE", `tenants/${tenant}/members/${email}`, "delete"],
      ["DELETE", `tenants/${tenant}/subscriptions/platform`, "delete"],
      ["DELETE", `clients/${clientId}`, "delete"],
      ["DELETE", `users/${email}`, "delete"],
      ["DELETE", `tenants/${tenant}`, "delete"],
      ["DELETE", `organizations/${tenant}-org`, "delete"],
    ];
    for (const [method, path, action, subject = path] of changes) {
      const response = await operate(path, method);
      expect([path, response.ok]).toEqual([path, true]);
      const requestId = response.headers.get("plat-request-id");
      const rows = await expectJson<any[]>(await operate(`audit?requestId=${requestId}`), 200);
      expect(rows, path).toMatchObject([{ action, subject, actor: "plat.operator", outcome: "done", requestId }]);
      const repeated = await operate(path, method);
      if (repeated.ok) continue;
      const none = await operate(`audit?requestId=${repeated.headers.get("plat-request-id")}`);
      expect(await expectJson(none, 200), path).toEqual([]);
    }
  });
});

describe("methods", () => {
  it("answer HEAD as GET without a body, and others with 405 that names the allowed ones", async () => {
    for (const [path, allow] of [
      ["roles", "GET, HEAD, OPTIONS"],
      [`tenants/${ids.tenant}`, "DELETE, GET, HEAD, OPTIONS, PUT"],
      ["explain?client=no.body", "GET, HEAD, OPTIONS"],
      [`clients/${ids.client}/revoke`, "OPTIONS, POST"],
    ] as const) {
      const wrong = await operate(path, "PATCH");
      expect([path, wrong.status]).toEqual([path, 405]);
      expect((wrong.headers.get("allow") ?? "").split(", ").toSorted().join(", ")).toBe(allow);
      if (!allow.includes("HEAD")) continue;
      const [head, shown] = [await operate(path, "HEAD"), await operate(path)];
      expect([path, head.status, await head.text()]).toEqual([path, shown.status, ""]);
      expect(head.headers.get("content-type")).toBe("application/json");
    }
  });
});
