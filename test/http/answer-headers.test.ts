import { beforeAll, describe, expect, it } from "vitest";
import { Browser, type Visit } from "../support/browser.ts";
import { answerJson } from "../support/outside.ts";
import { call, expectJson, ORIGIN, type CallInit } from "../support/platform/call.ts";
import { ALL_SCOPES, makeClient, type TestClient } from "../support/platform/clients.ts";
import { OPERATOR, put } from "../support/platform/operator.ts";
import { basic, tokenFor } from "../support/platform/tokens.ts";
import { unique } from "../support/platform/unique.ts";
import { closedRoutes, everyRoute, fill, named, platformRoutes } from "../support/route-table.ts";
import { makeApp, visit, type TestApp } from "../support/sign-in.ts";
import { makeUser, type TestUser } from "../support/users.ts";
import type { CookieKind } from "../../src/oauth/sign-in/browser.ts";
import { stylesheetHref } from "../../src/ui/parts/stylesheet.ts";
import type { Route } from "../../src/http/route.ts";

/**
 * Headers of every address, by its kind:
 *
 *   any         request id, nosniff, cross-origin rules; nothing about the software or for the whole host
 *   open        any origin may read it, without credentials: services, protocol endpoints, links, the gateway
 *   closed      no other origin may: /authorize and the other pages, /health, the stylesheet
 *   a page      closed, not cached, not framed, without scripts and referrers
 *   with token  cached only by its caller; a secret is not cached at all
 *
 * First every route is called with requests that it refuses, then each kind of success has a row. A new public route
 * without a row fails the last test.
 */
type Answered = Pick<Response, "status" | "headers">;

/** Response headers that clients of the services read. */
const EXPOSED =
  "Link, Location, ETag, Retry-After, WWW-Authenticate, DPoP-Nonce, Accept-Ranges, Content-Range, Content-Disposition, Age, " +
  "plat-request-id, plat-delivery-attempt, plat-events-lost";
const FOREIGN = { origin: "https://shop.example" };

/** Expects an open response, or a closed one. */
function expectSafe({ headers }: Answered, isOpen: boolean): void {
  expect(headers.get("plat-request-id")).toMatch(/^[0-9a-f]{32}$/);
  expect(headers.get("x-content-type-options")).toBe("nosniff");
  const cors = [...headers.keys()].filter(
    (name) => name.startsWith("access-control-") && !/-(allow-(methods|headers)|max-age)$/.test(name),
  );
  expect(cors).toEqual(isOpen ? ["access-control-allow-origin", "access-control-expose-headers"] : []);
  if (isOpen) expect(headers.get("access-control-allow-origin")).toBe("*");
  if (isOpen) expect(headers.get("access-control-expose-headers")).toBe(EXPOSED);
  // The name of the software only helps an attacker; the owner of the host decides about plain http.
  for (const name of ["server", "x-powered-by", "via", "strict-transport-security", "clear-site-data"])
    expect(headers.has(name), name).toBe(false);
}

/** Pages must stay unchanged: without `no-transform`, some proxies rewrite addresses and scripts. */
const PAGE = "no-store, no-transform";

/** `no-store` stands alone or beside `private`. */
const isStored = ({ headers }: Answered): boolean =>
  !(headers.get("cache-control") ?? "").split(", ").includes("no-store");

function expectPage(answer: Answered, route?: Route): void {
  const { headers } = answer;
  expect(headers.get("content-type")).toBe("text/html; charset=utf-8");
  // Pages are not stored. Documentation and console are the same for everybody, and revalidated each time.
  const isAsset = /^\/(docs|console)\b/.test(route?.path ?? "") && route?.path !== "/docs/errors";
  const isSite = isAsset && answer.status < 400;
  expect(headers.get("cache-control")).toBe(isSite ? SITE : PAGE);
  const policy = headers.get("content-security-policy")?.split("; ") ?? [];
  expect(policy).toEqual(
    expect.arrayContaining(["default-src 'none'", "style-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"]),
  );
  expect(policy.some((one) => /^form-action ('none'|'self'.*)$/.test(one))).toBe(true);
  const script = "script-src 'self' 'wasm-unsafe-eval'";
  const others = policy.filter((one) => one !== script && !one.startsWith("img-src 'self' data:"));
  expect(others.join()).not.toMatch(/unsafe|\*(?!\.)|data:/);
  expect(headers.get("x-frame-options")).toBe("DENY");
  expect(headers.get("referrer-policy")).toBe("no-referrer");
}

