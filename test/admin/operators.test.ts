import { beforeAll, describe, expect, it } from "vitest";
import { Browser, landed } from "../support/browser.ts";
import { basic, call, expectJson, makeTenant, put, unique } from "../support/platform.ts";
import { makeApp, signInThrough, type TestApp } from "../support/sign-in.ts";
import { makeUser, type TestUser } from "../support/users.ts";

const VERIFIER = "v".repeat(43);
const OPERATOR_SCOPES = ["plat.admin_read", "plat.admin_write", "plat.admin_tenant"];
const GRANTS = ["authorization_code", "refresh_token", "client_credentials", "password"];

/** A person with a role in an organization, and an application of that organization. */
interface Person {
  readonly tenant: string;
  readonly organization: string;
  readonly user: TestUser;
  readonly role: string;
  readonly app: TestApp;
}

async function makePerson(
  roleScopes: readonly string[],
  listed: readonly string[] = OPERATOR_SCOPES,
  confidential = false,
): Promise<Person> {
  const tenant = await makeTenant();
  const organization = `${tenant}-org`;
  const user = await makeUser({ tenant, scopes: roleScopes });
  const role = unique("role");
  await put(`roles/${role}`, { scopes: roleScopes });
  await put(`organizations/${organization}/members/${user.email}`, { roles: [role] });
  const app = await makeApp({ tenant, confidential, scopes: listed, grantTypes: GRANTS });
  return { tenant, organization, user, role, app };
}

/** Signs in by the code flow; the answer of the token endpoint. */
async function signIn({ app, user }: Person, scope: string): Promise<any> {
  const challenge = { code_challenge: VERIFIER, code_challenge_method: "plain" };
  const sent = landed(await signInThrough(new Browser(), app, user, { ...challenge, scope })).query;
  if (!sent.has("code")) return { error: sent.get("error"), scope: "" };
  const form = {
    grant_type: "authorization_code",
    code: sent.get("code") ?? "",
    redirect_uri: app.redirectUri,
    code_verifier: VERIFIER,
  };
  return redeem(app, form);
}

const redeem = async (app: TestApp, form: Record<string, string>): Promise<any> =>
  app.clientSecret === ""
    ? (await call("/oauth2/v1/token", { form: { ...form, client_id: app.clientId } })).json()
    : (await call("/oauth2/v1/token", { form, headers: { authorization: basic(app) } })).json();

const admin = (path: string, token: string, json?: unknown): Promise<Response> =>
  call(`/admin/v1/${path}`, json === undefined ? { token } : { token, method: "PUT", json });

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
