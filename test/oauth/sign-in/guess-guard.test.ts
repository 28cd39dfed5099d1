import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { sha256Hex } from "../../../src/platform/secrets/hash.ts";
import { createNames } from "../../../src/platform/model/names.ts";
import { hashPassword } from "../../../src/platform/secrets/password-hash.ts";
import { systemRandom } from "../../../src/platform/runtime/random.ts";
import { createSealer, parseSealKeys } from "../../../src/platform/secrets/seal.ts";
import type { AnyCall } from "../../../src/oauth/model/call.ts";
import { deviceCookie } from "../../../src/oauth/sign-in/device.ts";
import { GUESS_LIMITS, allowedAtMs } from "../../../src/oauth/sign-in/guesses.ts";
import { authorizeAddress, Browser, toInit } from "../../support/browser.ts";
import { aroundObjects, counting } from "../../support/counting.ts";
import { isolate, learnsLogouts, type Isolate } from "../../support/isolate.ts";
import { call, expectJson, ORIGIN } from "../../support/platform/call.ts";
import { OPERATOR, put } from "../../support/platform/operator.ts";
import { makeTenant } from "../../support/platform/tenants.ts";
import { tokenFor } from "../../support/platform/tokens.ts";
import { unique } from "../../support/platform/unique.ts";
import { makeApp, requestFor } from "../../support/sign-in.ts";
import { cheapHash, makeUser, type TestUser } from "../../support/users.ts";
import { runs } from "../../support/model-runs.ts";

/** Protection against few passwords at many accounts, and against strangers who lock accounts. */
const TOKEN = "/oauth2/v1/token";
const ACCOUNT = `${ORIGIN}/account`;
const WRONG = "The e-mail address or the password is wrong.";
const BLOCKED = "There were too many unsuccessful authentication attempts. Try again later.";

/** An isolate for each test, with limits as deployed, because its audit log has a limit too. */
let deployed: Isolate;
beforeEach(() => {
  deployed = isolate({ ALLOW_LOOPBACK: "false" });
});
const addresses = Array.from({ length: 60 }, (_, at) => `192.0.2.${at + 1}`);
let nextAddress = 0;
const newAddress = (): string => addresses[nextAddress++ % addresses.length]!;

async function signIn(email: string, password: string, address: string): Promise<[string, string | null]> {
  const form = { grant_type: "password", plat_id_provider: "legacy_idp", username: email, password };
  const response = await deployed.fetch(TOKEN, {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded", "cf-connecting-ip": address },
    body: new URLSearchParams({ ...form, scope: "plat.no_tenant" }).toString(),
  });
  const { error_description: said = "ok" } = JSON.parse(await response.text()) as { error_description?: string };
  expect(response.status).toBe(said === "ok" ? 200 : 400);
  return [said, response.headers.get("retry-after")];
}

/** Users whose passwords are cheap to verify. */
async function makeUsers(count: number, password: string, hash = cheapHash(password)): Promise<string[]> {
  const emails = Array.from({ length: count }, () => `${unique("u")}@example.org`);
  const insert = env.DB.prepare(
    "INSERT INTO user (email, name, password_hash, disabled, created_at, signed_out_at) VALUES (?1, 'U', ?2, 0, 1, 0)",
  );
  await env.DB.batch(emails.map((email) => insert.bind(email, hash)));
  return emails;
}

const reasonsAbout = async (subject: string): Promise<string[]> => {
  const rows = await call("/admin/v1/audit?pageSize=300", { token: await tokenFor(OPERATOR) });
  return (await expectJson<any[]>(rows, 200)).filter((row) => row.subject === subject).map(({ reason }) => reason);
};

afterEach(() => {
  vi.useRealTimers();
});