const cookiesOf = ({ headers }: Answered): string[] => headers.getSetCookie();
/** Attributes of cookies by https; test/oauth/sign-in has those of plain http. */
const COOKIE =
  /^__Host-plat_(browser|session|notice|device)=(?:(?:(?<!notice=)[\w.~-]{43,}|(?<=notice=)[a-zA-Z]+); Path=\/; HttpOnly; SameSite=Lax; Secure(?:; Max-Age=\d+)?|; Path=\/; HttpOnly; SameSite=Lax; Secure; Max-Age=0)$/;

const addresses = [...platformRoutes, ...everyRoute];

describe("every route, for refused requests", () => {
  let tokens: readonly (string | undefined)[];
  beforeAll(async () => {
    tokens = [undefined, "broken", await tokenFor(await makeClient()), await tokenFor(OPERATOR)];
  });

  // shows: platform/other-origins-caches-headers/headers-of-pages
  it.each(named(addresses))("%s", async (_, base, route) => {
    const isOpen = !closedRoutes.has(route);
    const path = fill(base + route.path);
    const ask = (method: string, headers: Record<string, string> = {}, token?: string) =>
      call(path, { method, headers: { ...FOREIGN, ...headers }, ...(token === undefined ? {} : { token }) });
    const admitted = tokens.slice(2);
    const asked: [Answered, string | undefined][] = [];
    for (const token of tokens) asked.push([await ask(route.method, {}, token), token]);
    if (route.method === "GET") asked.push([await ask("HEAD"), undefined]);
    asked.push([await ask("PATCH"), undefined]);
    for (const [answer, token] of asked) {
      expectSafe(answer, isOpen);
      if (answer.status >= 400) expect(isStored(answer), `${answer.status} is kept`).toBe(false);
      else expect(answer.headers.get("cache-control"), `${answer.status}`).not.toBeNull();
      if (admitted.includes(token) && route.access.kind !== "public")
        expect(["no-store", "no-cache, private"]).toContain(answer.headers.get("cache-control"));
      for (const cookie of cookiesOf(answer)) {
        expect(path).toMatch(/^\/(oauth2\/v1\/(authorize|end_session|device|forgot)|account|account\/sign-in)$/);
        expect(cookie).toMatch(COOKIE);
      }
      if (!isOpen && (answer.headers.get("content-type") ?? "").startsWith("text/html")) expectPage(answer, route);
    }
    const preflight = await ask("OPTIONS", { "access-control-request-method": route.method });
    expectSafe(preflight, isOpen);
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get("allow")).toContain(route.method);
    expect(preflight.headers.get("access-control-allow-methods")).toBe(isOpen ? preflight.headers.get("allow") : null);
    expect(preflight.headers.get("access-control-max-age")).toBe(isOpen ? "7200" : null);
    const allowed = preflight.headers.get("access-control-allow-headers");
    if (!isOpen) expect(allowed).toBeNull();
    else
      for (const name of ["Authorization", "Content-Type", "If-None-Match", "Range", "Idempotency-Key"])
        expect(allowed?.split(", ")).toContain(name);
  });

  // shows: platform/errors-of-every-service/preflight-any-header
  it("allow every header that a preflight asks for, and no value that is not a list of names", async () => {
    const ask = async (asked: string) => {
      const headers = { ...FOREIGN, "access-control-request-method": "POST", "access-control-request-headers": asked };
      const answer = await call("/oauth2/v1/token", { method: "OPTIONS", headers });
      expect(answer.headers.get("vary")).toBe("Access-Control-Request-Headers");
      return answer.headers.get("access-control-allow-headers")!.split(", ");
    };
    const asked = "authorization,traceparent, tracestate,sentry-trace,baggage,x-requested-with,cache-control,pragma";
    const allowed = await ask(asked);
    for (const name of asked.split(/, ?/).slice(1)) expect(allowed).toContain(name);
    expect(new Set(allowed.map((name) => name.toLowerCase())).size).toBe(allowed.length);
    const usual = await ask("");
    expect(usual).toContain("Idempotency-Key");
    expect(await ask("x: y")).toEqual(usual);
    expect(await ask(`x-${"y".repeat(5_000)}`)).toEqual(usual);
  });
});

