import { env } from "cloudflare:workers";
import { createLocalJWKSet, jwtVerify, type JSONWebKeySet, type JWTPayload } from "jose";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { createDeps } from "../../../src/deps.ts";
import { createLogoutStore } from "../../../src/oauth/logout/logout-store.ts";
import { createLogouts } from "../../../src/oauth/logout/logout.ts";
import { ENDPOINT } from "../../../src/platform/delivery/limits.ts";
import { noMeter } from "../../../src/platform/ports/metrics.ts";
import { noTracing } from "../../../src/platform/ports/tracing.ts";
import { Browser } from "../../support/browser.ts";
import { directoryWith } from "../../support/directory.ts";
import { isolate } from "../../support/isolate.ts";
import { heardLog } from "../../support/runtime/heard-log.ts";
import { answerAt, requestsTo } from "../../support/outside.ts";
import { call, expectJson, ORIGIN } from "../../support/platform/call.ts";
import { operate, OPERATOR, put } from "../../support/platform/operator.ts";
import { basic, tokenFor } from "../../support/platform/tokens.ts";
import { unique } from "../../support/platform/unique.ts";
import { everywhere } from "../../support/shards.ts";
import { makeApp, signInThrough, visit, type TestApp } from "../../support/sign-in.ts";
import { makeUser, type TestUser } from "../../support/users.ts";

const ISSUER = `${ORIGIN}/oauth2/v1`;
const ACCOUNT = `${ORIGIN}/account`;
const EVENT = "http://schemas.openid.net/event/backchannel-logout";

interface Told {
  readonly app: TestApp;
  readonly address: string;
}

let user: TestUser;
beforeEach(async () => {
  user = await makeUser();
});

/** A client with an address for logout notices. */
async function makeTold(answer: object | readonly object[] = { status: 204 }): Promise<Told> {
  const app = await makeApp({ tenant: user.tenant, postLogoutRedirectUris: ["https://app.example/"] });
  const address = `https://${unique("rp")}.example.com/logout`;
  await register(app, address);
  await answerAt(address, answer);
  return { app, address };
}

const register = (app: TestApp, backchannelLogoutUri: string) =>
  put(`clients/${app.clientId}`, {
    tenant: app.tenant,
    confidential: true,
    clientSecret: app.clientSecret,
    redirectUris: [app.redirectUri],
    postLogoutRedirectUris: ["https://app.example/"],
    grantTypes: ["authorization_code", "implicit", "refresh_token"],
    scopes: [],
    backchannelLogoutUri,
    backchannelLogoutSessionRequired: true,
  });

const signIn = (browser: Browser, { app }: Told) => signInThrough(browser, app, user, { scope: "openid" });

async function idTokenOf({ app }: Told, location: string | undefined): Promise<JWTPayload> {
  const code = new URL(location!).searchParams.get("code")!;
  const form = { grant_type: "authorization_code", code, redirect_uri: app.redirectUri };
  const answer = await call("/oauth2/v1/token", { form, headers: { authorization: basic(app) } });
  const { id_token: idToken } = await expectJson(answer, 200);
  return (await jwtVerify(idToken, await keys())).payload;
}

interface LogoutDelivery {
  readonly id: string;
  readonly nextAttemptAt: number | null;
  readonly lastAttempt: { readonly at: number } | null;
}
interface Attention {
  readonly items: readonly object[];
}

const keys = async () => createLocalJWKSet(await expectJson<JSONWebKeySet>(await call("/oauth2/v1/jwks"), 200));

const came = new Map<string, string[]>();

/** Waits for `count` logout tokens, which are sent after the responses. Checks them as a client does. */
async function toldAt({ app, address }: Told, count = 1): Promise<JWTPayload[]> {
  const tokens = came.get(address) ?? [];
  came.set(address, tokens);
  // After the expected tokens, a short wait shows whether more come.
  for (let waitedMs = 0; tokens.length < count ? waitedMs < 3_000 : waitedMs < 60; waitedMs += 20) {
    for (const { method, headers, body } of await requestsTo(address)) {
      expect([method, headers["content-type"]]).toEqual(["POST", "application/x-www-form-urlencoded;charset=UTF-8"]);
      tokens.push(new URLSearchParams(body).get("logout_token")!);
    }
    await scheduler.wait(20);
  }
  const checks = { issuer: ISSUER, audience: app.clientId, typ: "logout+jwt", requiredClaims: ["iat", "exp", "jti"] };
  const known = await keys();
  return Promise.all(tokens.map(async (token) => (await jwtVerify(token, known, checks)).payload));
}

