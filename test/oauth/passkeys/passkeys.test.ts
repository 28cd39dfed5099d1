import { verifyAuthenticationResponse, verifyRegistrationResponse } from "@simplewebauthn/server";
import { env } from "cloudflare:workers";
import { decodeJwt } from "jose";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { fromBase64Url } from "../../../src/platform/text/encoding.ts";
import { BOUND, makeKeys, Passkey, SYNCED, type Deviation } from "../../support/parties/authenticator.ts";
import { Browser, landed, toInit, type Visit } from "../../support/browser.ts";
import { counting } from "../../support/counting.ts";
import { isolate } from "../../support/isolate.ts";
import { meddled } from "../../support/meddling.ts";
import { call, expectJson, ORIGIN } from "../../support/platform/call.ts";
import { OPERATOR, put } from "../../support/platform/operator.ts";
import { tokenFor } from "../../support/platform/tokens.ts";
import { makeApp, redeemed, signInThrough, tokenAt, visit, type TestApp } from "../../support/sign-in.ts";
import { appOf, setUpApp } from "../../support/parties/totp.ts";
import { everywhere } from "../../support/shards.ts";
import { makeUser, type TestUser } from "../../support/users.ts";

const ACCOUNT = `${ORIGIN}/account`;
const TWO_FACTORS = "urn:plinth:acr:two-factors";
const PASSWORD = "urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport";
const NOW = Date.UTC(2031, 4, 6, 7, 8, 10);
const BLOCK_AFTER = 15;