interface World {
  readonly client: TestClient;
  readonly token: string;
  readonly operator: string;
  readonly app: TestApp;
  readonly user: TestUser;
  readonly userToken: string;
  readonly refreshToken: string;
  readonly topic: string;
  readonly uploadLink: string;
  readonly privateFile: string;
  readonly privateLink: string;
  readonly publicFile: string;
  readonly publicLink: string;
  readonly service: string;
}

let world: World;

const form = (path: string, fields: Record<string, string>, init: CallInit = {}): Promise<Response> =>
  call(`/oauth2/v1${path}`, { form: fields, ...init });

async function storedFile(token: string, visibility: string): Promise<{ path: string; link: string }> {
  const root = visibility === "public" ? "/media/v2/public/files" : "/media/v2/files";
  const made = await expectJson(await call(root, { token, method: "POST" }), 200);
  await call(made.uploadLink, { method: "PUT", body: "x", headers: { "content-type": "binary/octet-stream" } });
  expect((await call(made.commitLink, { token, method: "POST" })).status).toBeLessThan(300);
  const path = `${root}/${made.id}`;
  const answer = await call(path, { token });
  return { path, link: answer.headers.get("location") ?? (await expectJson(answer, 200)).link };
}

beforeAll(async () => {
  const client = await makeClient({ scopes: [...ALL_SCOPES] });
  const { tenant } = client;
  const token = await tokenFor(client);
  const app = await makeApp({ tenant });
  const user = await makeUser({ tenant });
  const browser = new Browser();
  const signedIn = await browser.submit(await visit(browser, app), { email: user.email, password: user.password });
  const code = new URL(signedIn.location!).searchParams.get("code")!;
  const fields = { grant_type: "authorization_code", code, redirect_uri: app.redirectUri };
  const tokens = await expectJson(await form("/token", fields, { headers: { authorization: basic(app) } }), 200);
  const topic = `/pubsub/v1/topics/${client.clientId}/orders`;
  expect((await call("/pubsub/v1/topics", { token, json: { eventType: "orders" } })).status).toBeLessThan(300);
  await call(`${topic}/publish`, { token, json: { payload: "{}" } });
  const { uploadLink } = await expectJson(await call("/media/v2/files", { token, method: "POST" }), 200);
  const [kept, shown] = [await storedFile(token, "private"), await storedFile(token, "public")];
  const service = unique("svc-");
  const source = `https://${service}.example.com`;
  const settings = {
    sourceUrl: source,
    proxyPath: `/${service}`,
    scopes: [],
    essential: false,
    tenant,
    access: "token",
  };
  await put(`services/${service}`, settings);
  await answerJson(`${source}/`, {});
  world = {
    client,
    token,
    operator: await tokenFor(OPERATOR),
    app,
    user,
    userToken: tokens.access_token,
    refreshToken: tokens.refresh_token,
    topic,
    uploadLink,
    privateFile: kept.path,
    privateLink: kept.link,
    publicFile: shown.path,
    publicLink: shown.link,
    service: `/${service}`,
  };
});

interface Row {
  /** The route and the special case. */
  readonly name: string;
  readonly ask: (given: World) => Promise<Answered>;
  readonly status: number;
  /** The whole `Cache-Control`. */
  readonly cache: string | null;
  /** Kind of a closed response: a page, a redirect of a browser, or neither. */
  readonly closed?: "page" | "redirect" | "other";
  /** Kinds of cookies that it sets or removes. */
  readonly cookies?: readonly CookieKind[];
}

const PUBLIC = "public, max-age=300";
const SITE = "public, max-age=0, must-revalidate, no-transform";
const OWN = "no-cache, private";
const SECRET = "no-store";
const LINK = "private, no-store";

