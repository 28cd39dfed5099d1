import { decodeJwt } from "jose";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { createRefreshStore } from "../../../src/oauth/grants/refresh-store.ts";
import { Browser, toInit, type Visit } from "../../support/browser.ts";
import { atEachCall } from "../../support/each-call.ts";
import { isolate } from "../../support/isolate.ts";
import { call, expectJson, ORIGIN } from "../../support/platform/call.ts";
import { put } from "../../support/platform/operator.ts";
import { makeTenant } from "../../support/platform/tenants.ts";
import { basic } from "../../support/platform/tokens.ts";
import { makeProver, type Prover } from "../../support/parties/prover.ts";
import { appOf, recoveryCodesOf } from "../../support/parties/totp.ts";
import { shardDb } from "../../support/shards.ts";
import { makeApp, signInThrough, type TestApp } from "../../support/sign-in.ts";
import { makeUser, type TestUser } from "../../support/users.ts";
import { failureOf } from "../support/answers.ts";

const OAUTH = `${ORIGIN}/oauth2/v1`;
const GRANT = "urn:ietf:params:oauth:grant-type:device_code";

let tenant: string;
let ada: TestUser;
let browser: Browser;
/** A command-line client. It has no secret and no redirect URI. */
let tool: TestApp;
beforeAll(async () => {
  tenant = await makeTenant();
  ada = await makeUser({ tenant });
  browser = new Browser();
  await signInThrough(browser, await makeApp({ tenant }), ada);
  tool = await makeApp({ tenant, confidential: false, redirectUris: [], grantTypes: [GRANT, "refresh_token"] });
});
afterEach(() => {
  vi.useRealTimers();
});

interface Device {
  readonly device_code: string;
  readonly user_code: string;
  readonly verification_uri: string;
  readonly verification_uri_complete: string;
}

const proofOf = (app: TestApp) => (app.clientSecret === "" ? {} : { headers: { authorization: basic(app) } });
async function begin(form: Record<string, string> = {}, app = tool): Promise<Device> {
  const sent = { client_id: app.clientId, scope: "openid plat.media_view", ...form };
  const answer = await expectJson(await call("/oauth2/v1/device_authorization", { form: sent, ...proofOf(app) }), 200);
  expect(answer).toMatchObject({ expires_in: 600, interval: 5 });
  return answer as Device;
}
const poll = (device: Device, app = tool): Promise<Response> =>
  call("/oauth2/v1/token", {
    form: { grant_type: GRANT, client_id: app.clientId, device_code: device.device_code },
    ...proofOf(app),
  });
/** Types the code. Returns the page after all redirects within the platform. */
async function type(from: Browser, userCode: string): Promise<Visit> {
  const page = await from.get(`${OAUTH}/device`);
  return follow(from, await from.submit(page, { user_code: userCode }));
}
const follow = async (from: Browser, answer: Visit): Promise<Visit> =>
  answer.location?.startsWith(OAUTH) === true ? follow(from, await from.get(answer.location)) : answer;
const decide = async (from: Browser, page: Visit, decision: "allow" | "deny"): Promise<Visit> =>
  follow(from, await from.submit(page, { decision }));
const later = (sec: number) => vi.useFakeTimers({ now: Date.now() + sec * 1000, toFake: ["Date"] });

