import { env } from "cloudflare:workers";
import { decodeJwt } from "jose";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createDeps } from "../../../src/deps.ts";
import { createFactorStore } from "../../../src/oauth/factors/factor-store.ts";
import { RUNS_OF_AN_HOUR } from "../../../src/platform/storage/slice.ts";
import { parseObjectShards } from "../../../src/platform/storage/object-shards.ts";
import { shardsOf } from "../../../src/platform/storage/shards.ts";
import { Browser, landed, toInit, type Visit } from "../../support/browser.ts";
import { isolate, type Isolate } from "../../support/isolate.ts";
import { answerAt, requestsTo } from "../../support/outside.ts";
import { call, expectJson, ORIGIN } from "../../support/platform/call.ts";
import { OPERATOR, put } from "../../support/platform/operator.ts";
import { basic, tokenFor } from "../../support/platform/tokens.ts";
import { unique } from "../../support/platform/unique.ts";
import { everywhere, onlyShards, shardDb } from "../../support/shards.ts";
import { makeApp, signInThrough, visit, type TestApp } from "../../support/sign-in.ts";
import { sweptAt } from "../../support/sweep.ts";
import { makeUser, type TestUser } from "../../support/users.ts";
import { isLiving } from "../support/answers.ts";
import { CHALLENGE, VERIFIER } from "../support/code.ts";
import type { Tokens } from "../support/token-requests.ts";
import { operated } from "./support.ts";

/**
 * Whole sign-ins of people whose home is another database than the directory: through the pages, from the form to the
 * end of the session. Shard 3 is an object, and with `npm test -- objects` all of them are.
 */
afterEach(() => {
  vi.useRealTimers();
});

const ACCOUNT = `${ORIGIN}/account`;
const HELD_ELSEWHERE = /^[\w-]{44}(~[\w-]+){3}$/;

interface Person {
  readonly user: TestUser;
  readonly app: TestApp;
}
const person = async (home: number): Promise<Person> => {
  const user = await makeUser({ home });
  return { user, app: await makeApp({ tenant: user.tenant }) };
};
const through = ({ fetch }: Isolate = isolate()) =>
  new Browser({ send: (address, init) => fetch(address, toInit(init)) });
const rowsIn = async (shard: number, table: string, email: string): Promise<number> =>
  (await shardDb(shard).prepare(`SELECT count(*) AS n FROM ${table} WHERE email = ?`).bind(email).first<number>("n"))!;
/** Sessions, codes and grants of a person, by shard. */
const placesOf = (email: string): Promise<readonly string[]> =>
  Promise.all(
    shardsOf(env).map(async ({ number }) =>
      (
        await Promise.all(
          ["session", "authorization_code", "refresh_grant"].map((table) => rowsIn(number, table, email)),
        )
      ).join(),
    ),
  );
const tokensFor = ({ app }: Person, code: string, more: Record<string, string> = {}): Promise<Response> => {
  const form = { grant_type: "authorization_code", code, redirect_uri: app.redirectUri, ...more };
  return call("/oauth2/v1/token", { form, headers: { authorization: basic(app) } });
};
const codeOf = (answer: Visit): string => landed(answer).query.get("code") ?? "";
const tokensOf = async (who: Person, answer: Visit): Promise<Tokens> =>
  expectJson<Tokens>(await tokensFor(who, codeOf(answer)), 200);
const sessionOf = (email: string) =>
  everywhere
    .prepare("SELECT id_hash AS hash, sid FROM session WHERE email = ?")
    .bind(email)
    .first<{ hash: string; sid: string }>();
const press = async (browser: Browser, name: string) => {
  const { forms } = await browser.get(ACCOUNT);
  const form = forms.find(({ action }) => action.endsWith(`/account/${name}`))!;
  return browser.post(form.action, form.fields);
};
const isSignedIn = async (browser: Browser, app: TestApp): Promise<boolean> =>
  codeOf(await visit(browser, app, { prompt: "none" })) !== "";