let user: TestUser;
let client: TestApp;
beforeEach(async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: NOW });
  user = await makeUser();
  client = await makeApp({ tenant: user.tenant, grantTypes: ["authorization_code", "implicit", "refresh_token"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const later = (seconds: number): void => void vi.setSystemTime(Date.now() + seconds * 1000);
const shows =
  (text: string) =>
  ({ html }: Visit) =>
    html.includes(text);
const asksForPassword = shows('name="password"');
const asksForPasskeyAlone = shows("Use one of your passkeys");

async function atAccount(browser = new Browser(), who = user): Promise<Browser> {
  await browser.submit(await browser.get(ACCOUNT), { email: who.email, password: who.password });
  return browser;
}

/** Presses a button of the account page. */
async function press(browser: Browser, action: string, fields: Record<string, string> = {}): Promise<Visit> {
  const page = await browser.get(ACCOUNT);
  const forms = page.forms.filter((one) => one.action.endsWith(action));
  const form = forms[0] ?? page.forms.find(({ fields: { csrf } }) => csrf !== undefined);
  if (form === undefined) throw new Error(`expected an account page, got ${page.status} ${page.html}`);
  return browser.post(`${ACCOUNT}${action}`, { ...form.fields, ...fields });
}

/** Adds a passkey at `/account`. */
async function addPasskey(browser: Browser, made?: Passkey): Promise<Passkey> {
  const passkey = made ?? (await Passkey.make());
  const page = await press(browser, "/passkeys/new");
  const done = await browser.submit(page, { ...(await passkey.register(page)), name: "My phone" });
  if (done.location !== ACCOUNT) throw new Error(`expected a new passkey, got ${done.status} ${done.html}`);
  return passkey;
}

/** Adds a passkey. Returns it with the browser in which the user is signed in. */
async function withPasskey(made?: Passkey): Promise<{ readonly browser: Browser; readonly passkey: Passkey }> {
  const browser = await atAccount();
  return { browser, passkey: await addPasskey(browser, made) };
}

/** Signs in on the page for a client. */
async function signInBy(passkey: Passkey, deviation: Deviation = {}, browser = new Browser()): Promise<Visit> {
  const page = await visit(browser, client, { scope: "openid" });
  return browser.submit(page, await passkey.answer(page, deviation));
}

const token = (form: Record<string, string>): Promise<Response> => tokenAt(client, form);
const signsIn = (answer: Visit): boolean => answer.status === 303 && landed(answer).query.get("code") !== null;
const stored = () =>
  env.DB.prepare("SELECT * FROM passkey WHERE email = ? ORDER BY created_at, id")
    .bind(user.email)
    .all<Record<string, any>>()
    .then(({ results }) => results);
const auditOf = async (action: string) => {
  const rows = await call(`/admin/v1/audit?subject=users/${user.email}`, { token: await tokenFor(OPERATOR) });
  return (await expectJson<any[]>(rows, 200)).filter((row) => row.action === action);
};

describe("A passkey", () => {
  // shows: oauth/passkeys/sign-in
  it.each([-7, -8, -257] as const)("of algorithm %i signs in alone, as two factors", async (alg) => {
    const { passkey } = await withPasskey(await Passkey.make({ alg }));
    const tokens = await redeemed(client, await signInBy(passkey));
    for (const jwt of [tokens.id_token, tokens.access_token])
      expect(decodeJwt(jwt)).toMatchObject({ acr: TWO_FACTORS, amr: ["pop", "user", "mfa"] });
    const again = { grant_type: "refresh_token", refresh_token: tokens.refresh_token };
    const next = await expectJson<{ id_token: string }>(await token(again), 200);
    expect(decodeJwt(next.id_token)).toMatchObject({ acr: TWO_FACTORS, amr: ["pop", "user", "mfa"] });
  });

  it("signs in at the account page, and its use is shown there", async () => {
    const { passkey } = await withPasskey();
    later(60);
    const browser = new Browser();
    const page = await browser.get(ACCOUNT);
    expect((await browser.submit(page, await passkey.answer(page))).location).toBe(ACCOUNT);
    const account = await browser.get(ACCOUNT);
    expect(account.html).toMatch(/<bdi>My phone<\/bdi>[^]*Copied to your other devices[^]*last used <time/);
  });

  it("keeps the counter and the flags of its authenticator", async () => {
    const passkey = await Passkey.make();
    passkey.count = 7;
    const { browser } = await withPasskey(passkey);
    expect(await stored()).toMatchObject([{ sign_count: 7, backup_eligible: 1, backed_up: 1, last_used_at: null }]);
    expect(signsIn(await signInBy(passkey, { count: 9, flags: SYNCED & ~0x10 }))).toBe(true);
    expect(await stored()).toMatchObject([{ sign_count: 9, backed_up: 0, last_used_at: Date.now() }]);
    await addPasskey(browser, await Passkey.make({ flags: BOUND }));
    expect((await stored()).map((row) => row["backup_eligible"]).toSorted((a, b) => a - b)).toEqual([0, 1]);
  });

  // shows: oauth/passkeys/wrong
  // shows: oauth/passkeys/counter
  it.each<[string, Deviation]>([
    ["a page of another origin", { origin: "https://plinth.test.example" }],
    ["another port of the host", { origin: `${ORIGIN}:8443` }],
    ["another domain", { rpId: "evil.example", origin: ORIGIN }],
    ["a frame of another site", { crossOrigin: true }],
    ["a registration", { type: "webauthn.create" }],
    ["another challenge", { challenge: "AAAA" }],
    ["a person whom the authenticator did not verify", { flags: SYNCED & ~0x04 }],
    ["nobody who was there", { flags: SYNCED & ~0x01 }],
    ["an authenticator whose flags say that it is another", { flags: BOUND }],
    ["flags that contradict each other", { flags: BOUND | 0x10 }],
    ["a counter that went back", { count: 6 }],
    ["a counter that stayed", { count: 7 }],
    ["a counter that vanished", { count: 0 }],
    ["another person", { userHandle: "AAAA" }],
  ])("signs nobody in by the answer of %s", async (_, deviation) => {
    const passkey = await Passkey.make();
    passkey.count = 7;
    await withPasskey(passkey);
    const refused = await signInBy(passkey, { count: 8, ...deviation });
    expect([refused.status, refused.html.includes("not known here, or it was not accepted")]).toEqual([400, true]);
    expect((await stored())[0]).toMatchObject({ sign_count: 7, last_used_at: null });
    expect((await auditOf("sign in by passkey")).length).toBe(1);
    expect(signsIn(await signInBy(passkey, { count: 8 }))).toBe(true);
  });

  it("signs nobody in by another key, or when it is unknown or garbage", async () => {
    const { passkey } = await withPasskey();
    expect((await signInBy(passkey, { key: await makeKeys(-7) })).status).toBe(400);
    expect((await signInBy(await Passkey.make())).status).toBe(400);
    const browser = new Browser();
    const page = await visit(browser, client);
    for (const credential of ["{}", "[", '{"id":"x","clientData":"","authenticatorData":"","signature":""}'])
      expect((await browser.submit(page, { credential })).status).toBe(400);
  });

  // shows: asvs/v6-authentication/6.7.2
  it("answers a challenge once: not again, and not twice at once", async () => {
    const { passkey } = await withPasskey();
    const browser = new Browser();
    const page = await visit(browser, client);
    const answer = await passkey.answer(page);
    const both = await Promise.all([browser.submit(page, answer), browser.submit(page, answer)]);
    expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([303, 400]);
    expect((await browser.submit(page, answer)).status).toBe(400);
    // The challenge of the page is used up, also for another answer.
    expect((await browser.submit(page, await passkey.answer(page))).status).toBe(400);
    expect(signsIn(await signInBy(passkey))).toBe(true);
  });

  // shows: asvs/v6-authentication/6.7.2
  it("is asked by a challenge of 128 random bits, another for each page", async () => {
    const browser = new Browser();
    const randoms = new Set<string>();
    for (const _ of [1, 2, 3]) {
      const page = await visit(browser, client);
      const bytes = fromBase64Url(page.forms[0]?.fields["challenge"] ?? "") ?? new Uint8Array();
      // A challenge has the random bytes, ten digits of the time, and a MAC (passkeys/challenge.ts).
      expect(bytes.length).toBe(16 + 10 + 32);
      randoms.add(bytes.slice(0, 16).toString());
    }
    expect(randoms.size).toBe(3);
  });

  it("answers the page of its own browser, within an hour, and no page for something else", async () => {
    const { browser: mine, passkey } = await withPasskey();
    const [victim, thief] = [new Browser(), new Browser()];
    const [theirs, own] = [await visit(victim, client), await visit(thief, client)];
    // The thief sends the victim's answer, with the challenge of the victim's page or of the thief's own.
    const stolen = await passkey.answer(theirs);
    for (const answer of [stolen, { ...stolen, challenge: own.forms[0]?.fields["challenge"] ?? "" }]) {
      const refused = await thief.submit(own, answer);
      expect(refused.status).toBe(400);
    }
    expect((await thief.submit(theirs, stolen)).status).toBe(400);
    expect((await victim.submit(theirs, stolen, "cross-site")).status).toBe(400);
    // A challenge for adding a passkey does not sign in.
    const adding = await press(mine, "/passkeys/new");
    const { challenge } = await passkey.answer(adding);
    const page = await visit(mine, client, { prompt: "login" });
    expect((await mine.submit(page, { ...(await passkey.answer(adding)), challenge })).html).toContain(
      "open for too long",
    );
    later(3600);
    expect((await victim.submit(theirs, stolen)).html).toContain("open for too long");
  });

  // shows: oauth/passkeys/block
  it("counts towards the block when it is wrong, and is refused in a block; an operator ends it", async () => {
    const { passkey } = await withPasskey();
    for (let n = 1; n < BLOCK_AFTER; n++) await signInBy(passkey, { userHandle: "AAAA" });
    const browser = new Browser();
    const wrong = await signInThrough(browser, client, { ...user, password: "wrong" });
    expect(wrong.html).toContain("wrong");
    const refused = await signInBy(passkey);
    expect([refused.status, refused.html.includes("too many unsuccessful")]).toEqual([400, true]);
    expect((await stored())[0]).toMatchObject({ last_used_at: null });
    await call(`/admin/v1/users/${user.email}/unlock`, { method: "POST", token: await tokenFor(OPERATOR) });
    expect(signsIn(await signInBy(passkey))).toBe(true);
  });

  // shows: asvs/v6-authentication/6.5.6
  it("of a user who is disabled, removed, or who removed it signs nobody in", async () => {
    const { browser, passkey } = await withPasskey();
    const second = await addPasskey(browser);
    await put(`users/${user.email}`, { disabled: true });
    expect((await signInBy(passkey)).status).toBe(400);
    await put(`users/${user.email}`, { disabled: false });
    later(1);
    const back = new Browser();
    const page = await back.get(ACCOUNT);
    await back.submit(page, await passkey.answer(page));
    expect((await press(back, "/passkeys/remove", { passkey: second.id })).location).toBe(ACCOUNT);
    expect((await signInBy(second)).status).toBe(400);
    expect(await auditOf("remove passkey")).toMatchObject([{ actor: `user ${user.email}`, outcome: "done" }]);
    await call(`/admin/v1/users/${user.email}`, { method: "DELETE", token: await tokenFor(OPERATOR) });
    expect((await signInBy(passkey)).status).toBe(400);
    expect(await stored()).toEqual([]);
  });

  // shows: operator/resources/passkeys
  // shows: asvs/v6-authentication/6.5.6
  it("is listed and removed by an operator, who is asked for nothing else", async () => {
    const { passkey } = await withPasskey();
    const bearer = await tokenFor(OPERATOR);
    const path = `/admin/v1/users/${user.email}/passkeys`;
    const list = await expectJson<any[]>(await call(path, { token: bearer }), 200);
    expect(list).toEqual([
      { id: passkey.id, name: "My phone", backedUp: true, createdAt: expect.any(Number), lastUsedAt: null },
    ]);
    const remove = async (id: string) => (await call(`${path}/${id}`, { method: "DELETE", token: bearer })).status;
    const other = await makeUser();
    const another = `/admin/v1/users/${other.email}/passkeys/${passkey.id}`;
    expect((await call(another, { method: "DELETE", token: bearer })).status).toBe(404);
    expect([await remove("unknown"), await remove(passkey.id), await remove(passkey.id)]).toEqual([404, 204, 404]);
    expect((await call("/admin/v1/users/nobody@acme.example/passkeys", { token: bearer })).status).toBe(404);
    expect((await signInBy(passkey)).status).toBe(400);
    expect(await auditOf("remove passkey")).toMatchObject([{ actor: "plat.operator", outcome: "done" }]);
    expect(signsIn(await signInThrough(new Browser(), client, user))).toBe(true);
  });

  it("signs in nobody but the one whom the client expects, and not where the client insists on the password", async () => {
    const { passkey } = await withPasskey();
    const other = await makeUser({ tenant: user.tenant });
    const tokens = await redeemed(client, await signInThrough(new Browser(), client, other, { scope: "openid" }));
    const browser = new Browser();
    const page = await visit(browser, client, { id_token_hint: tokens.id_token, prompt: "login" });
    const refused = await browser.submit(page, await passkey.answer(page));
    expect([refused.status, refused.html.includes(other.email)]).toEqual([400, true]);
    const claims = JSON.stringify({ id_token: { acr: { essential: true, value: PASSWORD } } });
    const strict = await visit(new Browser(), client, { scope: "openid", claims });
    expect(strict.html).not.toContain("data-passkey");
    const signedIn = new Browser();
    await signInBy(passkey, {}, signedIn);
    expect(asksForPassword(await visit(signedIn, client, { scope: "openid", claims }))).toBe(true);
  });
});

describe("Two factors", () => {
  it("are a password and a passkey; the password alone adds nothing to an account with a passkey", async () => {
    const { passkey } = await withPasskey();
    await put(`tenants/${user.tenant}`, { ...(await tenantOf(user)), requireSecondFactor: true });
    const browser = new Browser();
    const page = await signInThrough(browser, client, user, { scope: "openid" });
    expect([page.status, asksForPasskeyAlone(page), page.html.includes('class="key"')]).toEqual([200, true, false]);
    const proofs: Record<string, string>[] = [{ code: "123456" }, { recovery_code: "aaaa-bbbb-cccc-dddd" }, {}];
    for (const fields of proofs) expect((await browser.submit(page, fields)).status).toBe(400);
    const other = await makeUser({ tenant: user.tenant });
    const theirs = await addPasskey(await atAccount(new Browser(), other));
    expect((await browser.submit(page, await theirs.answer(page))).html).toContain("not one of yours");
    const done = await browser.submit(page, await passkey.answer(page));
    const tokens = await redeemed(client, done);
    expect(decodeJwt(tokens.id_token)).toMatchObject({ acr: TWO_FACTORS, amr: ["pwd", "pop", "user", "mfa"] });

    const thief = await atAccount();
    const [{ id } = { id: "" }] = (await stored()) as { id: string }[];
    const tries = ["new", "add", "rename", "remove"].map((name) => press(thief, `/passkeys/${name}`, { passkey: id }));
    for (const answer of await Promise.all([...tries, press(thief, "/second-factor/set-up")]))
      expect(asksForPasskeyAlone(answer)).toBe(true);
    expect((await stored()).length).toBe(1);
    const shown = await press(thief, "/passkeys/new");
    expect((await thief.submit(shown, await passkey.answer(shown))).location).toBe(ACCOUNT);
    expect((await press(thief, "/second-factor/set-up")).html).toContain('class="key"');
  });

  it("are an app too: a passkey signs in without a code, and stands in for it", async () => {
    const { browser, passkey } = await withPasskey();
    await setUpApp(browser, ORIGIN, user.password);
    expect(signsIn(await signInBy(passkey))).toBe(true);
    const other = new Browser();
    const asked = await signInThrough(other, client, user);
    expect([asked.html.includes("Enter your code"), asked.html.includes("data-passkey")]).toEqual([true, true]);
    expect(signsIn(await other.submit(asked, await passkey.answer(asked)))).toBe(true);
  });
});

describe("An app", () => {
  const apps = () => env.DB.prepare("SELECT email FROM totp WHERE email = ?").bind(user.email).all();
  const setUpLate = async () => {
    const { browser, passkey } = await withPasskey();
    later(899);
    const offered = await press(browser, "/second-factor/set-up");
    later(1);
    return { browser, passkey, offered };
  };

  // shows: asvs/v7-session-management/7.5.1
  it("needs a sign-in of the last 15 minutes, by a person who has no password", async () => {
    const { browser, passkey, offered } = await setUpLate();
    await env.DB.prepare("UPDATE user SET password_hash = NULL WHERE email = ?").bind(user.email).run();
    const confirmed = await browser.submit(offered, { code: appOf(offered).code() });
    const late = await press(browser, "/second-factor/set-up");
    for (const { status, html } of [confirmed, late])
      expect([status, html.includes("Please sign in again first")]).toEqual([400, true]);
    expect((await apps()).results).toEqual([]);
    expect((await browser.submit(late, await passkey.answer(late))).location).toBe(ACCOUNT);
    expect((await setUpApp(browser, ORIGIN, "")).recoveryCodes.length).toBe(10);
    expect((await apps()).results.length).toBe(1);
  });

  it("needs the password of a person who has one, whenever the sign-in was", async () => {
    const { browser, offered } = await setUpLate();
    const code = appOf(offered).code();
    expect((await browser.submit(offered, { code, password: "not hers, surely" })).html).toContain("password is wrong");
    expect((await apps()).results).toEqual([]);
    expect((await browser.submit(offered, { code, password: user.password })).status).toBe(200);
    expect((await apps()).results.length).toBe(1);
  });
});

describe("A new passkey", () => {
  // shows: asvs/v7-session-management/7.5.1
  it("needs a sign-in of the last 15 minutes, by a person of our own directory", async () => {
    const browser = await atAccount();
    later(899);
    const page = await press(browser, "/passkeys/new");
    expect(page.status).toBe(200);
    later(1);
    const passkey = await Passkey.make();
    const late = await browser.submit(page, await passkey.register(page));
    expect([late.status, late.html.includes("Please sign in again first")]).toEqual([400, true]);
    expect((await press(browser, "/passkeys/new")).html).toContain("Please sign in again first");
    expect(await stored()).toEqual([]);
    await everywhere.prepare("UPDATE session SET provider = 'corporate' WHERE email = ?").bind(user.email).run();
    expect((await press(await atAccount(), "/passkeys/new")).status).toBe(200);
  });

  it.each<[string, Deviation & { id?: string }]>([
    ["another origin", { origin: "https://evil.example" }],
    ["another domain", { rpId: "evil.example", origin: ORIGIN }],
    ["a frame", { crossOrigin: true }],
    ["an answer", { type: "webauthn.get" }],
    ["an unverified person", { flags: SYNCED & ~0x04 }],
    ["another challenge", { challenge: "AAAA" }],
    ["another id", { id: "AAAA" }],
  ])("is not taken from %s", async (_, deviation) => {
    const browser = await atAccount();
    const page = await press(browser, "/passkeys/new");
    const passkey = await Passkey.make();
    const refused = await browser.submit(page, await passkey.register(page, deviation));
    expect([refused.status, refused.html.includes("The passkey was not added")]).toEqual([400, true]);
    expect(await stored()).toEqual([]);
  });

  it("is added once by a page, of the session that asked, and a person has at most twenty", async () => {
    const browser = await atAccount();
    const page = await press(browser, "/passkeys/new");
    const [first, second] = [await Passkey.make(), await Passkey.make()];
    const stranger = await atAccount(new Browser(), await makeUser());
    const form = await press(stranger, "/passkeys/new");
    const stolen = { ...(await first.register(page)), user_handle: page.forms[0]?.fields["user_handle"] ?? "" };
    expect((await stranger.submit(form, stolen)).status).toBe(400);
    const answers = [await first.register(page), await second.register(page)];
    const both = await Promise.all(answers.map((answer) => browser.submit(page, { ...answer, name: "" })));
    expect((await stored()).length).toBe(1);
    expect(both.map(({ status }) => status).filter((status) => status === 303).length).toBe(1);
    for (let n = 2; n <= 20; n++) await addPasskey(browser);
    const full = await press(browser, "/passkeys/new");
    const more = await browser.submit(full, await (await Passkey.make()).register(full));
    expect([more.status, (await stored()).length]).toEqual([400, 20]);
    // All passkeys of a person have the same user handle.
    expect(new Set((await stored()).map((row) => row["user_handle"])).size).toBe(1);
  });

  it("is added by no session that ends at the same moment", async () => {
    user = await makeUser({ home: 0 });
    const endSessions = () => env.DB.prepare("DELETE FROM session WHERE email = ?").bind(user.email).run();
    const { browser, state } = meddled(endSessions, [4]);
    const page = await press(await atAccount(browser), "/passkeys/new");
    const passkey = await Passkey.make();
    state.armed = true;
    const refused = await browser.submit(page, await passkey.register(page));
    state.armed = false;
    expect([refused.status, await stored()]).toEqual([400, []]);
    expect(asksForPassword(await browser.get(ACCOUNT))).toBe(true);
  });

  it("is reported as added if the session cannot be replaced after that", async () => {
    user = await makeUser({ home: 0 });
    const { browser, state } = meddled(() => Promise.reject(new Error("D1 is away")), [3]);
    const page = await press(await atAccount(browser), "/passkeys/new");
    const passkey = await Passkey.make();
    state.armed = true;
    const added = await browser.submit(page, await passkey.register(page));
    state.armed = false;
    expect([added.status, added.location, (await stored()).length]).toEqual([303, ACCOUNT, 1]);
  });

  // shows: asvs/v7-session-management/7.5.1
  it("is removed within 15 minutes of a sign-in; later the person signs in again first", async () => {
    const { browser, passkey } = await withPasskey();
    later(900);
    const late = await press(browser, "/passkeys/remove", { passkey: passkey.id });
    expect([late.status, late.html.includes("Please sign in again first"), (await stored()).length]).toEqual([
      400,
      true,
      1,
    ]);
    expect((await browser.submit(late, await passkey.answer(late))).location).toBe(ACCOUNT);
    expect((await press(browser, "/passkeys/remove", { passkey: passkey.id })).location).toBe(ACCOUNT);
    expect(await stored()).toEqual([]);
  });

  it("has a name, which is changed, and is the last way to sign in for nobody who has none", async () => {
    const { browser, passkey } = await withPasskey();
    await press(browser, "/passkeys/rename", { passkey: passkey.id, name: `  ${"n".repeat(80)}` });
    expect((await stored())[0]?.["name"]).toBe("n".repeat(60));
    const other = await addPasskey(await atAccount(new Browser(), await makeUser()));
    await press(browser, "/passkeys/rename", { passkey: other.id, name: "mine" });
    expect((await press(browser, "/passkeys/remove", { passkey: other.id })).status).toBe(400);
    await env.DB.prepare("UPDATE user SET password_hash = NULL WHERE email = ?").bind(user.email).run();
    const kept = await press(browser, "/passkeys/remove", { passkey: passkey.id });
    expect([kept.status, kept.html.includes("your only way to sign in")]).toEqual([400, true]);
    expect((await stored()).length).toBe(1);
  });
});

describe("A platform", () => {
  it("without passkeys shows none, and its pages run no script; at an address without a name it shows none", async () => {
    for (const [vars, address, script] of [
      [{ PASSKEYS: "false" }, ORIGIN, false],
      [{}, "http://127.0.0.1:8787", true],
    ] as const) {
      const own = isolate({ ...env, ...vars });
      const browser = new Browser({ send: (to, init) => own.fetch(to, toInit(init)) });
      const page = await browser.get(`${address}/account`);
      expect(page.status).toBe(200);
      for (const trace of ["data-passkey", "webauthn"]) expect(page.html).not.toContain(trace);
      expect(page.html.includes("<script")).toBe(script);
      expect(page.headers.get("content-security-policy")?.includes("script-src")).toBe(script);
    }
  });

  it("reads and writes what a passkey costs", async () => {
    user = await makeUser({ tenant: client.tenant, home: 0 });
    const { passkey } = await withPasskey();
    const counted = counting(env);
    const own = isolate(counted.env);
    const browser = new Browser({ send: (to, init) => own.fetch(to, toInit(init)) });
    const page = await visit(browser, client, { scope: "openid" });
    await browser.submit(await visit(browser, client, { scope: "openid" }), { email: user.email, password: "x" });
    counted.reset();
    const answer = await browser.submit(page, await passkey.answer(page));
    expect(signsIn(answer)).toBe(true);
    const { d1RoundTrips, d1RowsWritten, objectCalls } = counted.tally;
    expect({ d1RoundTrips, d1RowsWritten, objectCalls }).toEqual({
      d1RoundTrips: 3,
      d1RowsWritten: 7,
      objectCalls: { "LOGIN_ATTEMPTS.attemptCode": 1 },
    });
  });
});

/** A second opinion: the library must accept and refuse the same answers. */
describe("@simplewebauthn/server", () => {
  it("takes and refuses the same answers", async () => {
    const browser = await atAccount();
    const passkey = await Passkey.make();
    const page = await press(browser, "/passkeys/new");
    const made = await passkey.register(page);
    const sent = JSON.parse(made.credential);
    const expected = { expectedOrigin: ORIGIN, expectedRPID: "plinth.test", requireUserVerification: true };
    const { registrationInfo } = await verifyRegistrationResponse({
      response: {
        id: sent.id,
        rawId: sent.id,
        type: "public-key",
        clientExtensionResults: {},
        response: { clientDataJSON: sent.clientData, attestationObject: sent.attestation },
      },
      expectedChallenge: made.challenge,
      ...expected,
    });
    await browser.submit(page, made);
    const credential = { ...registrationInfo!.credential, counter: 0 };
    expect((await stored())[0]?.["id"]).toBe(credential.id);
    const theirWord = async ({ challenge, credential: text }: Record<string, string>): Promise<boolean> => {
      const { id, clientData, authenticatorData, signature, userHandle } = JSON.parse(text ?? "");
      const response = { clientDataJSON: clientData, authenticatorData, signature, userHandle };
      try {
        const { verified } = await verifyAuthenticationResponse({
          response: { id, rawId: id, type: "public-key", clientExtensionResults: {}, response },
          expectedChallenge: challenge ?? "",
          credential,
          ...expected,
        });
        return verified;
      } catch {
        return false;
      }
    };
    const other = await makeKeys(-7);
    const deviations: readonly Deviation[] = [
      {},
      { origin: "https://evil.example" },
      { rpId: "evil.example", origin: ORIGIN },
      { flags: SYNCED & ~0x04 },
      { flags: SYNCED & ~0x01 },
      { type: "webauthn.create" },
      { challenge: "AAAA" },
      { key: other },
    ];
    for (const deviation of deviations) {
      const own = new Browser();
      const asked = await visit(own, client, { scope: "openid" });
      const answer = await passkey.answer(asked, deviation);
      const [theirs, ours] = [await theirWord(answer), signsIn(await own.submit(asked, answer))];
      expect([deviation, ours]).toEqual([deviation, theirs]);
    }
    // One byte is broken at a time, anywhere in the signed data and the signature.
    for (let n = 0; n < 12; n++) {
      const own = new Browser();
      const asked = await visit(own, client, { scope: "openid" });
      const answer = await passkey.answer(asked);
      const parsed = JSON.parse(answer.credential);
      const field = ["clientData", "authenticatorData", "signature"][n % 3]!;
      const bytes = fromBase64Url(parsed[field])!;
      bytes[(n * 7) % bytes.length]! ^= 1 << (n % 8);
      const broken = {
        ...answer,
        credential: JSON.stringify({
          ...parsed,
          [field]: bytes.toBase64({ alphabet: "base64url", omitPadding: true }),
        }),
      };
      expect([field, n, await theirWord(broken), signsIn(await own.submit(asked, broken))]).toEqual([
        field,
        n,
        false,
        false,
      ]);
    }
  });
});

async function tenantOf({ tenant }: TestUser): Promise<Record<string, unknown>> {
  const found = await call(`/admin/v1/tenants/${tenant}`, { token: await tokenFor(OPERATOR) });
  const { organization, name } = await expectJson(found, 200);
  return { organization, name };
}
