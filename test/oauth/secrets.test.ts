import { env } from "cloudflare:workers";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { Browser, landed } from "../support/browser.ts";
import { isolate } from "../support/isolate.ts";
import { expectJson, ORIGIN, type CallInit } from "../support/platform/call.ts";
import { OPERATOR } from "../support/platform/operator.ts";
import { basic } from "../support/platform/tokens.ts";
import { unique } from "../support/platform/unique.ts";

/**
 * A story with every kind of secret, each used right and wrong, at one Worker that logs all it can. Afterwards the
 * audit log and the printed lines contain no secret, in any spelling.
 */
const lines: string[] = [];
const secrets = new Map<string, string>();
const secret = (what: string, value: string): string => {
  secrets.set(`${what} ${secrets.size}`, value);
  return value;
};

const worker = isolate({ LOG_LEVEL: "info" });
const call = (address: string, init: CallInit = {}): Promise<Response> => {
  const { pathname, search } = new URL(address, ORIGIN);
  const headers = new Headers(init.headers);
  if (init.token !== undefined) headers.set("authorization", `Bearer ${init.token}`);
  if (init.json !== undefined) headers.set("content-type", "application/json");
  if (init.form !== undefined) headers.set("content-type", "application/x-www-form-urlencoded");
  const body =
    init.form !== undefined
      ? new URLSearchParams(init.form).toString()
      : init.json === undefined
        ? init.body
        : JSON.stringify(init.json);
  const method = init.method ?? (body === undefined ? "GET" : "POST");
  return worker.fetch(`${pathname}${search}`, { method, headers, body, redirect: "manual" });
};

const spies = (["info", "warn", "error", "log", "debug"] as const).map((name) =>
  vi.spyOn(console, name).mockImplementation((...args: unknown[]) => void lines.push(args.map(String).join(" "))),
);
afterAll(() => spies.forEach((spy) => spy.mockRestore()));

const VERIFIER = "a-code-verifier-that-nobody-else-knows-0123456789";
const tenant = unique("t");
const user = `${unique("ada")}@secrets.example`;
const redirectUri = "https://app.example/callback";
const clientId = `${tenant}.app`;

let operator: string;
const put = async (path: string, json: unknown): Promise<any> => {
  const response = await call(`/admin/v1/${path}`, { method: "PUT", token: operator, json });
  expect([200, 201], path).toContain(response.status);
  return response.json();
};
const token = (form: Record<string, string>, headers: Record<string, string> = {}): Promise<Response> =>
  call("/oauth2/v1/token", { form, headers });