describe("A sign-in", () => {
  // shows: operator/shards/sign-ins
  it.each([0, 1, 3])("lies in the home of its person as a whole: shard %i", async (home) => {
    const who = await person(home);
    const browser = through();
    const answer = await signInThrough(browser, who.app, who.user);
    const [code, cookie] = [codeOf(answer), browser.cookies.get("__Host-plat_session")!];
    expect([code, cookie].map((held) => HELD_ELSEWHERE.test(held))).toEqual([home > 0, home > 0]);
    expect(cookie).not.toContain(who.user.email);
    const { refresh_token, access_token } = await tokensOf(who, answer);
    const other = codeOf(await visit(browser, who.app));
    expect(other).not.toBe("");
    const expected = shardsOf(env).map(({ number }) => (number === home ? "1,2,1" : "0,0,0"));
    expect(await placesOf(who.user.email)).toEqual(expected);
    expect(await isLiving(access_token)).toBe(true);
    expect(decodeJwt<{ sid: string }>(access_token).sid).toBe((await sessionOf(who.user.email))!.sid);
    const form = { grant_type: "refresh_token", refresh_token };
    expect((await call("/oauth2/v1/token", { form, headers: { authorization: basic(who.app) } })).status).toBe(200);
    // A second use of the code revokes its tokens.
    expect((await tokensFor(who, code)).status).toBe(400);
    expect(await isLiving(access_token)).toBe(false);
    expect(await placesOf(who.user.email)).toEqual(expected.map((place) => place.replace("1,2,1", "1,1,0")));
  });

  it("in the object shard is one: the tests have a database that is an object", () => {
    expect(parseObjectShards(env.OBJECT_SHARDS)?.has(3)).toBe(true);
  });

  it("gives no code to a request that does not fit, and keeps it for the one that does", async () => {
    const who = await person(1);
    const stranger = await makeApp({ tenant: who.user.tenant });
    const challenge = { code_challenge: CHALLENGE, code_challenge_method: "S256" };
    const code = codeOf(await signInThrough(through(), who.app, who.user, challenge));
    const refused = [
      await tokensFor({ ...who, app: stranger }, code, { code_verifier: VERIFIER }),
      await tokensFor(who, code),
      await tokensFor(who, code, { code_verifier: `${VERIFIER}x` }),
      await tokensFor(who, code, { code_verifier: "short" }),
      await tokensFor(who, code, { code_verifier: VERIFIER, redirect_uri: "https://app.example/other" }),
      await tokensFor(who, code, { code_verifier: VERIFIER, scope: "plat.unknown" }),
      await tokensFor(who, `${code}x`, { code_verifier: VERIFIER }),
    ];
    expect(refused.map(({ status }) => status)).toEqual(refused.map(() => 400));
    const member = `tenants/${who.user.tenant}/members/${who.user.email}`;
    expect(await operated(member, "DELETE")).toBe(204);
    expect((await tokensFor(who, code, { code_verifier: VERIFIER })).status).toBe(400);
    expect(await rowsIn(1, "refresh_grant", who.user.email)).toBe(0);
    await put(member, { roles: [] });
    expect((await tokensFor(who, code, { code_verifier: VERIFIER, scope: "no_tenant" })).status).toBe(400);
    expect((await tokensFor(who, code, { code_verifier: VERIFIER })).status).toBe(200);
    expect(await rowsIn(1, "refresh_grant", who.user.email)).toBe(1);
  });

  it("gives no code to a request in time for another one's time", async () => {
    const who = await person(2);
    const code = codeOf(await signInThrough(through(), who.app, who.user));
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 61_000 });
    expect((await tokensFor(who, code)).status).toBe(400);
    expect(await rowsIn(2, "refresh_grant", who.user.email)).toBe(0);
  });

  it("of before there were shards goes on in the directory; the next one in its browser begins in the home", async () => {
    const who = await person(2);
    const alone = through(isolate(onlyShards(1)));
    await signInThrough(alone, who.app, who.user);
    expect(alone.cookies.get("__Host-plat_session")).toMatch(/^[\w-]{43}$/);
    const browser = through();
    for (const [name, value] of alone.cookies) browser.cookies.set(name, value);
    const answer = await visit(browser, who.app);
    expect(codeOf(answer)).toMatch(/^[\w-]{43}$/);
    const { refresh_token } = await tokensOf(who, answer);
    expect(refresh_token).toMatch(/^[\w-]{43}$/);
    expect((await placesOf(who.user.email))[0]).toBe("1,2,1");
    const again = await signInThrough(browser, who.app, who.user, { prompt: "login" });
    await tokensOf(who, again);
    const places = await placesOf(who.user.email);
    expect([places[0], places[2]]).toEqual(["0,2,1", "1,1,1"]);
    const form = { grant_type: "refresh_token", refresh_token };
    expect((await call("/oauth2/v1/token", { form, headers: { authorization: basic(who.app) } })).status).toBe(200);
  });

  it("is found without the address in its cookie and code, after the key is gone that sealed it", async () => {
    const who = await person(1);
    const browser = through();
    const code = codeOf(await signInThrough(browser, who.app, who.user));
    const own = isolate({ SEAL_KEYS: `new:${btoa("n".repeat(32))}` });
    const later = through(own);
    for (const [name, value] of browser.cookies) later.cookies.set(name, value);
    expect(codeOf(await visit(later, who.app))).not.toBe("");
    const body = new URLSearchParams({ grant_type: "authorization_code", code, redirect_uri: who.app.redirectUri });
    const headers = { authorization: basic(who.app) };
    const answer = await isolate({ SEAL_KEYS: `new:${btoa("n".repeat(32))},${env.SEAL_KEYS}` }).fetch(
      "/oauth2/v1/token",
      { method: "POST", headers, body },
    );
    expect(answer.status).toBe(200);
  });

  it("for a device is decided in the directory, and its tokens come of the home", async () => {
    const user = await makeUser({ home: 1 });
    const grantTypes = ["urn:ietf:params:oauth:grant-type:device_code", "refresh_token"];
    const app = await makeApp({ tenant: user.tenant, grantTypes });
    const headers = { authorization: basic(app) };
    const begun = await call("/oauth2/v1/device_authorization", { form: {}, headers });
    const { device_code, verification_uri_complete } = await expectJson<Record<string, string>>(begun, 200);
    const browser = through();
    const follow = async (page: Visit): Promise<Visit> =>
      page.location === undefined ? page : follow(await browser.get(page.location));
    const signIn = await follow(await browser.submit(await browser.get(verification_uri_complete!), {}));
    const consent = await follow(await browser.submit(signIn, { email: user.email, password: user.password }));
    await browser.submit(consent, { decision: "allow" });
    const form = { grant_type: grantTypes[0]!, device_code: device_code! };
    const answer = await call("/oauth2/v1/token", { form, headers });
    expect((await expectJson<Tokens>(answer, 200)).refresh_token).toMatch(HELD_ELSEWHERE);
    expect(await rowsIn(1, "refresh_grant", user.email)).toBe(1);
  });
});

