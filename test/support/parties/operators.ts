import { Browser, landed } from "../browser.ts";
import { call } from "../platform/call.ts";
import { put } from "../platform/operator.ts";
import { makeTenant } from "../platform/tenants.ts";
import { basic } from "../platform/tokens.ts";
import { unique } from "../platform/unique.ts";
import { makeApp, signInThrough, type TestApp } from "../sign-in.ts";
import { makeUser, type TestUser } from "../users.ts";

const VERIFIER = "v".repeat(43);
export const OPERATOR_SCOPES = ["plat.admin_read", "plat.admin_write", "plat.admin_tenant"];
const GRANTS = ["authorization_code", "refresh_token", "client_credentials", "password"];

/** A person with a role in an organization, and an application of that organization. */
export interface Person {
  readonly tenant: string;
  readonly organization: string;
  readonly user: TestUser;
  readonly role: string;
  readonly app: TestApp;
}

export async function makePerson(
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

/** Signs in by the code flow and returns the answer of the token endpoint. */
export async function signIn({ app, user }: Person, scope: string): Promise<any> {
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

export const tokenOf = async (person: Person): Promise<string> =>
  (await signIn(person, `plat.org=${person.organization}`)).access_token;

export const redeem = async (app: TestApp, form: Record<string, string>): Promise<any> =>
  app.clientSecret === ""
    ? (await call("/oauth2/v1/token", { form: { ...form, client_id: app.clientId } })).json()
    : (await call("/oauth2/v1/token", { form, headers: { authorization: basic(app) } })).json();
