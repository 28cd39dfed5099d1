import { rmSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { startReceiver } from "../../examples/tour/receiver.ts";
import { CookieBrowser, type Shown } from "./support/cookie-browser.ts";
import { makeOidcProvider, type OidcProvider } from "./support/parties/oidc-provider.ts";
import { startOtlpReceiver, type OtlpReceiver, type WireSpan } from "./support/parties/otlp-receiver.ts";
import { startPlatform, type Platform } from "./support/process/platform.ts";
import { stopGroup } from "./support/process/program.ts";
import { localSecret, newStateDir } from "./support/process/state.ts";

/**
 * Signing in at identity providers as a person does, by their own pages: a platform of `npm start`, `oidc-provider`
 * from npm on loopback, and a browser that keeps cookies.
 */
const ADA = "ada@demo.example";
const APPLICATION = "http://127.0.0.1/callback";
const PROVIDERS = {
  /** Tells the address by userinfo. */
  asks: { emailIn: "userinfo" },
  /** Tells it in the ID token. */
  tells: { emailIn: "id_token" },
  /** Has verified nobody. */
  careless: { emailIn: "userinfo", verified: false },
} as const;
type Name = keyof typeof PROVIDERS;

const stateDir = newStateDir();
let platform: Platform;
let operator: string;
let otlp: OtlpReceiver;
const providers = {} as Record<Name, OidcProvider>;

beforeAll(async () => {
  // It warns of what a deployed provider should have.
  for (const method of ["info", "warn"] as const) vi.spyOn(console, method).mockReturnValue();
  otlp = await startOtlpReceiver();
  platform = await startPlatform({ STATE_DIR: stateDir, OTLP_ENDPOINT: otlp.origin, TRACE_SAMPLE: "1" });
  operator = (await token({ grant_type: "client_credentials" }, "plat.operator", localSecret("OPERATOR_CLIENT_SECRET")))
    .access_token as string;
  for (const name of Object.keys(PROVIDERS) as Name[]) {
    const redirectUri = `${platform.url}/oauth2/v1/callback/${name}`;
    providers[name] = await makeOidcProvider({ ...PROVIDERS[name], redirectUri });
    await providers[name].start();
    const { issuer, clientId, clientSecret } = providers[name];
    await admin(`identity-providers/${name}`, { issuer, clientId, clientSecret });
  }
});

afterAll(async () => {
  await Promise.all(Object.values(providers).map((provider) => provider.stop()));
  await stopGroup(platform, "SIGKILL");
  await otlp.close();
  rmSync(stateDir, { recursive: true, force: true });
  vi.restoreAllMocks();
});

async function admin(path: string, json: unknown): Promise<void> {
  const headers = { authorization: `Bearer ${operator}`, "content-type": "application/json" };
  const init = { method: "PUT", headers, body: JSON.stringify(json) };
  const response = await fetch(`${platform.url}/admin/v1/${path}`, init);
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  await response.arrayBuffer();
}

async function token(form: Record<string, string>, clientId: string, clientSecret: string): Promise<any> {
  const headers = { authorization: `Basic ${btoa(`${clientId}:${clientSecret}`)}` };
  const init = { method: "POST", headers, body: new URLSearchParams(form) };
  return (await fetch(`${platform.url}/oauth2/v1/token`, init)).json();
}

/** The newest lines of the audit log, for the exact reason of what was refused. */
async function reasons(): Promise<string> {
  const headers = { authorization: `Bearer ${operator}` };
  const rows = (await (await fetch(`${platform.url}/admin/v1/audit?pageSize=3`, { headers })).json()) as any[];
  return rows.map((row) => String(row.reason)).join(" | ");
}

const authorizeAddress = (provider: string, more: Record<string, string> = {}): string =>
  `${platform.url}/oauth2/v1/authorize?${new URLSearchParams({
    response_type: "code",
    client_id: "demo.shop",
    redirect_uri: APPLICATION,
    scope: "openid",
    state: "kept",
    plat_id_provider: provider,
    ...more,
  }).toString()}`;

const newBrowser = (): CookieBrowser => new CookieBrowser(APPLICATION);

/** The page of the platform that asks for the password, once for an account at a provider. */
const isConfirmation = ({ text }: Shown): boolean => text.includes("/oauth2/v1/link-identity");

/** The same to the end, with the password here if it is asked for. */
async function signIn(browser: CookieBrowser, provider: Name, login: string): Promise<Shown> {
  const shown = await signInThere(browser, provider, login);
  return isConfirmation(shown) ? browser.submit(shown, { password: localSecret("DEMO_USER_PASSWORD") }) : shown;
}

/** Through the provider's two pages, as whoever says to be `login`. */
async function signInThere(browser: CookieBrowser, provider: Name, login: string): Promise<Shown> {
  const form = await browser.open(authorizeAddress(provider, { login_hint: login }));
  expect(form.url.origin).toBe(providers[provider].issuer);
  expect(form.text).toContain(`value="${login}"`);
  const consent = await browser.submit(form, { login, password: "whatever" });
  return consent.text.includes('value="consent"') ? browser.submit(consent, {}) : consent;
}

const answer = (shown: Shown): Record<string, string> => {
  expect(`${shown.url.origin}${shown.url.pathname}`, shown.text.slice(0, 500)).toBe(APPLICATION);
  return Object.fromEntries(shown.url.searchParams);
};

const redeem = (code: string | undefined): Promise<any> =>
  token(
    { grant_type: "authorization_code", code: code ?? "", redirect_uri: APPLICATION },
    "demo.shop",
    localSecret("DEMO_CLIENT_SECRET"),
  );

const claimsOf = (jwt: string): any => JSON.parse(Buffer.from(jwt.split(".")[1] ?? "", "base64url").toString());

describe("signing in at a provider of one's own", () => {
  // shows: oauth/get-authorize/plat_id_provider-a-custom-provider-s-id
  // shows: oauth/authorize/custom-provider
  test.each(["asks", "tells"] as const)("ends in tokens of the platform for the local user (%s)", async (name) => {
    const browser = newBrowser();
    const page = await signInThere(browser, name, ADA);
    expect([page.status, isConfirmation(page)]).toEqual([200, true]);
    expect(page.text).toContain(ADA);
    const wrong = await browser.submit(page, { password: "a guess" });
    expect([wrong.status, isConfirmation(wrong)]).toEqual([400, true]);
    const back = answer(await browser.submit(wrong, { password: localSecret("DEMO_USER_PASSWORD") }));
    expect(back).toMatchObject({ state: "kept", iss: `${platform.url}/oauth2/v1` });
    const tokens = await redeem(back["code"]);
    expect(claimsOf(tokens.id_token)).toMatchObject({ sub: ADA, email: ADA, iss: `${platform.url}/oauth2/v1` });
    const userinfo = `${platform.url}/oauth2/v1/userinfo`;
    const headers = { authorization: `Bearer ${tokens.access_token}` };
    expect(await (await fetch(userinfo, { headers })).json()).toEqual({ sub: ADA });
    expect(tokens.refresh_token).toEqual(expect.any(String));
    expect(answer(await signInThere(newBrowser(), name, ADA))).toHaveProperty("code");
  });

  test("is remembered by the platform, until the client wants it anew", async () => {
    const browser = newBrowser();
    await signIn(browser, "asks", ADA);
    expect(answer(await browser.open(authorizeAddress("asks")))).toHaveProperty("code");
    const again = await browser.open(authorizeAddress("asks", { prompt: "login" }));
    expect(again.url.origin).toBe(providers.asks.issuer);
    expect(again.text).toContain('name="password"');
    const back = await browser.submit(again, { login: ADA, password: "whatever" });
    expect(answer(back)).toHaveProperty("code");
  });

  test("is asked again by the provider when it was too long ago for the client", async () => {
    const browser = newBrowser();
    await signIn(browser, "asks", ADA);
    const again = await browser.open(authorizeAddress("asks", { max_age: "0" }));
    expect(again.text).toContain('name="password"');
    expect(answer(await browser.submit(again, { login: ADA, password: "whatever" }))).toHaveProperty("code");
  });

  test("without a page: only who is signed in there already", async () => {
    const browser = newBrowser();
    expect(answer(await browser.open(authorizeAddress("tells", { prompt: "none" })))).toMatchObject({
      error: "login_required",
      state: "kept",
    });
    await signIn(browser, "tells", ADA);
    await browser.open(`${platform.url}/oauth2/v1/end_session?client_id=demo.shop`);
    expect(answer(await browser.open(authorizeAddress("tells", { prompt: "none" })))).toHaveProperty("code");
  });
});

describe("nobody is signed in", () => {
  const expectDenied = async (shown: Shown, reason: string): Promise<void> => {
    expect(answer(shown)).toMatchObject({ error: "access_denied", state: "kept" });
    await expect.poll(reasons).toContain(reason);
  };

  test("with an address that the provider did not verify", async () => {
    await expectDenied(await signIn(newBrowser(), "careless", ADA), `has not verified "${ADA}"`);
  });

  test("who is unknown here", async () => {
    await expectDenied(await signIn(newBrowser(), "asks", "eve@demo.example"), "eve@demo.example is unknown");
  });

  test("who goes back at the provider", async () => {
    const browser = newBrowser();
    const form = await browser.open(authorizeAddress("asks"));
    await expectDenied(await browser.open(`${form.url.href}/abort`), '"access_denied"');
  });

  test("by what another provider answered (mix-up)", async () => {
    const stolen = (await callbackOf(newBrowser(), "tells")).searchParams.get("code") ?? "";
    const mixUps: [change: (callback: URL) => void, reason: string][] = [
      [(callback) => (callback.pathname = callback.pathname.replace("asks", "tells")), "came to the address of"],
      [(callback) => callback.searchParams.set("code", stolen), '400 "invalid_grant"'],
      [(callback) => callback.searchParams.set("iss", providers.tells.issuer), "of the issuer"],
      [(callback) => callback.searchParams.delete("iss"), "does not name its issuer"],
    ];
    for (const [change, reason] of mixUps) {
      const browser = newBrowser();
      const callback = await callbackOf(browser, "asks");
      change(callback);
      await expectDenied(await browser.open(callback), reason);
    }
  });

  test("by a code that somebody else got at the same provider", async () => {
    const [victim, attacker] = [newBrowser(), newBrowser()];
    const [own, injected] = [await callbackOf(victim, "asks"), await callbackOf(attacker, "asks", "eve@demo.example")];
    own.searchParams.set("code", injected.searchParams.get("code") ?? "");
    await expectDenied(await victim.open(own), '400 "invalid_grant"');
  });

  test("by the link of somebody else: login CSRF", async () => {
    const link = await callbackOf(newBrowser(), "asks");
    const victim = newBrowser();
    const shown = await victim.open(link);
    expect([shown.status, shown.url.origin]).toEqual([400, platform.url]);
    await expect.poll(reasons).toContain("another browser's");
    expect((await victim.open(authorizeAddress("default_idp"))).text).toContain('name="password"');
  });
});

describe("the provider", () => {
  test("may change its keys while the platform runs", async () => {
    expect(answer(await signIn(newBrowser(), "tells", ADA))).toHaveProperty("code");
    await providers.tells.stop();
    await providers.tells.start();
    expect(answer(await signIn(newBrowser(), "tells", ADA))).toHaveProperty("code");
  });

  test("may be away: the client is told to try later, and the platform's own directory goes on", async () => {
    const browser = newBrowser();
    const callback = await callbackOf(browser, "tells");
    await providers.tells.stop();
    expect(answer(await browser.open(callback))).toMatchObject({ error: "temporarily_unavailable", state: "kept" });
    const form = await browser.open(authorizeAddress("default_idp"));
    const email = { email: ADA, password: localSecret("DEMO_USER_PASSWORD") };
    expect(answer(await browser.submit(form, email))).toHaveProperty("code");
    await providers.tells.start();
  });
});

describe("spans", () => {
  const find = async (name: string, more: Partial<WireSpan> = {}): Promise<WireSpan> => {
    const matching = () => otlp.spans().filter((span) => span.name === name);
    const wanted = (span: WireSpan): boolean =>
      Object.entries(more).every(([key, value]) => span[key as keyof WireSpan] === value);
    await expect.poll(() => matching().filter(wanted).length, { timeout: 20_000, interval: 100 }).toBeGreaterThan(0);
    return matching().find(wanted)!;
  };
  const KIND = { server: 2, client: 3, consumer: 5 };
  let own: (method: string, path: string, body?: BodyInit, headers?: Record<string, string>) => Promise<any>;
  beforeAll(async () => {
    const { access_token: bearer } = await token(
      { grant_type: "client_credentials" },
      "demo.shop",
      localSecret("DEMO_CLIENT_SECRET"),
    );
    own = async (method, path, body, headers = {}) => {
      const all = { authorization: `Bearer ${bearer}`, "content-type": "application/json", ...headers };
      const url = path.startsWith("http") ? path : `${platform.url}${path}`;
      const response = await fetch(url, { method, headers: all, ...(body !== undefined && { body }) });
      const text = await response.text();
      if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
      return text === "" ? undefined : JSON.parse(text);
    };
  });

  // shows: platform/traces/push
  test("lead from a publish into the objects, and from each attempt to push back to it", async () => {
    const endpoint = await startReceiver((request, response) => {
      const isFirst = request.headers["plat-delivery-attempt"] === "1";
      response.writeHead(isFirst ? 500 : 204).end();
    });
    const topic = "/pubsub/v1/topics/demo.shop/traced";
    await own("POST", "/pubsub/v1/topics", JSON.stringify({ eventType: "traced" }));
    const pushConfig = { endpoint: `${endpoint.origin}/in`, basicAuth: { username: "u", password: "p" } };
    await own("POST", `${topic}/subscriptions`, JSON.stringify({ name: "hook", pushConfig }));
    const traceId = "0af7651916cd43dd8448eb211c80319c";
    const traceparent = `00-${traceId}-b7ad6b7169203331-01`;
    await own("POST", `${topic}/publish`, JSON.stringify({ payload: "x" }), { traceparent });
    const calls = await endpoint.wait("/in", 2, 30_000);
    await endpoint.close();
    expect(calls).toHaveLength(2);
    // Subscribers see the event alone.
    const event = JSON.parse(calls[1]!.body);
    expect(Object.keys(event).toSorted()).toEqual([
      "createdAt",
      "eventType",
      "id",
      "payload",
      "sourceClient",
      "tenant",
    ]);
    const publish = await find("POST /pubsub/v1/topics/{topicOwnerClient}/{eventType}/publish", { traceId });
    const call = await find("TopicLog.append", { traceId, kind: KIND.client });
    const inside = await find("TopicLog.append", { traceId, kind: KIND.server });
    expect([call.parentSpanId, inside.parentSpanId]).toEqual([publish.spanId, call.spanId]);
    await expect.poll(() => otlp.spans().filter(({ name }) => name === "push").length).toBeGreaterThanOrEqual(2);
    const pushes = otlp.spans().filter(({ name }) => name === "push");
    for (const push of pushes) {
      expect(push.attributes["messaging.message.id"]).toBe(event.id);
      expect(push.links).toMatchObject([{ traceId, spanId: publish.spanId }]);
      expect(push.traceId).not.toBe(traceId);
    }
    expect(pushes.map(({ attributes }) => attributes["messaging.delivery.attempt"])).toEqual([1, 2]);
    expect(calls.map(({ headers }) => headers["traceparent"])).toEqual(
      pushes.map((push) => `00-${push.traceId}-${push.spanId}-01`),
    );
    await find("TopicLog.alarm");
    await find("PushSubscription.alarm");
  });

  // shows: platform/traces/jobs
  test("lead from a job of the queue back to the request that sent it", async () => {
    const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    const file = await own("POST", "/media/v2/files", JSON.stringify({ "Content-Type": "image/png" }));
    await own("PUT", file.uploadLink, Buffer.from(png, "base64"), { "content-type": "image/png" });
    await own("POST", file.commitLink, "{}");
    await own("POST", `/media/v2/files/${file.id}/variants?clip=1x1`);
    const asked = await find("POST /media/v2/files/{fileId}/variants");
    const job = await find("job variant", { kind: KIND.consumer });
    expect(job.links).toMatchObject([{ traceId: asked.traceId }]);
    expect(job.attributes).toMatchObject({ "file.id": file.id, "messaging.delivery.attempt": 1 });
    await find("D1", { traceId: job.traceId });
  });

  // shows: platform/traces/cron
  test("show each sweep of the cron, and the calls to a provider, without a secret", async () => {
    const cron = await find("cron");
    await find("sweep outbox", { traceId: cron.traceId, parentSpanId: cron.spanId });
    const exchange = await find("POST provider");
    expect(exchange.attributes).toMatchObject({ "server.address": "127.0.0.1", "http.response.status_code": 200 });
    await find("GET /oauth2/v1/callback/{providerId}", { traceId: exchange.traceId });
    for (const { clientSecret } of Object.values(providers)) expect(otlp.text()).not.toContain(clientSecret);
    for (const name of ["OPERATOR_CLIENT_SECRET", "DEMO_CLIENT_SECRET", "DEMO_USER_PASSWORD"])
      expect(otlp.text()).not.toContain(localSecret(name));
  });
});

/** The address at which the browser would come back from the provider, before it does. */
async function callbackOf(browser: CookieBrowser, provider: Name, login = ADA): Promise<URL> {
  browser.stopAt(`${platform.url}/oauth2/v1/callback/`);
  const shown = await signIn(browser, provider, login);
  browser.stopAt(undefined);
  expect(shown.url.searchParams.get("code"), shown.text.slice(0, 500)).toEqual(expect.any(String));
  return shown.url;
}