describe("The sessions of a person", () => {
  it("of all homes are one list, for the person and for the operator", async () => {
    const who = await person(1);
    const old = through(isolate(onlyShards(1)));
    const [first, second] = [through(), through()];
    for (const browser of [old, first, second]) await signInThrough(browser, who.app, who.user);
    expect((await placesOf(who.user.email)).map((place) => place[0])).toEqual(["1", "2", "0", "0"]);
    const cards = (await second.get(ACCOUNT)).html.split('name="session"').length - 1;
    expect(cards).toBe(2);
    const path = `/admin/v1/users/${who.user.email}/sessions`;
    const listed = await expectJson<{ sessionId: string }[]>(
      await call(path, { token: await tokenFor(OPERATOR) }),
      200,
    );
    expect(listed.length).toBe(3);
    // The second browser ends the other sessions.
    const others = (await second.get(ACCOUNT)).forms.filter(({ action }) => action.endsWith("/end-session"));
    for (const form of others) await second.post(form.action, form.fields);
    expect(await Promise.all([old, first, second].map((at) => isSignedIn(at, who.app)))).toEqual([false, false, true]);
  });

  const ENDS: Record<string, (who: Person, browser: Browser, sid: string) => Promise<unknown>> = {
    "its own page": (_, browser) => press(browser, "sign-out"),
    "all of them": (_, browser) => press(browser, "end-all"),
    "the client": ({ app }, browser) => browser.get(`${ORIGIN}/oauth2/v1/end_session?client_id=${app.clientId}`),
    "the operator": (_, __, sid) => operated(`sessions/${sid}/revoke`, "POST"),
    "the operator, for the person": ({ user }) => operated(`users/${user.email}/revoke`, "POST"),
    "another password": ({ user }) => operated(`users/${user.email}`, "PUT", { password: unique("another good one ") }),
    "the removal of the account": ({ user }) => operated(`users/${user.email}`, "DELETE"),
  };
  // shows: operator/shards/sign-ins-ended
  it.each(Object.entries(ENDS))("end by %s, and their clients are told once", async (_, end) => {
    const who = await person(3);
    const address = `https://${unique("rp")}.example.com/logout`;
    await put(`clients/${who.app.clientId}`, {
      tenant: who.app.tenant,
      confidential: true,
      clientSecret: who.app.clientSecret,
      redirectUris: [who.app.redirectUri],
      grantTypes: ["authorization_code", "refresh_token"],
      scopes: [],
      backchannelLogoutUri: address,
    });
    await answerAt(address, { status: 204 });
    const browser = through();
    await signInThrough(browser, who.app, who.user);
    const { sid } = (await sessionOf(who.user.email))!;
    expect(await rowsIn(3, "session_client", who.user.email)).toBe(1);
    await end(who, browser, sid);
    expect(await isSignedIn(browser, who.app)).toBe(false);
    expect([await rowsIn(3, "session", who.user.email), await rowsIn(3, "session_client", who.user.email)]).toEqual([
      0, 0,
    ]);
    await createDeps(env).oauth.tellClients();
    // A drain after a response may still be delivering the notice.
    const told: object[] = [];
    for (let waitedMs = 0; waitedMs < (told.length === 0 ? 3_000 : 60); waitedMs += 20) {
      told.push(...(await requestsTo(address)));
      await scheduler.wait(20);
    }
    expect(told.length).toBe(1);
  });

  it("that broke off are told of within the hour, those that expire are not", async () => {
    const who = await person(1);
    const browser = through();
    await signInThrough(browser, who.app, who.user);
    await signInThrough(through(), who.app, who.user);
    const { results } = await shardDb(1)
      .prepare("SELECT id_hash AS hash, sid FROM session WHERE email = ? ORDER BY id_hash")
      .bind(who.user.email)
      .all<{ hash: string; sid: string }>();
    const told = `INSERT INTO session_client (sid, client, session, email, subject, issuer) VALUES (?1, ?2, ?1, ?3, 's', 'i')`;
    for (const { sid } of results) await shardDb(1).prepare(told).bind(sid, who.app.clientId, who.user.email).run();
    const notices = async () =>
      (await shardDb(1).prepare("SELECT sid FROM logout_notice WHERE client = ?").bind(who.app.clientId).all()).results;
    const [expired, signedOut] = results as [(typeof results)[0], (typeof results)[0]];
    await shardDb(1).prepare("UPDATE session SET expires_at = 1 WHERE id_hash = ?").bind(expired.hash).run();
    await createDeps(env).oauth.sweep(sweptAt(expired.hash, Date.now(), RUNS_OF_AN_HOUR));
    expect([await notices(), await rowsIn(1, "session_client", who.user.email)]).toEqual([[], 1]);
    // Simulates a crash: the directory has signed the person out, but the shard still has the session.
    await env.DB.prepare("UPDATE user SET signed_out_at = ?2 WHERE email = ?1")
      .bind(who.user.email, Date.now() + 1)
      .run();
    expect(await isSignedIn(browser, who.app)).toBe(false);
    await createDeps(env).oauth.sweep(sweptAt(signedOut.hash, Date.now(), RUNS_OF_AN_HOUR));
    expect(await notices()).toEqual([{ sid: signedOut.sid }]);
  });

  it("change no second factor once they are revoked, or their person is signed out", async () => {
    const { user } = await person(1);
    const nowMs = Date.now();
    const totp = { email: user.email, sealedSecret: "x", lastStep: 1, recoveryHashes: [], nowMs };
    const factors = createFactorStore(env.DB);
    const nothing = env.DB.prepare("SELECT 1");
    const add = (sid: string, sinceMs = nowMs) =>
      factors.add({ ...totp, session: { sid, elsewhereSinceMs: sinceMs } }, nothing);
    const sid = unique("sid");
    expect(await operated(`sessions/${sid}/revoke`, "POST")).toBe(204);
    expect(await add(sid)).toBe(false);
    expect(await add(unique("sid"), 1)).toBe(false);
    expect(await add(unique("sid"))).toBe(true);
  });
});
