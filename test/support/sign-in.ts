import { authorizeAddress, landed, type Browser, type Visit } from "./browser.ts";
import { call, expectJson } from "./platform/call.ts";
import { ALL_SCOPES, register } from "./platform/clients.ts";
import { makeTenant } from "./platform/tenants.ts";
import { basic } from "./platform/tokens.ts";
import { unique } from "./platform/unique.ts";
import type { TestUser } from "./users.ts";

/** A client that sends people to `/authorize`, with its parameters. */
export interface TestApp {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly tenant: string;
  readonly redirectUri: string;
}

export const APP_URI = "https://app.example/callback";

/** Makes a client of a tenant with one redirect URI, confidential by default. */
export async function makeApp(
  options: {
    tenant?: string;
    confidential?: boolean;
    redirectUris?: readonly string[];
    postLogoutRedirectUris?: readonly string[];
    grantTypes?: readonly string[];
    scopes?: readonly string[];
    service?: string;
    displayName?: string;
    logoUri?: string;
    requirePkce?: boolean;
    authMethod?: string;
    jwks?: string;
    requirePushedAuthorizationRequests?: boolean;
    dpopBoundAccessTokens?: boolean;
    securityProfile?: string;
    thirdParty?: boolean;
  } = {},
): Promise<TestApp> {
  const tenant = options.tenant ?? (await makeTenant());
  const clientId = `${tenant}.${unique("app")}`;
  const clientSecret = await register(clientId, {
    confidential: true,
    redirectUris: [APP_URI],
    grantTypes: ["authorization_code", "implicit", "refresh_token"],
    scopes: ALL_SCOPES,
    ...options,
    tenant,
  });
  const redirectUri = options.redirectUris?.[0] ?? APP_URI;
  return { clientId, clientSecret: clientSecret ?? "", tenant, redirectUri };
}

/** Returns the parameters of a careful client: code flow with `state`. `changes` changes them, or removes them. */
export function requestFor(app: TestApp, changes: Record<string, string | undefined> = {}): Record<string, string> {
  const parameters = {
    response_type: "code",
    client_id: app.clientId,
    redirect_uri: app.redirectUri,
    state: "a state",
    ...changes,
  };
  return Object.fromEntries(
    Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}

/** Goes to `/authorize` with these parameters. */
export const visit = (
  browser: Browser,
  app: TestApp,
  changes: Record<string, string | undefined> = {},
): Promise<Visit> => browser.get(authorizeAddress(requestFor(app, changes)));

/** Goes to `/authorize`, signs in at the page, and returns the next answer. */
export async function signInThrough(
  browser: Browser,
  app: TestApp,
  user: TestUser,
  changes: Record<string, string | undefined> = {},
): Promise<Visit> {
  const page = await visit(browser, app, changes);
  if (page.status !== 200)
    throw new Error(`expected the sign-in page, got ${page.status} ${page.location ?? page.html}`);
  return browser.submit(page, { email: user.email, password: user.password });
}

/** Sends `POST /token` as this client. */
export const tokenAt = (app: TestApp, form: Record<string, string>): Promise<Response> =>
  call("/oauth2/v1/token", { form, headers: { authorization: basic(app) } });

/** Redeems the code with which the browser was sent back, and returns the tokens. */
export const redeemed = async (app: TestApp, answer: Visit) =>
  expectJson<{ access_token: string; refresh_token: string; id_token: string }>(
    await tokenAt(app, {
      grant_type: "authorization_code",
      code: landed(answer).query.get("code") ?? "",
      redirect_uri: app.redirectUri,
    }),
    200,
  );

/** Returns the error of an answer, from its fragment and from its query. */
export function errorOf(answer: Visit): { error: string | null; fragment: string | null; query: string | null } {
  const { query, fragment } = landed(answer);
  return { error: fragment.get("error"), fragment: fragment.get("error"), query: query.get("error") };
}
