import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { Browser, landed, toInit } from "../../support/browser.ts";
import { isolate } from "../../support/isolate.ts";
import { call, expectJson, ORIGIN } from "../../support/platform/call.ts";
import { makeTenant } from "../../support/platform/tenants.ts";
import { basic } from "../../support/platform/tokens.ts";
import { unique } from "../../support/platform/unique.ts";
import { makeProvider } from "../../support/parties/idp/scripted-provider.ts";
import { APP_URI, makeApp, visit, type TestApp } from "../../support/sign-in.ts";

/** Sign-ins that a row of the directory keeps before anybody is known (src/oauth/authorize/kept.ts). */
const GRANT = "urn:ietf:params:oauth:grant-type:device_code";
const CHALLENGE = { code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", code_challenge_method: "S256" };
const GRANTS = [GRANT, "authorization_code"];

let tenant: string;
let open: TestApp;
let secret: TestApp;
beforeAll(async () => {
  tenant = await makeTenant();
  open = await makeApp({ tenant, confidential: false, grantTypes: GRANTS, scopes: ["*"] });
  secret = await makeApp({ tenant, grantTypes: GRANTS, scopes: ["*"] });
});

type Platform = Pick<ReturnType<typeof isolate>, "fetch">;
const here: Platform = { fetch: (path, init) => call(path, init as Parameters<typeof call>[1]) };
const post = (
  path: "par" | "device_authorization",
  app: TestApp,
  form: Record<string, string>,
  { fetch }: Platform = here,
): Promise<Response> =>
  fetch(`/oauth2/v1/${path}`, {
    method: "POST",
    headers: {
      "content-type": "application/x-www-form-urlencoded",
      "cf-connecting-ip": "203.0.113.80",
      ...(app.clientSecret === "" ? {} : { authorization: basic(app) }),
    },
    body: new URLSearchParams({ client_id: app.clientId, ...form }).toString(),
  });
const push = (app: TestApp, form: Record<string, string> = {}, platform?: Platform): Promise<Response> =>
  post("par", app, { response_type: "code", redirect_uri: APP_URI, ...CHALLENGE, ...form }, platform);
const begin = (app: TestApp, form: Record<string, string> = {}, platform?: Platform): Promise<Response> =>
  post("device_authorization", app, form, platform);
const rows = async (table: "pushed_request" | "device_code", { clientId }: TestApp): Promise<number> =>
  (await env.DB.prepare(`SELECT count(*) AS n FROM ${table} WHERE client = ?`).bind(clientId).first<number>("n")) ?? 0;
const errorOf = async (response: Response): Promise<string> => {
  const { error, error_description: text } = await response.json<Record<"error" | "error_description", string>>();
  return `${response.status} ${error} ${text}`;
};
const scopesOf = (count: number, chars: number): string =>
  Array.from({ length: count }, (_, n) => `${n}`.padEnd(chars, "x")).join(" ");
/** Refuses from the given request on, and notes the keys. */
function limiter(refusesFrom: number): { binding: RateLimit; keys: string[] } {
  const keys: string[] = [];
  return { binding: { limit: async ({ key }) => ({ success: keys.push(key) < refusesFrom }) }, keys };
}

describe("The size of a kept request", () => {
  // shows: oauth/devices/kept
  it("of a device is what a sign-in can carry", async () => {
    for (const app of [open, secret]) {
      const before = await rows("device_code", app);
      expect((await begin(app, { scope: scopesOf(56, 256) })).status).toBe(200);
      const refused = await errorOf(await begin(app, { scope: scopesOf(200, 255) }));
      expect(refused).toMatch(/^400 invalid_request .*longer than 15360 characters.*fewer scopes/);
      const resource = `${ORIGIN}/media/v2?${"x".repeat(15_360)}`;
      expect((await begin(app, { resource })).status).toBe(400);
      expect(await rows("device_code", app)).toBe(before + 1);
    }
  });

  // shows: oauth/pushed-authorization-requests/kept
  it("of a pushed request is what a sign-in can carry, whichever parameter is long", async () => {
    for (const app of [open, secret]) {
      const before = await rows("pushed_request", app);
      expect((await push(app, { scope: scopesOf(56, 256) })).status).toBe(201);
      const long: Record<string, string>[] = [
        { scope: scopesOf(200, 255) },
        { claims: JSON.stringify({ userinfo: { ["x".repeat(16_000)]: null } }) },
        // Three characters each, once they are encoded.
        { login_hint: "\u00e9".repeat(3_000) },
        { ui_locales: "x".repeat(16_000) },
      ];
      for (const form of long)
        expect(await errorOf(await push(app, form))).toMatch(/^400 invalid_request .*longer than 15360 characters/);
      expect(await rows("pushed_request", app)).toBe(before + 1);
    }
  });
});

describe("The kept requests of a network", () => {
  // shows: oauth/devices/kept
  // shows: oauth/pushed-authorization-requests/kept
  it("are limited, for clients that do not prove themselves", async () => {
    const { binding, keys } = limiter(3);
    const deployed = isolate({ ALLOW_LOOPBACK: "false", KEPT_LIMIT: binding });
    await expectJson(await begin(open, {}, deployed), 200);
    await expectJson(await push(open, {}, deployed), 201);
    const before = [await rows("device_code", open), await rows("pushed_request", open)];
    for (const answer of [await begin(open, {}, deployed), await push(open, {}, deployed)]) {
      expect(answer.headers.get("retry-after")).toBe("60");
      expect(await errorOf(answer)).toMatch(/^429 temporarily_unavailable .*again in a minute/);
    }
    expect([await rows("device_code", open), await rows("pushed_request", open)]).toEqual(before);
    // A refused request counts for nobody.
    expect((await begin(open, { scope: "\u00fc" }, deployed)).status).toBe(400);
    expect(keys).toEqual(Array.from({ length: 4 }, () => "203.0.113.80"));
    await expectJson(await begin(secret, {}, deployed), 200);
    await expectJson(await push(secret, {}, deployed), 201);
    expect(keys.length).toBe(4);
  });

  it("are limited at a provider from the account page too, by its address and by the form for an address", async () => {
    const domain = `${unique("acme")}.example`;
    const provider = await makeProvider({ domains: [domain] });
    const { binding, keys } = limiter(3);
    const deployed = isolate({ ALLOW_LOOPBACK: "false", KEPT_LIMIT: binding });
    const browser = new Browser({ send: (to, init) => deployed.fetch(to, toInit(init)) });
    const kept = () => env.DB.prepare("SELECT count(*) AS n FROM federation").first<number>("n");
    const before = (await kept())!;
    const address = `${ORIGIN}/account?plat_id_provider=${provider.id}`;
    const form = await browser.get(`${ORIGIN}/account`);
    const email = `ada@${domain}`;
    const admitted = [await browser.get(address), await browser.submit(form, { email })];
    expect(admitted.map(({ location }) => location?.startsWith(provider.issuer))).toEqual([true, true]);
    for (const refused of [await browser.get(address), await browser.submit(form, { email })]) {
      expect([refused.status, refused.location]).toEqual([400, undefined]);
      expect(refused.html).toContain("Try again in a minute");
    }
    expect([keys.length, (await kept())! - before]).toEqual([4, 2]);
  });

  it("are limited at a provider, and behind the page for a device's code", async () => {
    const provider = await makeProvider();
    const app = await makeApp({ tenant });
    const { user_code: userCode } = await expectJson<{ user_code: string }>(await begin(open), 200);
    const deployed = isolate({ ALLOW_LOOPBACK: "false", KEPT_LIMIT: limiter(1).binding });
    const browser = new Browser({ send: (to, init) => deployed.fetch(to, toInit(init)) });
    const kept = () => env.DB.prepare("SELECT count(*) AS n FROM federation").first<number>("n");
    const before = await kept();
    const sent = await visit(browser, app, { plat_id_provider: provider.id });
    expect(landed(sent).query.get("error")).toBe("temporarily_unavailable");
    expect(landed(sent).query.get("error_description")).toContain("again in a minute");
    expect(await kept()).toBe(before);
    const page = await browser.get(`${ORIGIN}/oauth2/v1/device`);
    const pushed = await rows("pushed_request", open);
    const answer = await browser.submit(page, { user_code: userCode });
    expect([answer.status, answer.location]).toEqual([400, undefined]);
    expect(answer.html).toContain("again in a minute");
    expect(await rows("pushed_request", open)).toBe(pushed);
  });
});

describe("The kept requests of a client that authenticates", () => {
  // shows: oauth/devices/kept
  // shows: oauth/pushed-authorization-requests/kept
  it("are the newest 10,000, so strangers who cause them through the client do not stop it", async () => {
    const { clientId } = secret;
    const other = await makeApp({ tenant, grantTypes: GRANTS });
    expect([(await push(other)).status, (await begin(other)).status]).toEqual([201, 200]);
    await env.DB.batch(
      ["pushed_request", "device_code"].map((table) =>
        env.DB.prepare(`DELETE FROM ${table} WHERE client = ?`).bind(clientId),
      ),
    );
    const fill = (insert: string) =>
      env.DB.prepare(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 10000) ${insert}`)
        .bind(clientId, Date.now() + 60_000)
        .run();
    await fill("INSERT INTO pushed_request SELECT 'many ' || i, ?1, '', ?2, 1 FROM n");
    await fill(`INSERT INTO device_code (device_hash, user_code, client, scope, expires_at, interval_ms)
      SELECT 'many ' || i, 'many ' || i, ?1, '', ?2, 5000 FROM n`);
    for (let n = 0; n < 2; n++) expect([(await push(secret)).status, (await begin(secret)).status]).toEqual([201, 200]);
    for (const [table, hash] of [
      ["pushed_request", "request_hash"],
      ["device_code", "device_hash"],
    ] as const) {
      expect([await rows(table, secret), await rows(table, other)]).toEqual([10_000, 1]);
      const oldest = `SELECT ${hash} AS hash FROM ${table} WHERE client = ? ORDER BY rowid LIMIT 1`;
      expect(await env.DB.prepare(oldest).bind(clientId).first("hash")).toBe("many 3");
    }
  });

  // shows: oauth/devices/kept
  // shows: oauth/pushed-authorization-requests/kept
  it("make room as they expire, before the sweep", async () => {
    const full = await makeApp({ tenant, grantTypes: GRANTS });
    const fill = (insert: string, endedMs: number) =>
      env.DB.prepare(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 10000) ${insert}`)
        .bind(full.clientId, Date.now() - endedMs)
        .run();
    await fill("INSERT INTO pushed_request SELECT ?1 || i, ?1, '', ?2, 0 FROM n", 1);
    await fill(
      `INSERT INTO device_code (device_hash, user_code, client, scope, expires_at, interval_ms)
       SELECT ?1 || i, ?1 || i, ?1, '', ?2, 5000 FROM n`,
      600_001,
    );
    for (let n = 0; n < 2; n++) expect([(await push(full)).status, (await begin(full)).status]).toEqual([201, 200]);
    expect(await rows("pushed_request", full)).toBe(9_962);
    expect(await rows("device_code", full)).toBe(9_962);
  });
});