const browse = (address: string, browser = new Browser()): Promise<Visit> => browser.get(`${ORIGIN}${address}`);
async function signIn({ app, user }: World, password = user.password): Promise<Visit> {
  const browser = new Browser();
  return browser.submit(await visit(browser, app), { email: user.email, password });
}
/** A new user signs in to a client of a tenant without being a member, and decides about consent. */
async function decide(decision: string, { user }: World): Promise<Visit> {
  const [browser, app] = [new Browser(), await makeApp()];
  const page = await browser.submit(await visit(browser, app, { scope: "plat.no_tenant" }), {
    email: user.email,
    password: user.password,
  });
  return browser.submit(page, { decision });
}
/** A new user signs in to the account page. */
async function atAccount({ app }: World) {
  const [browser, { email, password }] = [new Browser(), await makeUser({ tenant: app.tenant })];
  return { browser, password, answer: await browser.submit(await browse("/account", browser), { email, password }) };
}
async function changeAccount(name: string, given: World): Promise<Visit> {
  const { browser, password } = await atAccount(given);
  const { csrf = "" } = (await browse("/account", browser)).forms[0]?.fields ?? {};
  const next = { new_password: "another password", repeated_password: "another password" };
  return browser.post(`${ORIGIN}/account/${name}`, { csrf, client_id: given.app.clientId, password, ...next });
}
const subscription = (name: string) => ({
  name,
  pushConfig: { endpoint: "https://shop.example/events", basicAuth: { username: "shop", password: "a long password" } },
});
const anonymous = { headers: FOREIGN };
const own = ({ client }: World) => ({ headers: { authorization: basic(client), ...FOREIGN } });