describe("The device grant", () => {
  // shows: oauth/devices/device_authorization
  // shows: oauth/devices/page
  // shows: oauth/devices/tokens
  it("gives tokens to a device whose code a person typed and allowed", async () => {
    const device = await begin();
    expect(device.user_code).toMatch(/^[B-DF-HJ-NP-TV-XZ]{4}-[B-DF-HJ-NP-TV-XZ]{4}$/);
    expect(device.verification_uri).toBe(`${OAUTH}/device`);
    expect((await browser.get(device.verification_uri_complete)).html).toContain(`value="${device.user_code}"`);
    const page = await type(browser, ` ${device.user_code.toLowerCase().replace("-", " ")}`);
    for (const shown of [device.user_code, tool.clientId, "plat.media_view", ada.email])
      expect(page.html).toContain(shown);
    expect(await failureOf(await poll(device))).toBe("400 authorization_pending");
    const done = await decide(browser, page, "allow");
    expect([done.status, done.location]).toEqual([200, undefined]);
    expect(done.html).toContain("connected");
    const tokens = await expectJson(await poll(device), 200);
    expect(decodeJwt(tokens.access_token as string)).toMatchObject({ user: ada.email, client_id: tool.clientId });
    expect(decodeJwt(tokens.id_token as string)).toMatchObject({ aud: tool.clientId });
    const form = {
      grant_type: "refresh_token",
      client_id: tool.clientId,
      refresh_token: tokens.refresh_token as string,
    };
    await expectJson(await call("/oauth2/v1/token", { form }), 200);
    // A second use of a device code after that of its tokens means that it was stolen, so they are revoked.
    expect(await failureOf(await poll(device))).toBe("400 invalid_grant");
    expect(await failureOf(await call("/oauth2/v1/token", { form }))).toBe("400 invalid_grant");
  });

  /** A device that was allowed, by a person whose sign-ins lie in this shard. */
  async function allowed(home: number, app = tool): Promise<Device> {
    const person = await makeUser({ tenant, home });
    const from = new Browser();
    await signInThrough(from, await makeApp({ tenant }), person);
    const device = await begin({}, app);
    await decide(from, await type(from, device.user_code), "allow");
    return device;
  }
  const refreshed = (refresh_token: string): Promise<Response> =>
    call("/oauth2/v1/token", { form: { grant_type: "refresh_token", client_id: tool.clientId, refresh_token } });
  type Tokens = { readonly access_token: string; readonly refresh_token: string };

  // shows: oauth/devices/tokens-again
  it.each([0, 1])("gives the tokens again for 30 s, since answers are lost: in shard %i", async (home) => {
    const device = await allowed(home);
    const polls = await Promise.all([0, 1].map(async () => expectJson<Tokens>(await poll(device), 200)));
    later(29);
    polls.push(await expectJson<Tokens>(await poll(device), 200));
    expect(new Set(polls.map(({ refresh_token }) => refresh_token)).size).toBe(1);
    expect(new Set(polls.map(({ access_token }) => decodeJwt(access_token)["gid"])).size).toBe(1);
    for (const { access_token: token } of polls)
      expect((await call("/oauth2/v1/userinfo", { token })).status).toBe(200);
    expect((await refreshed(polls[0]!.refresh_token)).status).toBe(200);
    // Whoever has the device code and not the tokens is somebody else.
    expect(await failureOf(await poll(device))).toBe("400 invalid_grant");
    expect((await call("/oauth2/v1/userinfo", { token: polls[0]!.access_token })).status).toBe(401);
  });

  // shows: oauth/devices/tokens-again
  it.each([0, 1])("ends them if the device code comes later than that: in shard %i", async (home) => {
    const device = await allowed(home);
    const { refresh_token } = await expectJson<Tokens>(await poll(device), 200);
    later(31);
    expect(await failureOf(await poll(device))).toBe("400 invalid_grant");
    expect(await failureOf(await refreshed(refresh_token))).toBe("400 invalid_grant");
  });

  // shows: oauth/devices/tokens-again
  it.each([0, 1])("ends them after a client with a secret used the refresh token: in shard %i", async (home) => {
    const app = await makeApp({ tenant, redirectUris: [], grantTypes: [GRANT, "refresh_token"] });
    const device = await allowed(home, app);
    const { refresh_token } = await expectJson<Tokens>(await poll(device, app), 200);
    await expectJson(await poll(device, app), 200);
    const form = { grant_type: "refresh_token", refresh_token };
    await expectJson(await call("/oauth2/v1/token", { form, ...proofOf(app) }), 200);
    expect(await failureOf(await poll(device, app))).toBe("400 invalid_grant");
  });

  it("does not give them again while their grant is being revoked in another shard than the first", async () => {
    const device = await allowed(1);
    const { access_token } = await expectJson<Tokens>(await poll(device), 200);
    const grant = decodeJwt(access_token)["gid"] as string;
    // The first step of a revocation, before its row in the directory (refresh-grants.ts).
    const users = { find: async () => undefined, findBeside: () => Promise.reject(new Error("not the directory")) };
    await createRefreshStore(shardDb(1), users, false).makeVoid([grant]);
    expect(await failureOf(await poll(device))).toBe("400 invalid_grant");
  });

  it.each([0, 1])("gives them again by the key of the first poll only: in shard %i", async (home) => {
    const [own, thief] = [await makeProver(), await makeProver()];
    const plain = await makeApp({ tenant, confidential: false, redirectUris: [], grantTypes: [GRANT] });
    const token = "/oauth2/v1/token";
    const pollBy = async (by: Prover, device: Device, app: TestApp): Promise<Response> =>
      by.send(token, {
        method: "POST",
        form: { grant_type: GRANT, client_id: app.clientId, device_code: device.device_code },
      });
    for (const app of [tool, plain])
      for (const again of [(device: Device) => poll(device, app), (device: Device) => pollBy(thief, device, app)]) {
        const device = await allowed(home, app);
        const { access_token } = await expectJson<Tokens>(await pollBy(own, device, app), 200);
        expect((await pollBy(own, device, app)).status).toBe(200);
        expect.soft(await failureOf(await again(device))).toBe("400 invalid_grant");
        expect.soft((await own.send("/oauth2/v1/userinfo", { token: access_token })).status).toBe(401);
      }
  });

  it.each([0, 1])("gives a token again where there are no refresh tokens: in shard %i", async (home) => {
    const plain = await makeApp({ tenant, confidential: false, redirectUris: [], grantTypes: [GRANT] });
    const device = await allowed(home, plain);
    for (let n = 0; n < 2; n++) {
      const { access_token: token, ...rest } = await expectJson<Tokens>(await poll(device, plain), 200);
      expect([rest.refresh_token, (await call("/oauth2/v1/userinfo", { token })).status]).toEqual([undefined, 200]);
    }
    later(31);
    expect(await failureOf(await poll(device, plain))).toBe("400 invalid_grant");
  });

  // shows: oauth/devices/tokens-again
  it.each([0, 1])("gets its tokens whenever a database fails, if it polls again: in shard %i", async (home) => {
    const person = await makeUser({ tenant, home });
    const from = new Browser();
    await signInThrough(from, await makeApp({ tenant }), person);
    await atEachCall(async (breaking) => {
      const device = await begin();
      await decide(from, await type(from, device.user_code), "allow");
      const fetch = breaking();
      const body = new URLSearchParams({
        grant_type: GRANT,
        client_id: tool.clientId,
        device_code: device.device_code,
      });
      const first = await fetch("/oauth2/v1/token", { method: "POST", body });
      if (first.status !== 200) expect(first.status).toBe(503);
      const tokens = await expectJson<Tokens>(first.status === 200 ? first : await poll(device), 200);
      expect((await refreshed(tokens.refresh_token)).status).toBe(200);
    });
  });

  // shows: oauth/devices/tokens-again
  it("gets its tokens, and once more, if a person allows it in its last second", async () => {
    const device = await begin();
    const page = await type(browser, device.user_code);
    later(599);
    expect((await decide(browser, page, "allow")).html).toContain("The device is connected");
    later(2);
    await expectJson(await poll(device), 200);
    later(20);
    await expectJson(await poll(device), 200);
    later(10);
    expect(await failureOf(await poll(device))).toBe("400 expired_token");
  });

  it("is not connected by a person who allows it too late, and who is told to begin again", async () => {
    const page = await type(browser, (await begin()).user_code);
    later(601);
    const { html } = await decide(browser, page, "allow");
    expect(html).toContain("The device was not connected");
    expect(html).toContain("begin again there");
  });

  it("is decided by the form that is sent again after a failure of a database", async () => {
    const { fetch: here } = isolate();
    await atEachCall(async (breaking) => {
      let fetch = here;
      const from = new Browser({ send: (address, init) => fetch(address, toInit(init)) });
      for (const [name, value] of browser.cookies) from.cookies.set(name, value);
      const device = await begin();
      const page = await type(from, device.user_code);
      fetch = breaking();
      const first = await from.submit(page, { decision: "allow" });
      fetch = here;
      if (first.status >= 500) await from.submit(page, { decision: "allow" });
      await expectJson(await poll(device), 200);
    });
  });

  // shows: oauth/devices/page
  it("asks for the sign-in, and for each device anew", async () => {
    for (const from of [new Browser(), browser]) {
      const device = await begin();
      let page = await type(from, device.user_code);
      if (page.html.includes("current-password"))
        page = await follow(from, await from.submit(page, { email: ada.email, password: ada.password }));
      expect(page.html).toContain(device.user_code);
      await decide(from, page, "allow");
      await expectJson(await poll(device), 200);
    }
  });

  // shows: asvs/v6-authentication/6.3.4
  it("gives nothing before the person has set up the second factor that the tenant requires", async () => {
    const strict = await makeTenant();
    const grace = await makeUser({ tenant: strict });
    await put(`tenants/${strict}`, { organization: `${strict}-org`, name: "Strict", requireSecondFactor: true });
    const theirs = { tenant: strict, confidential: false, redirectUris: [], grantTypes: [GRANT] };
    const theirTool = await makeApp(theirs);
    const device = await begin({}, theirTool);
    const from = new Browser();
    const asked = await type(from, device.user_code);
    const page = await follow(from, await from.submit(asked, { email: grace.email, password: grace.password }));
    const app = appOf(page);
    // The form of the decision cannot bypass the set-up.
    const again = await follow(from, await from.get(device.verification_uri_complete));
    expect((await follow(from, await from.submit(again, { decision: "allow" }))).html).not.toContain("is connected");
    expect(await failureOf(await poll(device, theirTool))).toBe("400 authorization_pending");
    const codes = await from.submit(page, { code: app.code() });
    expect(recoveryCodesOf(codes).length).toBe(10);
    const consent = await follow(from, await from.submit(codes, {}));
    expect(consent.html).toContain(device.user_code);
    later(10);
    expect(await failureOf(await poll(device, theirTool))).toBe("400 authorization_pending");
    await decide(from, consent, "allow");
    later(20);
    const { id_token } = await expectJson<{ id_token: string }>(await poll(device, theirTool), 200);
    expect(decodeJwt(id_token)["amr"]).toEqual(["pwd", "otp", "mfa"]);
  });

  // shows: oauth/devices/errors
  it("tells a device that polls too often, was denied, or is too late", async () => {
    const device = await begin();
    const page = await type(browser, device.user_code);
    expect(await failureOf(await poll(device))).toBe("400 authorization_pending");
    expect(await failureOf(await poll(device))).toBe("400 slow_down");
    later(6);
    expect(await failureOf(await poll(device))).toBe("400 slow_down");
    later(21);
    expect(await failureOf(await poll(device))).toBe("400 authorization_pending");
    const answer = await decide(browser, page, "deny");
    expect(answer.html).toContain("not connected");
    expect(await failureOf(await poll(device))).toBe("400 access_denied");
    expect((await type(browser, device.user_code)).status).toBe(400);
    vi.useRealTimers();
    const late = await begin();
    later(601);
    expect(await failureOf(await poll(late))).toBe("400 expired_token");
    expect((await type(browser, late.user_code)).status).toBe(400);
  });

  // shows: oauth/devices/by-registration
  it("is of registered clients, and a code is of its client", async () => {
    const other = await makeApp({ tenant, confidential: false, grantTypes: [GRANT] });
    const device = await begin();
    expect(await failureOf(await poll(device, other))).toBe("400 invalid_grant");
    expect(await failureOf(await poll({ ...device, device_code: "made-up" }))).toBe("400 invalid_grant");
    const web = await makeApp({ tenant });
    const ask = (form: Record<string, string>, authorization = "") =>
      call("/oauth2/v1/device_authorization", { form, ...(authorization && { headers: { authorization } }) });
    expect(await failureOf(await ask({}, basic(web)))).toBe("400 unauthorized_client");
    expect(await failureOf(await ask({}))).toBe("401 invalid_client");
    expect(await failureOf(await ask({ client_id: tool.clientId, scope: "not.listed" }))).toBe("400 invalid_scope");
    expect(await failureOf(await poll(device, web))).toBe("400 unauthorized_client");
  });

  it("cannot be begun at /authorize or /par, whatever they are sent", async () => {
    const device = await begin();
    const app = await makeApp({ tenant });
    const form = { response_type: "code", plat_device: `00 ${device.user_code}` };
    const headers = { authorization: basic(app) };
    const { request_uri } = await expectJson(await call("/oauth2/v1/par", { form, headers }), 201);
    const query = { client_id: app.clientId, ...form };
    for (const sent of [query, { client_id: app.clientId, request_uri: request_uri as string }]) {
      const answer = await browser.get(`${OAUTH}/authorize?${new URLSearchParams(sent).toString()}`);
      expect(answer.location).toMatch(/^https:\/\/app\.example\/callback\?code=/);
    }
  });

  // shows: oauth/devices/guesses
  it("refuses codes of a network with thirty wrong ones", async () => {
    const device = await begin();
    const deployed = isolate({ ALLOW_LOOPBACK: "false" });
    const guesser = new Browser({
      headers: { "cf-connecting-ip": "203.0.113.77" },
      send: (to, init) => deployed.fetch(to, toInit(init)),
    });
    const own = await guesser.get(`${OAUTH}/device`);
    const letters = "BCDFGHJKLMNPQRSTVWXZ";
    for (let at = 0; at < 30; at++)
      await guesser.submit(own, { user_code: `BBBB-BB${letters[Math.floor(at / 20)]}${letters[at % 20]}` });
    const blocked = await guesser.submit(own, { user_code: device.user_code });
    expect([blocked.status, blocked.location]).toEqual([400, undefined]);
    expect((await type(browser, device.user_code)).html).toContain(device.user_code);
  });
});