beforeAll(async () => {
  secret("operator's secret", OPERATOR.clientSecret);
  const admin = await token({ grant_type: "client_credentials" }, { authorization: basic(OPERATOR) });
  operator = secret("operator's token", (await expectJson(admin, 200)).access_token as string);

  const password = secret("password", unique("correct horse battery "));
  await put(`organizations/${tenant}`, { name: "x" });
  await put(`tenants/${tenant}`, { organization: tenant, name: "x" });
  await put(`tenants/${tenant}/subscriptions/platform`, {});
  await put(`users/${user}`, { name: "Ada", password });
  await put(`roles/${tenant}`, { scopes: ["plat.media_manage"] });
  await put(`tenants/${tenant}/members/${user}`, { roles: [tenant] });
  await put(`identity-providers/${tenant}`, {
    issuer: "https://idp.example",
    clientId: "plinth",
    clientSecret: secret("provider's secret", unique("a-secret-shared-with-a-provider-")),
  });
  const settings = {
    tenant,
    confidential: true,
    redirectUris: [redirectUri],
    grantTypes: ["client_credentials", "authorization_code", "refresh_token", "password", "implicit"],
    scopes: ["plat.media_manage", "plat.pubsub_publish"],
  };
  const first = secret("given secret", unique("a-client-secret-given-by-an-operator-"));
  await put(`clients/${clientId}`, { ...settings, clientSecret: first });
  const rotated = await call(`/admin/v1/clients/${clientId}/secret`, { method: "POST", token: operator });
  const clientSecret = secret("rotated secret", (await expectJson(rotated, 201)).clientSecret as string);
  const client = { clientId, clientSecret };
  const authorization = basic(client);
  secret("basic credentials", authorization.slice("Basic ".length));

  // Refused: wrong secrets, secrets in the wrong place, passwords in the wrong field.
  const wrong = secret("wrong secret", unique("a-wrong-secret-"));
  await token({ grant_type: "client_credentials", client_id: clientId, client_secret: wrong });
  await token({ grant_type: "client_credentials", client_secret: wrong }, { authorization });
  await token({ grant_type: "client_credentials", client_secret: wrong });
  await token({}, { authorization: `Basic ${btoa(`${clientId}${wrong}`)}` });
  const signIn = { grant_type: "password", plat_id_provider: "legacy_idp" };
  await token({ ...signIn, username: user, password: secret("wrong password", unique("wrong password ")) });
  await token({
    ...signIn,
    username: secret("misplaced password", unique("password in the field of ")),
    password: "x",
  });
  await token({
    ...signIn,
    username: `${unique("no")}@secrets.example`,
    password: secret("guess", unique("a guess ")),
  });
  await token(
    { grant_type: "refresh_token", refresh_token: secret("made-up token", unique("no-refresh-token-")) },
    { authorization },
  );
  await token(
    { grant_type: "authorization_code", code: secret("made-up code", unique("no-code-")), redirect_uri: redirectUri },
    { authorization },
  );

  // The password grant, and the implicit and the code flow in a browser.
  const trusted = await token({ ...signIn, username: user, password }, { authorization });
  const granted = await expectJson(trusted, 200);
  secret("password's token", granted.access_token);
  secret("password's refresh token", granted.refresh_token);
  const browser = new Browser({ send: (address, init) => call(address, init) });
  const challenge = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(VERIFIER));
  const parameters = {
    response_type: "code",
    client_id: clientId,
    redirect_uri: redirectUri,
    scope: "openid",
    code_challenge: Buffer.from(challenge).toString("base64url"),
    code_challenge_method: "S256",
  };
  const address = (changes: Record<string, string>) =>
    `${ORIGIN}/oauth2/v1/authorize?${new URLSearchParams({ ...parameters, ...changes }).toString()}`;
  const page = await browser.get(address({}));
  expect(page.status).toBe(200);
  secret("CSRF token", page.forms[0]!.fields["csrf"]!);
  const typed = secret("typed password", unique("typed wrongly "));
  const again = await browser.submit(page, { email: user, password: typed });
  expect(again.status).toBe(400);
  await browser.submit(again, { email: typed, password });
  const done = await browser.submit(again, { email: user, password });
  const code = secret("code", landed(done).query.get("code")!);
  secret("session cookie", browser.cookie("session")!);
  secret("browser cookie", browser.cookie("browser")!);
  secret("code verifier", VERIFIER);

  const redeem = { grant_type: "authorization_code", code, redirect_uri: redirectUri };
  await token({ ...redeem, code_verifier: secret("wrong verifier", `${VERIFIER}-another`) }, { authorization });
  const tokens = await expectJson(await token({ ...redeem, code_verifier: VERIFIER }, { authorization }), 200);
  for (const kind of ["access_token", "refresh_token", "id_token"]) secret(kind, tokens[kind] as string);
  const fresh = await token({ grant_type: "refresh_token", refresh_token: tokens.refresh_token }, { authorization });
  secret("refreshed token", (await expectJson(fresh, 200)).access_token as string);
  const implicit = await browser.get(
    address({ response_type: "id_token token", nonce: "n", code_challenge: "", code_challenge_method: "" }),
  );
  const fragment = landed(implicit).fragment;
  for (const kind of ["access_token", "id_token"]) secret(`implicit ${kind}`, fragment.get(kind) ?? "");

  // Tokens in every place to which one may be sent, right and wrong.
  const access = tokens.access_token as string;
  await call("/oauth2/v1/userinfo", { token: access });
  await call("/oauth2/v1/userinfo", { token: access, form: { access_token: access } });
  await call(`/oauth2/v1/tokeninfo?access_token=${access}`);
  await call(`/oauth2/v1/tokeninfo?access_token=${access}x`);
  await call("/oauth2/v1/introspect", { form: { token: access }, headers: { authorization } });
  await call("/oauth2/v1/introspect", { form: { token: access, client_id: clientId, client_secret: wrong } });
  await call(`/admin/v1/roles?access_token=${access}`, { token: access });
  await call(address({ prompt: "none", id_token_hint: tokens.id_token as string }));
  await call(address({ prompt: "none", id_token_hint: `${tokens.id_token as string}x` }));
  await token({ grant_type: access }, { authorization });
  await token({ grant_type: "client_credentials", scope: `plat.tenant=other` }, { authorization });
  await call("/oauth2/v1/refreshtokens", { token: access });
  await call("/oauth2/v1/revoke", { form: { token: `${access},${granted.refresh_token as string}` } });
  // A second use of a code revokes all of its tokens.
  await token({ ...redeem, code_verifier: VERIFIER }, { authorization });
  await call("/oauth2/v1/revoke", {
    form: { token: `${granted.access_token as string},${granted.refresh_token as string}` },
    headers: { authorization },
  });
  const own = await expectJson(await token({ grant_type: "client_credentials" }, { authorization }), 200);
  const file = await expectJson(
    await call("/media/v2/public/files", {
      token: secret("own token", own.access_token),
      json: { "Content-Type": "image/png" },
    }),
    200,
  );
  secret("upload link's signature", new URL(file.uploadLink as string).searchParams.get("signature")!);
  await call(file.uploadLink as string, { method: "PUT", body: "x", headers: { "content-type": "image/png" } });
  await call(`${file.uploadLink as string}0`, { method: "PUT", body: "x", headers: { "content-type": "image/png" } });
  await put(`users/${user}`, { name: "Ada", password: secret("new password", unique("a new password ")) });
  await browser.get(`${ORIGIN}/oauth2/v1/end_session?client_id=${clientId}`);
});