describe("One password tried at many accounts", () => {
  // shows: oauth/accounts/one-password-at-many-accounts
  // shows: asvs/v6-authentication/6.3.1
  it("is refused after ten of them, from any network, right or wrong", async () => {
    const [spray, right] = [unique("spray"), unique("right")];
    const emails = await makeUsers(40, right);
    const victim = (await makeUsers(1, spray))[0]!;
    const address = newAddress();
    const said: string[] = [];
    for (const email of emails.slice(0, 12)) said.push((await signIn(email, spray, address))[0]);
    expect(said).toEqual([...Array.from({ length: 10 }, () => WRONG), BLOCKED, BLOCKED]);
    const [again, retryAfter] = await signIn(victim, spray, newAddress());
    expect(again).toBe(BLOCKED);
    expect(Number(retryAfter)).toBeGreaterThan(23 * 3600);
    expect(await reasonsAbout(`users/${victim}`)).toEqual(["too many accounts failed with this password"]);
    // Accounts that failed with this password have only their own limit now. Other passwords can be tried.
    expect((await signIn(emails[0]!, spray, newAddress()))[0]).toBe(WRONG);
    expect((await signIn(emails[0]!, right, newAddress()))[0]).toBe("ok");
  });

  it("is tried at ten of forty that come at once", async () => {
    const spray = unique("spray");
    const emails = await makeUsers(40, unique("right"));
    const said = await Promise.all(emails.map(async (email) => (await signIn(email, spray, newAddress()))[0]));
    expect(said.filter((text) => text === WRONG)).toHaveLength(10);
  });

  it("is accepted at any number of accounts where it is right: successes do not count", async () => {
    const password = unique("welcome");
    const address = newAddress();
    const emails = await makeUsers(12, password, hashPassword(password, systemRandom));
    const said: string[] = [];
    for (const email of emails) said.push((await signIn(email, password, address))[0]);
    expect(new Set(said)).toEqual(new Set(["ok"]));
  });
});

describe("Right passwords that come at once", () => {
  it("wait for each other and succeed, even with fewer slots for guesses", async () => {
    const password = unique("nine o'clock");
    const emails = await makeUsers(12, password);
    const office = newAddress();
    // No password is verified before all slots are taken.
    const taken = Promise.withResolvers<void>();
    let tried = 0;
    const held = aroundObjects(env.LOGIN_ATTEMPTS, async (_, attempt) => {
      if (++tried === GUESS_LIMITS.password.accounts) setTimeout(taken.resolve, 50);
      await taken.promise;
      return attempt();
    });
    deployed = isolate({ ALLOW_LOOPBACK: "false", LOGIN_ATTEMPTS: held });
    const said = await Promise.all(emails.map(async (email) => (await signIn(email, password, office))[0]));
    expect(new Set(said)).toEqual(new Set(["ok"]));
  });

  it("are refused if the first ones turn out wrong, and after a while in any case", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const counter = env.GUESS_COUNTER.get(env.GUESS_COUNTER.newUniqueId());
    for (let n = 0; n < 10; n++) await counter.admit("password", `a${n}`, 0);
    const late = await counter.admit("password", "b", 20);
    expect(late).toMatchObject({ admitted: false });
    const [first, second] = ["c", "d"].map(async (name) => (await counter.admit("password", name, 60_000)).admitted);
    for (let n = 0; n < 9; n++) await counter.settle("password", `a${n}`, true);
    await counter.settle("password", "a9", false);
    expect(await first).toBe(true);
    await counter.settle("password", "c", true);
    expect(await second).toBe(false);
  });
});

describe("Many accounts tried from one network", () => {
  // shows: oauth/accounts/many-accounts-from-one-network
  // shows: asvs/v6-authentication/6.3.1
  it("are limited to thirty within an hour, for any passwords; other networks go on", async () => {
    const right = unique("right");
    const emails = await makeUsers(32, right);
    const [address, office] = ["2001:db8:0:77::1", newAddress()];
    for (const email of emails.slice(0, 30)) expect((await signIn(email, unique("x"), address))[0]).toBe(WRONG);
    const [said, retryAfter] = await signIn(emails[30]!, right, "2001:db8:0:77:ffff::2");
    expect([said, Number(retryAfter) > 3000]).toEqual([BLOCKED, true]);
    expect(await reasonsAbout(`users/${emails[30]}`)).toEqual(["too many accounts failed from this network"]);
    expect((await signIn(emails[31]!, right, office))[0]).toBe("ok");
    expect((await signIn(emails[0]!, right, address))[0]).toBe("ok");
  });

  it("do not lock out the users of one application: its network is not theirs", async () => {
    const app = await makeApp({ grantTypes: ["password"] });
    const counted = counting({ ...env, ALLOW_LOOPBACK: "false" });
    const own = isolate(counted.env);
    const asked: unknown[] = [];
    // A client named without its secret is counted by the network.
    for (const proof of [{ client_secret: app.clientSecret }, {}] as Record<string, string>[]) {
      const user = { username: `${unique("nobody")}@example.org`, password: unique("guess") };
      const form = {
        grant_type: "password",
        plat_id_provider: "legacy_idp",
        client_id: app.clientId,
        ...user,
        ...proof,
      };
      counted.reset();
      expect((await own.fetch(TOKEN, { method: "POST", body: new URLSearchParams(form) })).status).toBe(400);
      asked.push(counted.tally.objectCalls["GUESS_COUNTER.admit"]);
    }
    expect(asked).toEqual([1, 2]);
  });

  it("are not limited if the counter does not respond, nor where loopback addresses are allowed", async () => {
    const [user] = [await makeUser()];
    const errors = vi.spyOn(console, "error").mockImplementation(() => {});
    const broken = new Proxy(env.GUESS_COUNTER, {
      get: () => () => ({
        admit: () => Promise.reject(new Error("lost")),
        settle: () => Promise.reject(new Error("lost")),
      }),
    });
    const own = isolate({ ALLOW_LOOPBACK: "false", GUESS_COUNTER: broken });
    const local = isolate({ GUESS_COUNTER: new Proxy(broken, { get: () => expect.unreachable() }) });
    for (const one of [own, local]) {
      const form = {
        grant_type: "password",
        plat_id_provider: "legacy_idp",
        username: user.email,
        password: user.password,
      };
      expect((await one.fetch(TOKEN, { method: "POST", body: new URLSearchParams(form) })).status).toBe(200);
    }
    expect(errors).toHaveBeenCalled();
    errors.mockRestore();
  });
});

