import type { Column } from "../../src/http/callers/rights.ts";
import { Browser, landed } from "../support/browser.ts";
import { call, expectJson } from "../support/platform/call.ts";
import { ALL_SCOPES, makeClient } from "../support/platform/clients.ts";
import { put, putService } from "../support/platform/operator.ts";
import { makeTenant } from "../support/platform/tenants.ts";
import { basic, tokenFor } from "../support/platform/tokens.ts";
import { unique } from "../support/platform/unique.ts";
import { makeApp, signInThrough, type TestApp } from "../support/sign-in.ts";
import { makeUser, type TestUser } from "../support/users.ts";

/** A token of a kind, and its column in the table. */
export interface HeldToken {
  readonly how: string;
  readonly column: Column;
  readonly token: string;
}

/** A client with a person of its tenant, and all other callers that might request its resources. */
export interface World {
  readonly app: TestApp;
  readonly user: TestUser;
  /** The client's own token. */
  readonly own: string;
  readonly tokens: readonly HeldToken[];
}

export const GRANTS = ["client_credentials", "authorization_code", "refresh_token", "implicit", "password"];

export async function makeWorld(): Promise<World> {
  const app = await makeApp({ grantTypes: GRANTS });
  const { tenant } = app;
  const user = await makeUser({ tenant, scopes: ALL_SCOPES });
  const role = unique("role");
  await put(`roles/${role}`, { scopes: ALL_SCOPES });
  await put(`organizations/${tenant}-org/members/${user.email}`, { roles: [role] });
  const spa = await makeApp({ tenant, confidential: false, grantTypes: ["authorization_code", "implicit"] });
  const own = await tokenFor(app);
  const byId = { client_id: app.clientId };
  const secret = { authorization: basic(app) };
  const passwordOf = (form: Record<string, string>, headers?: Record<string, string>) =>
    byPassword(user, form, headers);
  const nowhere = { scope: "plat.no_tenant" };
  const organization = { scope: `plat.org=${tenant}-org` };
  const held: readonly (readonly [how: string, Column, Promise<string>])[] = [
    ["client_credentials", "client", tokenFor(app, `plat.tenant=${tenant}`)],
    ["password, with the secret", "person", passwordOf({}, secret)],
    ["code flow, with the secret", "person", byCode(app, user)],
    ["password, client_id alone", "personUnproven", passwordOf(byId)],
    ["implicit flow", "personUnproven", byImplicit(app, user)],
    ["code flow at a public client", "personUnproven", byCode(spa, user)],
    ["implicit flow at a public client", "personUnproven", byImplicit(spa, user)],
    ["no tenant, client_id alone", "noTenant", passwordOf({ ...byId, ...nowhere })],
    ["no tenant, with the secret", "noTenant", passwordOf(nowhere, secret)],
    ["no tenant, code flow at a public client", "noTenant", byCode(spa, user, nowhere)],
    ["organization, client_id alone", "organization", passwordOf({ ...byId, ...organization })],
    ["organization, with the secret", "organization", passwordOf(organization, secret)],
    ["password without a client", "clientless", passwordOf({ scope: `plat.tenant=${tenant}` })],
    ["another client of the tenant", "sameTenant", makeClient({ tenant }).then((client) => tokenFor(client))],
    ["a client of another tenant", "otherTenant", makeClient().then((client) => tokenFor(client))],
    ["a service's client that the tenant subscribes to", "servesTenant", byService([tenant])],
    ["a service's client that the tenant does not subscribe to", "otherTenant", byService([])],
  ];
  const tokens: HeldToken[] = [];
  for (const [how, column, token] of held) tokens.push({ how, column, token: await token });
  return { app, user, own, tokens };
}

const PASSWORD = { grant_type: "password", plat_id_provider: "legacy_idp" };

const tokenOf = async (form: Record<string, string>, headers: Record<string, string> = {}): Promise<string> =>
  (await expectJson(await call("/oauth2/v1/token", { form, headers }), 200)).access_token;

const VERIFIER = "v".repeat(43);

/** Gives consent for the person. */
export async function byCode(app: TestApp, user: TestUser, more: Record<string, string> = {}): Promise<string> {
  const challenge = { code_challenge: VERIFIER, code_challenge_method: "plain" };
  const browser = new Browser();
  const page = await signInThrough(browser, app, user, { ...challenge, ...more });
  const sent = page.status === 200 ? await browser.submit(page, { decision: "allow" }) : page;
  const form = {
    grant_type: "authorization_code",
    code: landed(sent).query.get("code") ?? "",
    redirect_uri: app.redirectUri,
    code_verifier: VERIFIER,
  };
  return app.clientSecret === ""
    ? tokenOf({ ...form, client_id: app.clientId })
    : tokenOf(form, { authorization: basic(app) });
}

export async function byImplicit(app: TestApp, user: TestUser, more: Record<string, string> = {}): Promise<string> {
  const sent = await signInThrough(new Browser(), app, user, { response_type: "token", ...more });
  return landed(sent).fragment.get("access_token") ?? "";
}

export const byPassword = (user: TestUser, form: Record<string, string>, headers?: Record<string, string>) =>
  tokenOf({ ...PASSWORD, username: user.email, password: user.password, ...form }, headers);

const byService = async (subscribers: readonly string[]): Promise<string> =>
  tokenFor(await makeServiceClient(subscribers));

/** The client of a service with its own tenant and these subscribers. */
export async function makeServiceClient(subscribers: readonly string[]): Promise<TestApp> {
  const tenant = await makeTenant();
  const service = unique("svc");
  await putService(service, { tenant });
  await put(`packages/${service}pack`, { version: "1", organization: `${tenant}-org`, services: [service] });
  for (const subscriber of subscribers) await put(`tenants/${subscriber}/subscriptions/${service}pack`, {});
  return makeApp({ tenant, service, grantTypes: GRANTS });
}