it("ran the story, which left its traces", async () => {
  expect(secrets.size).toBeGreaterThan(30);
  for (const [what, value] of secrets) expect(value.length, what).toBeGreaterThan(7);
  const { results } = await env.DB.prepare("SELECT DISTINCT action, outcome FROM audit_entry").all<
    Record<string, string>
  >();
  const kinds = results.map(({ action, outcome }) => `${action} ${outcome}`);
  for (const kind of [
    "put done",
    "rotate secret done",
    "token refused",
    "sign in refused",
    "revoke done",
    "revoke refused",
  ])
    expect(kinds).toContain(kind);
  expect(lines.length).toBeGreaterThan(30);
});

it.each(["audit log", "structured log"])("no secret stands in the %s", async (place) => {
  const { results } = await env.DB.prepare("SELECT * FROM audit_entry").all();
  const texts = place === "audit log" ? results.map((row) => JSON.stringify(row)) : lines;
  const found = [...secrets].flatMap(([what, value]) => {
    const spellings = [value, encodeURIComponent(value), JSON.stringify(value).slice(1, -1), btoa(value)];
    // A log with only the signature of a token, or the beginning of a secret, is already too much.
    const parts = value.split(".").filter((part) => part.length > 40);
    return texts
      .filter((text) => [...spellings, ...parts.slice(1)].some((spelling) => text.includes(spelling)))
      .map((text) => `${what}: ${text}`);
  });
  expect(found).toEqual([]);
});