describe("The counter of guesses", () => {
  const kinds = fc.constantFrom("network" as const, "password" as const);
  const newCounter = () => env.GUESS_COUNTER.get(env.GUESS_COUNTER.newUniqueId());

  it("never lets more accounts fail within the time than the limit, in any order", () => {
    const step = fc.record({ account: fc.nat(60), right: fc.boolean(), afterMs: fc.nat(20 * 60_000) });
    fc.assert(
      fc.property(kinds, fc.array(step, { maxLength: 120, size: "max" }), (kind, steps) => {
        const limit = GUESS_LIMITS[kind];
        const failed = new Map<string, number>();
        const seen: { account: string; atMs: number }[] = [];
        let nowMs = 1_000_000;
        for (const { account: at, right, afterMs } of steps) {
          nowMs += afterMs;
          const account = String(at);
          const opens = allowedAtMs(account, { failed, inProgress: new Set() }, limit, nowMs);
          const recent = seen.filter(({ atMs }) => nowMs - atMs < limit.withinMs);
          const others = new Set(recent.map((one) => one.account));
          expect(opens <= nowMs).toBe(others.has(account) || others.size < limit.accounts);
          if (opens > nowMs) {
            // The limit opens at this moment and not before.
            expect(allowedAtMs(account, { failed, inProgress: new Set() }, limit, opens)).toBe(opens);
            expect(allowedAtMs(account, { failed, inProgress: new Set() }, limit, opens - 1)).toBe(opens);
          } else if (!right) {
            failed.set(account, nowMs + limit.withinMs);
            seen.push({ account, atMs: nowMs });
          }
        }
      }),
      { numRuns: runs(30) },
    );
  });

  it("writes nothing for a right password, keeps failures past an eviction, and deletes everything at the end", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    vi.setSystemTime(Date.UTC(2027, 0, 1));
    const counter = newCounter();
    const tables = () =>
      runInDurableObject(
        counter,
        (_, { storage }) => storage.sql.exec("SELECT name FROM sqlite_master").toArray().length,
      );
    expect(await counter.admit("password", "a", 0)).toMatchObject({ admitted: true });
    await counter.settle("password", "a", false);
    expect(await tables()).toBe(0);
    for (let n = 0; n < 10; n++) {
      await counter.admit("password", `b${n}`, 0);
      await counter.settle("password", `b${n}`, true);
    }
    expect((await counter.admit("password", "c", 0)).admitted).toBe(false);
    vi.setSystemTime(Date.UTC(2027, 0, 2));
    expect(await runDurableObjectAlarm(counter)).toBe(true);
    expect(await tables()).toBe(0);
    expect((await counter.admit("password", "c", 0)).admitted).toBe(true);
  });

  it("keeps an account's slot while another attempt at it is in progress", async () => {
    const counter = newCounter();
    for (const account of ["a", "a"]) await counter.admit("password", account, 0);
    // One attempt ends without a failure, because another counter refused it.
    await counter.settle("password", "a", false);
    for (let n = 1; n < 10; n++) expect((await counter.admit("password", `b${n}`, 0)).admitted).toBe(true);
    expect((await counter.admit("password", "c", 0)).admitted).toBe(false);
    await counter.settle("password", "a", false);
    expect((await counter.admit("password", "c", 0)).admitted).toBe(true);
  });

  it("returns a slot that was never settled", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    vi.setSystemTime(Date.UTC(2027, 0, 1));
    const counter = newCounter();
    for (let n = 0; n < 10; n++) await counter.admit("password", `a${n}`, 0);
    expect((await counter.admit("password", "b", 0)).admitted).toBe(false);
    vi.setSystemTime(Date.UTC(2027, 0, 1) + 30_000);
    expect((await counter.admit("password", "b", 0)).admitted).toBe(true);
  });
});