const ROWS: readonly Row[] = [
  { name: "GET /health", ask: () => call("/health"), status: 200, cache: SECRET, closed: "other" },
  { name: "GET /, for a client", ask: () => call("/"), status: 200, cache: PUBLIC, closed: "other" },
  {
    name: "GET /, for a person",
    ask: () => call("/", { headers: { accept: "text/html" } }),
    status: 200,
    cache: SECRET,
    closed: "page",
  },
  { name: "GET /favicon.ico", ask: () => call("/favicon.ico"), status: 302, cache: PUBLIC, closed: "other" },
  { name: "GET /docs", ask: () => call("/docs"), status: 200, cache: SITE, closed: "other" },
  { name: "GET /docs/*", ask: () => call("/docs/404.html"), status: 200, cache: SITE, closed: "other" },
  { name: "GET /console", ask: () => call("/console"), status: 200, cache: SITE, closed: "other" },
  { name: "GET /console/*", ask: () => call("/console/tenants"), status: 200, cache: SITE, closed: "other" },
  { name: "GET /llms.txt", ask: () => call("/llms.txt"), status: 200, cache: SITE, closed: "other" },
  { name: "GET /docs/errors", ask: () => call("/docs/errors"), status: 200, cache: SECRET, closed: "page" },
  {
    name: "GET /docs/assets/{file}",
    ask: () => call(stylesheetHref("")),
    status: 200,
    cache: "public, max-age=31536000, immutable",
    closed: "other",
  },
  { name: "GET /openapi.json", ask: () => call("/openapi.json", anonymous), status: 200, cache: PUBLIC },
  {
    name: "GET /oauth2/v1/jwks",
    ask: () => call("/oauth2/v1/jwks", anonymous),
    status: 200,
    cache: "public, max-age=60",
  },
  ...["/oauth2/v1/.well-known/openid-configuration", "/.well-known/oauth-authorization-server/oauth2/v1"].map(
    (path) => ({ name: `GET ${path}`, ask: () => call(path, anonymous), status: 200, cache: PUBLIC }),
  ),

  {
    name: "POST /oauth2/v1/token",
    ask: (given) => form("/token", { grant_type: "client_credentials" }, own(given)),
    status: 200,
    cache: SECRET,
  },
  {
    name: "POST /oauth2/v1/token, refresh_token",
    ask: ({ app, refreshToken }) =>
      form(
        "/token",
        { grant_type: "refresh_token", refresh_token: refreshToken },
        { headers: { authorization: basic(app) } },
      ),
    status: 200,
    cache: SECRET,
  },
  {
    name: "GET /oauth2/v1/tokeninfo",
    ask: ({ token }) => call(`/oauth2/v1/tokeninfo?access_token=${token}`, anonymous),
    status: 200,
    cache: SECRET,
  },
  {
    name: "POST /oauth2/v1/revoke",
    ask: (given) => form("/revoke", { token: "unknown" }, own(given)),
    status: 200,
    cache: SECRET,
  },
  {
    name: "POST /oauth2/v1/introspect",
    ask: (given) => form("/introspect", { token: given.token }, own(given)),
    status: 200,
    cache: SECRET,
  },
  {
    name: "POST /oauth2/v1/register",
    ask: () => call("/oauth2/v1/register", { json: { redirect_uris: ["http://127.0.0.1/callback"] } }),
    status: 400,
    cache: SECRET,
  },
  {
    name: "POST /oauth2/v1/device_authorization",
    ask: ({ app }) => form("/device_authorization", {}, { headers: { authorization: basic(app) } }),
    status: 400,
    cache: SECRET,
  },
  {
    name: "GET /oauth2/v1/device",
    ask: () => browse("/oauth2/v1/device"),
    status: 200,
    cache: SECRET,
    closed: "page",
    cookies: ["browser"],
  },
  {
    name: "POST /oauth2/v1/device",
    ask: () => form("/device", { user_code: "BCDF-GHJK" }),
    status: 400,
    cache: SECRET,
    closed: "page",
    cookies: ["browser"],
  },
  {
    name: "POST /oauth2/v1/par",
    ask: ({ app }) => form("/par", { response_type: "code" }, { headers: { authorization: basic(app) } }),
    status: 201,
    cache: SECRET,
  },
  ...["GET", "POST"].map((method) => ({
    name: `${method} /oauth2/v1/userinfo`,
    ask: ({ userToken }: World) => call("/oauth2/v1/userinfo", { method, token: userToken, ...anonymous }),
    status: 200,
    cache: SECRET,
  })),
  {
    name: "GET /oauth2/v1/refreshtokens",
    ask: ({ userToken }) => call("/oauth2/v1/refreshtokens", { token: userToken }),
    status: 200,
    cache: SECRET,
  },

  {
    name: "GET /oauth2/v1/authorize, a sign-in page",
    ask: ({ app }) => visit(new Browser(), app),
    status: 200,
    cache: SECRET,
    closed: "page",
    cookies: ["browser"],
  },
  {
    name: "POST /oauth2/v1/authorize, a client that nobody knows",
    ask: () => form("/authorize", { client_id: "nobody" }),
    status: 400,
    cache: SECRET,
    closed: "page",
  },
  {
    name: "GET /oauth2/v1/authorize, back to the client",
    ask: ({ app }) => visit(new Browser(), app, { prompt: "none" }),
    status: 302,
    cache: SECRET,
    closed: "redirect",
  },
  {
    name: "POST /oauth2/v1/sign-in",
    ask: (given) => signIn(given),
    status: 303,
    cache: SECRET,
    closed: "redirect",
    cookies: ["session", "device"],
  },
  {
    name: "POST /oauth2/v1/sign-in, a wrong password",
    ask: (given) => signIn(given, "not the password"),
    status: 400,
    cache: SECRET,
    closed: "page",
  },
  {
    name: "POST /oauth2/v1/consent",
    ask: (given) => decide("deny", given),
    status: 303,
    cache: SECRET,
    closed: "redirect",
  },
  {
    name: "POST /oauth2/v1/consent, neither word",
    ask: (given) => decide("perhaps", given),
    status: 400,
    cache: SECRET,
    closed: "page",
  },
  {
    name: "POST /oauth2/v1/second-factor",
    ask: () => form("/second-factor", { request: "client_id=nobody" }),
    status: 400,
    cache: SECRET,
    closed: "page",
  },
  {
    name: "POST /oauth2/v1/link-identity",
    ask: () => form("/link-identity", { vouched: "nothing of ours", password: "x" }),
    status: 400,
    cache: SECRET,
    closed: "page",
  },
  {
    name: "GET /oauth2/v1/forgot",
    ask: () => browse("/oauth2/v1/forgot"),
    status: 200,
    cache: SECRET,
    closed: "page",
    cookies: ["browser"],
  },
  {
    name: "POST /oauth2/v1/forgot",
    ask: () => form("/forgot", { email: "nobody@acme.example" }),
    status: 303,
    cache: SECRET,
    closed: "redirect",
    cookies: ["browser"],
  },
  {
    name: "GET /oauth2/v1/reset",
    ask: () => browse("/oauth2/v1/reset?token=nothing-of-ours"),
    status: 400,
    cache: SECRET,
    closed: "page",
  },
  {
    name: "POST /oauth2/v1/reset",
    ask: () => form("/reset", { token: "nothing-of-ours" }),
    status: 400,
    cache: SECRET,
    closed: "page",
  },
  {
    name: "GET /oauth2/v1/verify",
    ask: () => browse("/oauth2/v1/verify?token=nothing-of-ours"),
    status: 400,
    cache: SECRET,
    closed: "page",
  },
  {
    name: "POST /oauth2/v1/verify",
    ask: () => form("/verify", { token: "nothing-of-ours" }),
    status: 400,
    cache: SECRET,
    closed: "page",
  },
  {
    name: "GET /oauth2/v1/invitation",
    ask: () => browse("/oauth2/v1/invitation?token=nothing-of-ours"),
    status: 400,
    cache: SECRET,
    closed: "page",
  },
  {
    name: "POST /oauth2/v1/invitation",
    ask: () => form("/invitation", { token: "nothing-of-ours" }),
    status: 400,
    cache: SECRET,
    closed: "page",
  },
  {
    name: "GET /oauth2/v1/callback/{providerId}",
    ask: () => browse("/oauth2/v1/callback/nobody?state=x&code=y"),
    status: 400,
    cache: SECRET,
    closed: "page",
  },
  {
    name: "GET /oauth2/v1/end_session",
    ask: ({ app }) => browse(`/oauth2/v1/end_session?client_id=${app.clientId}`),
    status: 200,
    cache: SECRET,
    closed: "page",
    cookies: ["session"],
  },
  {
    name: "POST /oauth2/v1/end_session",
    ask: ({ app }) => form("/end_session", { client_id: app.clientId }),
    status: 200,
    cache: SECRET,
    closed: "page",
    cookies: ["session"],
  },

  {
    name: "GET /account, a sign-in form",
    ask: () => browse("/account"),
    status: 200,
    cache: SECRET,
    closed: "page",
    cookies: ["browser"],
  },
  {
    name: "GET /account",
    ask: async (given) => browse("/account", (await atAccount(given)).browser),
    status: 200,
    cache: SECRET,
    closed: "page",
  },
  {
    name: "POST /account/sign-in",
    ask: async (given) => (await atAccount(given)).answer,
    status: 303,
    cache: SECRET,
    closed: "redirect",
    cookies: ["session", "device"],
  },
  {
    name: "POST /account/remove-access",
    ask: (given) => changeAccount("remove-access", given),
    status: 303,
    cache: SECRET,
    closed: "redirect",
    cookies: ["notice"],
  },
  ...["second-factor", "second-factor/confirm", "second-factor/recovery", "second-factor/remove"].map((name): Row => ({
    name: `POST /account/${name}`,
    ask: (given) => changeAccount(name, given),
    status: name === "second-factor/confirm" ? 400 : 303,
    cache: SECRET,
    closed: name === "second-factor/confirm" ? "page" : "redirect",
  })),
  {
    name: "POST /account/second-factor/set-up",
    ask: (given) => changeAccount("second-factor/set-up", given),
    status: 200,
    cache: SECRET,
    closed: "page",
  },
  {
    name: "POST /account/passkeys/new",
    ask: (given) => changeAccount("passkeys/new", given),
    status: 200,
    cache: SECRET,
    closed: "page",
  },
  ...["add", "rename", "remove"].map((name): Row => ({
    name: `POST /account/passkeys/${name}`,
    ask: (given) => changeAccount(`passkeys/${name}`, given),
    status: name === "rename" ? 303 : 400,
    cache: SECRET,
    closed: name === "rename" ? "redirect" : "page",
    ...(name === "rename" ? { cookies: ["notice"] as const } : {}),
  })),
  ...["link", "unlink"].map((name): Row => ({
    name: `POST /account/${name}`,
    ask: (given) => changeAccount(name, given),
    status: 400,
    cache: SECRET,
    closed: "page",
  })),
  {
    name: "POST /account/end-session",
    ask: (given) => changeAccount("end-session", given),
    status: 303,
    cache: SECRET,
    closed: "redirect",
  },
  {
    name: "POST /account/verify-address",
    ask: (given) => changeAccount("verify-address", given),
    status: 303,
    cache: SECRET,
    closed: "redirect",
    cookies: ["notice"],
  },
  ...["sign-out", "password", "end-all"].map((name): Row => ({
    name: `POST /account/${name}`,
    ask: (given) => changeAccount(name, given),
    status: 303,
    cache: SECRET,
    closed: "redirect",
    cookies: ["notice", "session", ...(name === "password" ? ["device" as const] : [])],
  })),

  {
    name: "POST /admin/v1/clients/{clientId}/secret",
    ask: ({ operator, client }) =>
      call(`/admin/v1/clients/${client.clientId}/secret`, { method: "POST", token: operator, json: {} }),
    status: 201,
    cache: SECRET,
  },
  {
    name: "PUT /admin/v1/clients/{clientId}, which shows a new secret",
    ask: ({ operator, client }) =>
      call(`/admin/v1/clients/${client.tenant}.${unique("new")}`, {
        method: "PUT",
        token: operator,
        json: { tenant: client.tenant, confidential: true, grantTypes: ["client_credentials"], scopes: [] },
      }),
    status: 201,
    cache: SECRET,
  },
  {
    name: "GET /admin/v1/roles",
    ask: ({ operator: token }) => call("/admin/v1/roles", { token }),
    status: 200,
    cache: OWN,
  },

  ...["/pubsub/v1", "/events/v1"].flatMap((base): Row[] => {
    const at = ({ topic }: World): string => topic.replace("/pubsub/v1", base);
    return [
      { name: `GET ${base}/topics`, ask: ({ token }) => call(`${base}/topics`, { token }), status: 200, cache: OWN },
      {
        name: `POST ${base}/topics/{topicOwnerClient}/{eventType}/read`,
        ask: (given) => call(`${at(given)}/read`, { token: given.token, json: { autoCommit: false, ttlMs: 1_000 } }),
        status: base === "/pubsub/v1" ? 200 : 409,
        cache: SECRET,
      },
      {
        name: `POST ${base}/topics/{topicOwnerClient}/{eventType}/subscriptions`,
        ask: (given) => call(`${at(given)}/subscriptions`, { token: given.token, json: subscription(unique("push")) }),
        status: 201,
        cache: SECRET,
      },
    ];
  }),

  ...["/media/v2/files", "/media/v2/public/files"].map((path) => ({
    name: `POST ${path}`,
    ask: ({ token }: World) => call(path, { method: "POST", token }),
    status: 200,
    cache: SECRET,
  })),
  {
    name: "PUT /media/v2/uploads/{fileId}",
    ask: ({ uploadLink }) =>
      call(uploadLink, { method: "PUT", body: "x", headers: { "content-type": "binary/octet-stream", ...FOREIGN } }),
    status: 200,
    // Caches do not keep the response to a PUT (RFC 9111).
    cache: null,
  },
  {
    name: "GET /media/v2/files/{fileId}",
    ask: ({ privateFile, token }) => call(privateFile, { token }),
    status: 200,
    cache: OWN,
  },
  {
    name: "GET /media/v2/public/files/{fileId}",
    ask: ({ publicFile }) => call(publicFile, anonymous),
    status: 302,
    cache: OWN,
  },
  {
    name: "GET /media/v2/content/{fileId}, of everybody",
    ask: ({ publicLink }) => call(publicLink, anonymous),
    status: 200,
    cache: PUBLIC,
  },
  {
    name: "GET /media/v2/content/{fileId}, a part",
    ask: ({ publicLink }) => call(publicLink, { headers: { range: "bytes=0-0", ...FOREIGN } }),
    status: 206,
    cache: PUBLIC,
  },
  {
    name: "GET /media/v2/content/{fileId}, by a signed link",
    ask: ({ privateLink }) => call(privateLink, anonymous),
    status: 200,
    cache: LINK,
  },
  {
    name: "GET /media/v2/content/{fileId}/{variant}, which is not there",
    ask: ({ publicLink }) => call(`${publicLink}/clip-1x1`, anonymous),
    status: 404,
    cache: SECRET,
  },
];