const submitAt = async (browser: Browser, name: string): Promise<void> => {
  const page = await browser.get(ACCOUNT);
  const form = page.forms.find(({ action }) => action.endsWith(`/account/${name}`))!;
  expect((await browser.post(form.action, form.fields)).status).toBe(303);
};

const rsaKeys = () =>
  crypto.subtle.generateKey(
    { name: "RSASSA-PKCS1-v1_5", modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]), hash: "SHA-256" },
    false,
    ["sign", "verify"],
  ) as Promise<CryptoKeyPair>;

/** Lets time pass and runs the scheduled delivery. */
const cronAfter = async (ms: number): Promise<void> => {
  await env.DB.prepare(`UPDATE logout_notice SET next_at = next_at - ? WHERE dead_at IS NULL`).bind(ms).run();
  await createDeps(env).oauth.tellClients();
};
const waiting = (app: TestApp) =>
  env.DB.prepare(`SELECT attempts FROM logout_notice WHERE client = ?`).bind(app.clientId).all();
const operated = (path: string, method = "POST") => operate(path, method);

describe("a client with a back-channel logout address", () => {
  // shows: oauth/back-channel-logout/logout-token
  it("is told that the session ended, with the person and the session of its ID token", async () => {
    const told = await makeTold();
    const browser = new Browser();
    const idToken = await idTokenOf(told, (await signIn(browser, told)).location);
    expect(await toldAt(told, 0)).toEqual([]);
    await browser.get(`${ISSUER}/end_session?client_id=${told.app.clientId}`);
    const [claims, ...more] = await toldAt(told);
    expect(more).toEqual([]);
    expect(claims).toMatchObject({ sub: idToken.sub, sid: idToken["sid"], events: { [EVENT]: {} } });
    expect(claims!.exp! - claims!.iat!).toBe(120);
    // A logout token must not be valid as an ID token or an access token.
    expect(claims).not.toHaveProperty("nonce");
    expect(claims).not.toHaveProperty("email");
    await expect.poll(async () => (await waiting(told.app)).results).toEqual([]);
  });

  // shows: oauth/back-channel-logout/which-clients
  it("is told once, beside every other client of the session, and nobody else is", async () => {
    const [one, other, stranger] = [await makeTold(), await makeTold(), await makeTold()];
    const browser = new Browser();
    await signIn(browser, one);
    await visit(browser, one.app, { scope: "openid" });
    await visit(browser, other.app, { scope: "openid", response_type: "id_token", nonce: "n" });
    await signIn(new Browser(), stranger);
    await browser.get(`${ISSUER}/end_session`);
    expect((await toldAt(one)).length).toBe(1);
    expect((await toldAt(other)).length).toBe(1);
    expect(await toldAt(stranger, 0)).toEqual([]);
  });

  // shows: oauth/back-channel-logout/every-end
  it.each([
    ["signs out at the account page", (browser: Browser) => submitAt(browser, "sign-out")],
    ["ends all sessions there", (browser: Browser) => submitAt(browser, "end-all")],
    ["is signed out by the operator", async () => operated(`users/${user.email}/revoke`)],
    [
      "gets another password from the operator",
      async () => put(`users/${user.email}`, { password: "another one of hers" }),
    ],
    ["is disabled", async () => put(`users/${user.email}`, { disabled: true })],
    ["is removed", async () => operated(`users/${user.email}`, "DELETE")],
  ] as const)("is told if the person %s", async (_, end) => {
    const told = await makeTold();
    const browser = new Browser();
    const { sid } = await idTokenOf(told, (await signIn(browser, told)).location);
    await end(browser);
    expect(await toldAt(told)).toMatchObject([{ sid }]);
  });

  it("is told if the operator ends the one session", async () => {
    const told = await makeTold();
    const { sid } = await idTokenOf(told, (await signIn(new Browser(), told)).location);
    await signIn(new Browser(), told);
    await operated(`sessions/${String(sid)}/revoke`);
    expect(await toldAt(told)).toMatchObject([{ sid }]);
  });

  it("is not told while its person signs in again in the browser, but at the end, by the id that it knows", async () => {
    const told = await makeTold();
    const browser = new Browser();
    const { sid } = await idTokenOf(told, (await signIn(browser, told)).location);
    await signInThrough(browser, told.app, user, { scope: "openid", prompt: "login" });
    expect(await toldAt(told, 0)).toEqual([]);
    await browser.get(`${ISSUER}/end_session`);
    const ended = (await toldAt(told, 2)).map((claims) => claims["sid"]);
    expect(ended).toHaveLength(2);
    expect(ended).toContain(sid);
  });

  it("is told if another person signs in in the browser", async () => {
    const told = await makeTold();
    const browser = new Browser();
    const { sid } = await idTokenOf(told, (await signIn(browser, told)).location);
    const other = await makeUser({ tenant: user.tenant });
    await signInThrough(browser, told.app, other, { scope: "openid", prompt: "login" });
    expect(await toldAt(told)).toMatchObject([{ sid }]);
  });

  it("is not told of a session that ended by its time", async () => {
    const told = await makeTold();
    await signIn(new Browser(), told);
    await everywhere.prepare(`UPDATE session SET expires_at = 1 WHERE email = ?`).bind(user.email).run();
    const { oauth } = createDeps(env);
    await oauth.sweep(Date.now());
    await oauth.tellClients();
    expect(await toldAt(told, 0)).toEqual([]);
    await expect.poll(async () => (await waiting(told.app)).results).toEqual([]);
  });
});