describe("The cost of the sign-in form (architecture, What an operation may cost)", () => {
  it("is two more counters for an unknown browser, each asked before and told beside the response", async () => {
    const app = await makeApp();
    const user = await makeUser({ tenant: app.tenant });
    // The hash has the current cost, so the sign-in does not replace it.
    const hash = hashPassword(user.password, systemRandom);
    await env.DB.prepare("UPDATE user SET password_hash = ?2 WHERE email = ?1").bind(user.email, hash).run();
    const counted = counting({ ...env, ALLOW_LOOPBACK: "false" });
    const own = isolate(counted.env);
    const browser = new Browser({ send: (address, init) => own.fetch(address, toInit(init)) });
    await learnsLogouts({ fetch: (path, init) => own.fetch(`${ORIGIN}${path}`, init) });
    const costs: object[] = [];
    for (const password of [user.password, user.password, "a wrong guess"]) {
      const page = await browser.get(authorizeAddress({ ...requestFor(app), prompt: "login" }));
      counted.reset();
      await browser.submit(page, { email: user.email, password });
      const { d1RoundTrips, objectCalls, auditRows } = structuredClone(counted.tally);
      costs.push({ d1RoundTrips, objectCalls, auditRows });
    }
    const attempt = { "LOGIN_ATTEMPTS.attempt": 1 };
    const guarded = { ...attempt, "GUESS_COUNTER.admit": 2, "GUESS_COUNTER.settle": 2 };
    expect(costs).toEqual([
      { d1RoundTrips: 2, objectCalls: guarded, auditRows: 0 },
      { d1RoundTrips: 2, objectCalls: attempt, auditRows: 0 },
      { d1RoundTrips: 1, objectCalls: attempt, auditRows: 1 },
    ]);
  });
});