const keyOf = ({ name }: Row): string => name.split(",")[0] ?? "";

describe("the headers of a success", () => {
  // shows: platform/other-origins-caches-headers/upload-and-content-addresses
  // shows: platform/other-origins-caches-headers/tokens
  // shows: platform/other-origins-caches-headers/headers-of-pages
  it.each(ROWS)("$name: $status", async (row) => {
    const answer = await row.ask(world);
    expect(answer.status).toBe(row.status);
    expectSafe(answer, row.closed === undefined);
    expect(answer.headers.get("cache-control")).toBe(row.closed === "page" ? PAGE : row.cache);
    const kinds = cookiesOf(answer).map((cookie) => COOKIE.exec(cookie)?.[1] ?? cookie);
    expect(kinds).toEqual(row.cookies ?? []);
    if (row.closed === "page") expectPage(answer);
    if (row.closed === "redirect") expect(answer.headers.get("referrer-policy")).toBe("no-referrer");
  });

  it("has a line for every public route", () => {
    const open = addresses.filter(({ route }) => route.access.kind === "public");
    const lines = new Set(ROWS.map(keyOf));
    expect(
      named(open)
        .map(([name]) => name)
        .filter((name) => !lines.has(name)),
    ).toEqual([]);
  });
});

describe("an address without a route", () => {
  it.each([
    ["GET", "/nothing/here", 404],
    ["HEAD", "/nothing/here", 404],
    ["POST", "/nothing/here", 404],
    ["OPTIONS", "/nothing/here", 404],
    ["GET", "/oauth2/v1/nothing", 404],
    ["GET", "/media/v2/content", 404],
    ["GET", `/nothing?${"x".repeat(20_000)}`, 414],
  ])("%s %.20s: answers %s, readable for any origin and not cached", async (method, path, status) => {
    const answer = await call(path, { method, headers: FOREIGN });
    expect(answer.status).toBe(status);
    expectSafe(answer, true);
    expect(isStored(answer)).toBe(false);
    expect(cookiesOf(answer)).toEqual([]);
  });

  it("answers as a page if the address of a page is too long", async () => {
    const answer = await call(`/oauth2/v1/authorize?state=${"x".repeat(20_000)}`, { headers: FOREIGN });
    expect(answer.status).toBe(414);
    expectSafe(answer, false);
    expectPage(answer);
  });
});

describe("a response through the gateway", () => {
  it("is private to the caller and open to any origin; the platform answers refusals and preflights", async () => {
    const { service, token } = world;
    const passed = await call(`${service}/`, { token, ...anonymous });
    expect([passed.status, passed.headers.get("cache-control")]).toEqual([200, OWN]);
    const refused = await call(`${service}/`, anonymous);
    expect([refused.status, refused.headers.get("cache-control")]).toEqual([401, SECRET]);
    expectSafe(refused, true);
    const preflight = await call(`${service}/`, {
      method: "OPTIONS",
      headers: {
        ...FOREIGN,
        "access-control-request-method": "PUT",
        "access-control-request-headers": "authorization",
      },
    });
    expect(preflight.headers.get("access-control-allow-methods")).toContain("PUT");
    expect(preflight.headers.get("access-control-allow-headers")).toBe("authorization");
    for (const { headers } of [passed, preflight]) {
      expect(headers.get("plat-request-id")).toMatch(/^[0-9a-f]{32}$/);
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect(headers.get("access-control-allow-origin")).toBe("*");
      expect(headers.has("access-control-allow-credentials")).toBe(false);
      expect(headers.getSetCookie()).toEqual([]);
    }
  });
});