/** Adds notices of ended sessions of one person. */
const addNotices = (app: TestApp, count: number, since = Date.now()) =>
  env.DB.batch(
    Array.from({ length: count }, () =>
      env.DB.prepare(
        `INSERT INTO logout_notice (id, client, subject, sid, issuer, created_at, next_at) VALUES (?, ?, 's', 's', ?, ?, 0)`,
      ).bind(unique("notice"), app.clientId, ISSUER, since),
    ),
  );
const tell = () => createDeps(env).oauth.tellClients();
const healthOf = (app: TestApp) =>
  env.DB.prepare(`SELECT health, paused_until AS pausedUntilMs FROM logout_endpoint WHERE client = ?`)
    .bind(app.clientId)
    .first<{ health: string; pausedUntilMs: number }>();
const deliveries = async (app: TestApp, query = "") =>
  expectJson<LogoutDelivery[]>(await operated(`clients/${app.clientId}/logout-deliveries${query}`, "GET"), 200);

describe("a client that does not answer 2xx", () => {
  // shows: oauth/back-channel-logout/again
  it("is told again by the schedule of push, with the same jti, until it does", async () => {
    const told = await makeTold([{ status: 500 }, { status: 302 }, { status: 200 }]);
    await addNotices(told.app, 1);
    await tell();
    const [first] = await deliveries(told.app);
    expect(first).toMatchObject({ state: "pending", attempts: 1, lastAttempt: { status: 500, error: "status" } });
    const pauseMs = (one: LogoutDelivery | undefined) => one!.nextAttemptAt! - one!.lastAttempt!.at;
    expect(pauseMs(first)).toBeGreaterThanOrEqual(ENDPOINT.retryMs[0]);
    expect(pauseMs(first)).toBeLessThan(ENDPOINT.retryMs[0] * (1 + ENDPOINT.jitter) + 1_000);
    // The next attempt is not due yet.
    await tell();
    expect(await toldAt(told, 1)).toHaveLength(1);
    await cronAfter(10_000);
    const [second] = await deliveries(told.app);
    expect(second).toMatchObject({ attempts: 2, lastAttempt: { status: 302, error: "redirect" } });
    expect(pauseMs(second)).toBeGreaterThanOrEqual(ENDPOINT.retryMs[1]);
    await cronAfter(60_000);
    const claims = await toldAt(told, 3);
    expect(claims).toHaveLength(3);
    expect(new Set(claims.map(({ jti }) => jti))).toEqual(new Set([first!.id]));
    expect(await deliveries(told.app)).toEqual([]);
  });

  it("is told again beside the answer that ended the session, a few seconds later", async () => {
    const told = await makeTold([{ status: 500 }, { status: 204 }]);
    await addNotices(told.app, 1);
    const { privateKey } = await rsaKeys();
    let offsetMs = 0;
    const paused: number[] = [];
    const logouts = createLogouts({
      store: createLogoutStore(env.DB),
      elsewhere: [],
      trust: { signingKey: async () => ({ kid: "k", key: privateKey }) },
      isolate: {
        nowMs: () => Date.now() + offsetMs,
        chance: () => 0.5,
        pause: async (ms) => void ((offsetMs += ms), paused.push(ms)),
      },
      log: heardLog,
      meter: noMeter,
      tracing: noTracing,
      allowLoopback: false,
    });
    await logouts.drain("nothing is soon due", "anywhere");
    expect(paused).toHaveLength(1);
    expect(paused[0]).toBeGreaterThan(ENDPOINT.retryMs[0] * 0.9);
    expect(await requestsTo(told.address)).toHaveLength(2);
    expect(await deliveries(told.app)).toEqual([]);
  });

  it("names the time by Retry-After, for everything that it is to get", async () => {
    const told = await makeTold([{ status: 503, headers: { "retry-after": "1800" } }, { status: 204 }]);
    await addNotices(told.app, 1);
    await tell();
    const [one] = await deliveries(told.app);
    expect(one!.nextAttemptAt! - one!.lastAttempt!.at).toBeGreaterThan(1_795_000);
    await addNotices(told.app, 1);
    await tell();
    expect(await toldAt(told, 1)).toHaveLength(1);
  });

  // shows: oauth/back-channel-logout/dead
  it("gets a dead letter after nine attempts, which the operator sees and sends again", async () => {
    const told = await makeTold([...Array.from({ length: 9 }, () => ({ status: 400 })), { status: 200 }]);
    await addNotices(told.app, 1);
    for (let times = 0; times < 11; times++) await cronAfter(86_400_000);
    expect(await toldAt(told, 9)).toHaveLength(9);
    expect(await deliveries(told.app, "?state=pending")).toEqual([]);
    expect(await deliveries(told.app, "?state=dead")).toMatchObject([
      { attempts: 9, nextAttemptAt: null, lastAttempt: { status: 400 } },
    ]);
    const { items } = await expectJson<Attention>(await operated("attention", "GET"), 200);
    expect(items).toContainEqual(
      expect.objectContaining({ kind: "logouts_untold", subject: told.app.clientId, count: 1 }),
    );
    const again = await operated(`clients/${told.app.clientId}/logout-deliveries/redeliver`);
    expect(await expectJson(again, 200)).toEqual({ redelivered: 1 });
    await tell();
    expect(await toldAt(told, 10)).toHaveLength(10);
    expect(await deliveries(told.app)).toEqual([]);
    const audited = await expectJson(await operated(`audit?subject=clients/${told.app.clientId}`, "GET"), 200);
    expect(audited).toContainEqual(expect.objectContaining({ action: "redeliver logouts", outcome: "done" }));
  });

  it("gets nothing again unless the audit log says so", async () => {
    const told = await makeTold({ status: 410 });
    await addNotices(told.app, 1);
    await tell();
    const DB = directoryWith({
      batch: (statements) =>
        statements.length === 2 ? Promise.reject(new Error("D1 is away")) : env.DB.batch(statements),
    });
    vi.spyOn(console, "error").mockImplementation(() => {});
    const path = `/admin/v1/clients/${told.app.clientId}/logout-deliveries/redeliver`;
    const headers = { authorization: `Bearer ${await tokenFor(OPERATOR)}` };
    const answer = await isolate({ DB }).fetch(path, { method: "POST", headers });
    await answer.text();
    vi.restoreAllMocks();
    expect([answer.status >= 500, await deliveries(told.app)]).toMatchObject([true, [{ state: "dead" }]]);
  });

  it.each([
    ["answers 410", { status: 410 }, Date.now(), 1],
    ["was to be told for a week", { status: 200 }, Date.now() - 8 * 86_400_000, 0],
  ])("gets a dead letter at once if it %s", async (_, answer, since, attempts) => {
    const told = await makeTold(answer);
    await addNotices(told.app, 1, since);
    await tell();
    expect(await deliveries(told.app)).toMatchObject([{ state: "dead", attempts }]);
    expect(await toldAt(told, attempts)).toHaveLength(attempts);
  });

  // shows: oauth/back-channel-logout/circuit-breaker
  it("is tried by one alone, ever more rarely, while it does not answer at all", async () => {
    const told = await makeTold([...Array.from({ length: 7 }, () => ({ status: 522 })), { status: 204 }]);
    await addNotices(told.app, 10);
    await tell();
    // Six were in flight. Each attempt without a response shrank the window by one.
    expect(await toldAt(told, 6)).toHaveLength(6);
    const silent = await healthOf(told.app);
    expect(JSON.parse(silent!.health)).toMatchObject({ silent: 6 });
    expect(silent!.pausedUntilMs).toBeGreaterThan(Date.now() + 3_000);
    await tell();
    expect(await toldAt(told, 6)).toHaveLength(6);
    // After the pause, many drains send only one probe.
    const pauseIsOver = async () => {
      const { health } = (await healthOf(told.app))!;
      const over = JSON.stringify({ ...JSON.parse(health), silentUntilMs: 1 });
      const sql = `UPDATE logout_endpoint SET health = ?, paused_until = 1 WHERE client = ?`;
      await env.DB.prepare(sql).bind(over, told.app.clientId).run();
    };
    await pauseIsOver();
    await Promise.all([1, 2, 3].map(tell));
    expect(await toldAt(told, 7)).toHaveLength(7);
    expect((await healthOf(told.app))!.pausedUntilMs).toBeGreaterThan(Date.now() + 8_000);
    // A response ends the pauses.
    await pauseIsOver();
    await tell();
    expect(await healthOf(told.app)).toBeNull();
    await cronAfter(86_400_000);
    expect(await deliveries(told.app)).toEqual([]);
  });

  it("is tried at once if the operator sends again, and at another address", async () => {
    const told = await makeTold({ status: 204 });
    await addNotices(told.app, 1);
    const silence = async () => {
      const health = { silent: 9, silentUntilMs: Date.now() + 40_000, retryAfterUntilMs: 0 };
      await env.DB.prepare(`INSERT OR REPLACE INTO logout_endpoint VALUES (?, ?, ?, ?)`)
        .bind(told.app.clientId, told.address, JSON.stringify(health), health.silentUntilMs)
        .run();
    };
    await silence();
    await tell();
    expect(await toldAt(told, 0)).toEqual([]);
    expect(await deliveries(told.app)).toHaveLength(1);
    await operated(`clients/${told.app.clientId}/logout-deliveries/redeliver`);
    await tell();
    expect(await toldAt(told, 1)).toHaveLength(1);
    await silence();
    await addNotices(told.app, 1);
    const elsewhere = `https://${unique("rp")}.example.com/logout`;
    await answerAt(elsewhere, { status: 204 });
    await register(told.app, elsewhere);
    await tell();
    expect(await requestsTo(elsewhere)).toHaveLength(1);
  });

  it("has its dead letters removed after 30 days, and the oldest beyond the most", async () => {
    const told = await makeTold({ status: 410 });
    await addNotices(told.app, 3);
    await tell();
    const die = (agoMs: number, limit: number) =>
      env.DB.prepare(
        `UPDATE logout_notice SET dead_at = ?1 WHERE id IN (SELECT id FROM logout_notice WHERE client = ?2 LIMIT ?3)`,
      )
        .bind(Date.now() - agoMs, told.app.clientId, limit)
        .run();
    await die(31 * 86_400_000, 1);
    await createDeps(env).oauth.sweep(Date.now());
    expect(await deliveries(told.app)).toHaveLength(2);
    await die(-86_400_000, 1);
    expect(await createLogoutStore(env.DB).deleteDead(0, 1, 500)).toBeGreaterThan(0);
    expect(await deliveries(told.app)).toHaveLength(1);
  });

  it("is told once by two drains at a time", async () => {
    const told = await makeTold([{ status: 500 }, { status: 204 }]);
    await addNotices(told.app, 1);
    await tell();
    expect(await toldAt(told, 1)).toHaveLength(1);
    await env.DB.prepare(`UPDATE logout_notice SET next_at = 0 WHERE client = ?`).bind(told.app.clientId).run();
    await Promise.all([1, 2, 3].map(tell));
    expect(await toldAt(told, 2)).toHaveLength(2);
  });

  it("is not told any more once its registration has no address", async () => {
    const told = await makeTold({ status: 500 });
    await addNotices(told.app, 1);
    await tell();
    await register(told.app, "");
    await cronAfter(86_400_000);
    expect(await toldAt(told, 1)).toHaveLength(1);
    await expect.poll(async () => (await waiting(told.app)).results).toEqual([]);
  });

  it("is nobody's that is not there", async () => {
    for (const [path, method] of [
      ["", "GET"],
      ["/redeliver", "POST"],
    ] as const)
      expect((await operated(`clients/no.one/logout-deliveries${path}`, method)).status).toBe(404);
  });
});

describe("a registration", () => {
  // shows: oauth/back-channel-logout/address
  it.each(["http://rp.example/logout", "https://10.0.0.1/logout", "https://user:pw@rp.example/", "logout"])(
    "is refused with the address %s",
    async (backchannelLogoutUri) => {
      const app = await makeApp({ tenant: user.tenant });
      await expect(register(app, backchannelLogoutUri)).rejects.toThrow(/400.*backchannelLogoutUri/);
    },
  );

  it("without an address costs nothing and remembers nobody", async () => {
    const app = await makeApp({ tenant: user.tenant });
    await signInThrough(new Browser(), app, user, { scope: "openid" });
    const { results } = await everywhere
      .prepare(`SELECT 1 FROM session_client WHERE client = ?`)
      .bind(app.clientId)
      .all();
    expect(results).toEqual([]);
  });
});