describe("A browser in which its user signed in before", () => {
  let tenant: string;
  beforeAll(async () => {
    tenant = await makeTenant();
  });
  const newBrowser = () => new Browser({ send: (address, init) => deployed.fetch(address, toInit(init)) });
  const enter = async (browser: Browser, user: { email: string; password: string }): Promise<boolean> => {
    browser.cookies.delete("__Host-plat_session");
    const page = await browser.get(ACCOUNT);
    return (await browser.submit(page, { email: user.email, password: user.password })).status === 303;
  };
  /** Adds failures at the account's object, where they are cheap. */
  const fail = async (user: TestUser, times: number, device?: string): Promise<void> => {
    const account = env.LOGIN_ATTEMPTS.getByName(await sha256Hex(user.email));
    for (let n = 0; n < times; n++) await account.attempt(cheapHash("right"), "guess", device);
  };
  /** Blocks the account by fifteen failures from anywhere. */
  const lockOut = async (user: TestUser): Promise<void> => {
    await fail(user, 14);
    const address = newAddress();
    expect((await signIn(user.email, unique("guess"), address))[0]).toBe(WRONG);
    expect((await signIn(user.email, user.password, address))[0]).toBe(BLOCKED);
  };

  // shows: oauth/accounts/a-known-browser
  // shows: asvs/v6-authentication/6.3.1
  it("is not locked out by strangers who guess at the account or use up its password or network", async () => {
    const user = await makeUser({ tenant });
    const browser = newBrowser();
    expect(await enter(browser, user)).toBe(true);
    await lockOut(user);
    for (const email of await makeUsers(10, unique("right"))) await signIn(email, user.password, newAddress());
    expect(await enter(newBrowser(), user)).toBe(false);
    expect(await enter(browser, user)).toBe(true);
    // This sign-in unlocks the account for nobody else.
    expect(await enter(newBrowser(), user)).toBe(false);
  });

  // shows: oauth/accounts/a-known-browser
  it("has a limit of the same strength of its own", async () => {
    const user = await makeUser({ tenant });
    const browser = newBrowser();
    await enter(browser, user);
    await fail(user, 14, browser.cookie("device")?.split(".")[0]);
    expect(await enter(browser, { ...user, password: "guess" })).toBe(false);
    expect(await enter(browser, user)).toBe(false);
    expect(await reasonsAbout(`users/${user.email}`)).toContain("the account is blocked for this known browser");
    expect(await enter(newBrowser(), user)).toBe(true);
    await call(`/admin/v1/users/${user.email}/unlock`, { method: "POST", token: await tokenFor(OPERATOR) });
    expect(await enter(browser, user)).toBe(true);
  });

  it("shares its limit at the account with other sessions if it lacks the cookie", async () => {
    const user = await makeUser({ tenant });
    const next = unique("another password");
    const change = async (browser: Browser, password: string): Promise<number> => {
      const { forms } = await browser.get(ACCOUNT);
      const form = forms.find(({ action }) => action.endsWith("/account/password"));
      const passwords = { password, new_password: next, repeated_password: next };
      return (await browser.post(form?.action ?? "", { ...form?.fields, ...passwords })).status;
    };
    const cheapen = env.DB.prepare("UPDATE user SET password_hash = ?2 WHERE email = ?1");
    for (const guesses of [8, 7, 0]) {
      const browser = newBrowser();
      expect(await enter(browser, user)).toBe(true);
      browser.cookies.delete("__Host-plat_device");
      await cheapen.bind(user.email, cheapHash(user.password)).run();
      for (let n = 0; n < guesses; n++) expect(await change(browser, "a guess")).toBe(400);
      if (guesses === 0) expect(await change(browser, user.password)).toBe(400);
    }
    expect(await reasonsAbout(`users/${user.email}`)).toContain("the account is blocked for this known browser");
  });

  it("is recognized for a year by a cookie that names nobody, and by no other", async () => {
    const [user, other] = [await makeUser({ tenant }), await makeUser({ tenant })];
    const browser = newBrowser();
    await enter(browser, user);
    const cookie = browser.cookie("device")!;
    expect(browser.setCookies.at(-1)).toMatch(
      /^__Host-plat_device=[\w.-]+; Path=\/; HttpOnly; SameSite=Lax; Secure; Max-Age=31536000$/,
    );
    await enter(browser, user);
    expect(browser.cookie("device")).toBe(cookie);
    await enter(browser, other);
    expect(browser.cookie("device")).toMatch(new RegExp(`^[\\w.-]+~${cookie.replaceAll(".", "\\.")}$`));
    await lockOut(user);
    const [id, time, mac] = cookie.split(".");
    const changed = [
      `${id}.${time}.${mac?.slice(0, -2)}AA`,
      `${id}x.${time}.${mac}`,
      `${id}.${time}0.${mac}`,
      "~",
      "x".repeat(5000),
    ];
    for (const value of changed) {
      const forged = newBrowser();
      forged.cookies.set("__Host-plat_device", value);
      expect(await enter(forged, user)).toBe(false);
    }
    expect(await enter(browser, user)).toBe(true);
    await env.DB.prepare("UPDATE user SET signed_out_at = 0 WHERE email = ?1").bind(user.email).run();
    for (const [days, expected] of [
      [364, true],
      [366, false],
    ] as const) {
      const aged = newBrowser();
      const [pair = ""] = (await madeBefore(user.email, days * 24 * 3_600_000)).split(";");
      aged.cookies.set("__Host-plat_device", pair.slice(pair.indexOf("=") + 1));
      expect(await enter(aged, user)).toBe(expected);
    }
  });

  it.each([
    ["another password", (email: string) => put(`users/${email}`, { password: "another good password" })],
    [
      "an end of everything",
      async (email: string) =>
        call(`/admin/v1/users/${email}/revoke`, { method: "POST", token: await tokenFor(OPERATOR) }),
    ],
  ])("counts as unknown after %s", async (_, end) => {
    const user = await makeUser({ tenant });
    const browser = newBrowser();
    await enter(browser, user);
    await end(user.email);
    const now = { ...user, password: _ === "another password" ? "another good password" : user.password };
    await lockOut(now);
    expect(await enter(browser, now)).toBe(false);
  });
});

/** The cookie of a browser in which the user signed in `agoMs` ago. */
async function madeBefore(email: string, agoMs: number): Promise<string> {
  const keys = parseSealKeys(env.SEAL_KEYS);
  if (!keys.ok) throw new Error(keys.error);
  const asked = { request: new Request(ORIGIN), url: new URL(ORIGIN) } as AnyCall;
  const sealer = createSealer(keys.value, systemRandom);
  return deviceCookie({ names: createNames("plat"), random: systemRandom, sealer }, asked, email, Date.now() - agoMs);
}
