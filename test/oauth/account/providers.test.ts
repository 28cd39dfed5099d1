import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createIdentityStore } from "../../../src/oauth/federation/identity-store.ts";
import { homeOf } from "../../../src/platform/storage/home.ts";
import type { ChangingSession } from "../../../src/oauth/users/user-store.ts";
import { shardsOf } from "../../../src/platform/storage/shards.ts";
import { Browser, type Form, type From, type Visit } from "../../support/browser.ts";
import { expectJson, call, ORIGIN } from "../../support/platform/call.ts";
import { OPERATOR } from "../../support/platform/operator.ts";
import { tokenFor } from "../../support/platform/tokens.ts";
import { linkAccount, subjectOf } from "../../support/parties/idp/accounts.ts";
import { answerToken, claimsFor, sign } from "../../support/parties/idp/id-token.ts";
import { bindProvider, makeProvider, type Provider } from "../../support/parties/idp/scripted-provider.ts";
import { everywhere } from "../../support/shards.ts";
import { makeUser, type TestUser } from "../../support/users.ts";
import { mailPlatform } from "../recovery/mail-platform.ts";
import { MINUTE_MS } from "../../../src/platform/runtime/clock.ts";

/** Accounts at identity providers that a person links and unlinks at `/account`. */
const ACCOUNT = `${ORIGIN}/account`;
const FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0";
let ada: TestUser;
let browser: Browser;
beforeEach(async () => {
  ada = await makeUser();
  browser = new Browser();
});
afterEach(() => void vi.useRealTimers());

async function signIn(at = browser, user = ada): Promise<void> {
  const answer = await at.submit(await at.get(`${ACCOUNT}?plat_id_provider=default_idp`), {
    email: user.email,
    password: user.password,
  });
  if (answer.status !== 303) throw new Error(`not signed in: ${answer.status} ${answer.html}`);
}
const offered = (options: Parameters<typeof makeProvider>[0] = {}): Promise<Provider> =>
  makeProvider({ button: "Corporate", ...options });
const formsFor = (page: Visit, what: "link" | "unlink", { id }: Provider): Form[] =>
  page.forms.filter(({ action, fields }) => action.endsWith(`/account/${what}`) && fields["provider"] === id);
/** Sends the page's form for the provider. */
async function press(what: "link" | "unlink", provider: Provider, at = browser): Promise<Visit> {
  const page = await at.get(ACCOUNT);
  const [form] = formsFor(page, what, provider);
  if (form === undefined) throw new Error(`no form to ${what} ${provider.id}: ${page.html}`);
  return at.post(form.action, form.fields);
}
/** Lets the provider vouch for its account `subject`. Returns the callback address of the browser. */
async function vouchedAddress(sent: Visit, provider: Provider, subject: string, verified = ""): Promise<string> {
  const address = new URL(sent.location ?? "about:blank");
  if (address.origin !== provider.issuer) throw new Error(`not sent to the provider: ${sent.status} ${sent.html}`);
  const [state, nonce] = [address.searchParams.get("state") ?? "", address.searchParams.get("nonce") ?? ""];
  const person = { clientId: "", clientSecret: "", email: verified || "private@home.example" };
  const claims = claimsFor(person, provider, { browser: undefined as never, address, state, nonce });
  await answerToken(
    provider,
    await sign({ ...claims, sub: subject, email_verified: verified !== "" }, provider.signer),
  );
  return `/oauth2/v1/callback/${provider.id}?${new URLSearchParams({ state, code: "c" }).toString()}`;
}
const linkAs = async (subject: string, provider: Provider, at = browser): Promise<Visit> =>
  at.get(await vouchedAddress(await press("link", provider, at), provider, subject), "cross-site");
/** The person's session, as statements of the directory name it. */
const sessionOf = async (email: string): Promise<ChangingSession> => {
  const found = await everywhere
    .prepare("SELECT sid, authenticated_at AS at FROM session WHERE email = ?")
    .bind(email)
    .first<{ sid: string; at: number }>();
  const { sid, at } = found!;
  return { sid, elsewhereSinceMs: homeOf(email, shardsOf(env).length) === 0 ? null : at };
};
/** The `sub` of the user's linked account, from the operator service. */
async function subjectAt(provider: Provider, user = ada): Promise<string | undefined> {
  const answer = await call(`/admin/v1/users/${user.email}/identities/${provider.id}`, {
    token: await tokenFor(OPERATOR),
  });
  return answer.status === 404 ? undefined : (await expectJson<{ subject: string }>(answer, 200)).subject;
}

describe("The sign-in page of the account", () => {
  // shows: oauth/account/providers-at-the-sign-in
  it("has the buttons of the providers that reach all of it, but not for a sign-in again", async () => {
    const [open, elsewhere] = [await offered(), await offered({ domains: ["elsewhere.example"] })];
    const others = [await offered({ tenants: [ada.tenant] }), await makeProvider()];
    await linkAccount(ada, open);
    const buttons = ({ html }: Visit): string[] =>
      [...html.matchAll(/<a class="other" href="[^"]*plat_id_provider=([^"&]+)"/g)].map(([, id = ""]) => id);
    // The form for the address alone has the buttons, and so has the form with the password.
    for (const path of ["", "?plat_id_provider=default_idp"]) {
      const ids = buttons(await browser.get(`${ACCOUNT}${path}`));
      expect(ids).toEqual(expect.arrayContaining([open.id, elsewhere.id]));
      for (const { id } of others) expect(ids).not.toContain(id);
    }
    const sent = await browser.get(`${ACCOUNT}?plat_id_provider=${open.id}`);
    await browser.get(await vouchedAddress(sent, open, subjectOf(ada)), "cross-site");
    expect((await browser.get(ACCOUNT)).html).toContain(ada.email);
    browser.cookies.clear();
    await signIn();
    vi.useFakeTimers({ toFake: ["Date"] });
    vi.setSystemTime(Date.now() + 15 * MINUTE_MS);
    expect(buttons(await press("unlink", open))).toEqual([]);
  });
});

describe("A person links an account at a provider", () => {
  // shows: oauth/account/link-a-provider
  it("by a sign-in there, whatever address it has; it signs the person in from then on", async () => {
    const provider = await offered();
    await signIn();
    expect((await linkAs("hers", provider)).location).toBe(ACCOUNT);
    const page = await browser.get(ACCOUNT);
    expect(page.html).toContain("Linked.");
    expect(formsFor(page, "link", provider)).toEqual([]);
    expect(formsFor(page, "unlink", provider).length).toBe(1);
    expect(await subjectAt(provider)).toBe("hers");
    const elsewhere = new Browser();
    const sent = await elsewhere.get(`${ACCOUNT}?plat_id_provider=${provider.id}`);
    await elsewhere.get(await vouchedAddress(sent, provider, "hers"), "cross-site");
    expect((await elsewhere.get(ACCOUNT)).html).toContain(ada.email);
    const audit = await call(`/admin/v1/audit?subject=users/${ada.email}/identities/${provider.id}`, {
      token: await tokenFor(OPERATOR),
    });
    expect(await expectJson(audit, 200)).toMatchObject([{ action: "link identity", actor: `user ${ada.email}` }]);
  });

  it("may be sent on to the provider by the form of the page, as its policy says", async () => {
    await offered();
    await signIn();
    expect((await browser.get(ACCOUNT)).headers.get("content-security-policy")).toContain("form-action 'self' https:;");
  });

  // shows: oauth/account/link-a-provider-limits
  it("only where the operator lets people do that: offered, for the address, for all of the account", async () => {
    const refused = [
      await makeProvider(),
      await offered({ linking: "operator" }),
      await offered({ tenants: [ada.tenant] }),
      await offered({ domains: ["elsewhere.example"], linking: "confirm" }),
    ];
    const open = await offered();
    await signIn();
    const page = await browser.get(ACCOUNT);
    for (const provider of refused) expect(formsFor(page, "link", provider)).toEqual([]);
    const [form] = formsFor(page, "link", open);
    for (const { id } of refused.slice(1).concat({ ...open, id: "unknown" })) {
      const answer = await browser.post(form!.action, { ...form!.fields, provider: id });
      expect([answer.status, answer.location]).toEqual([400, undefined]);
    }
  });

  // shows: oauth/account/link-a-provider-fresh
  it("within a quarter of an hour of a sign-in; later the person signs in again first", async () => {
    const provider = await offered();
    await signIn();
    vi.useFakeTimers({ toFake: ["Date"] });
    vi.setSystemTime(Date.now() + 15 * MINUTE_MS);
    const asked = await press("link", provider);
    expect([asked.status, asked.location]).toEqual([400, undefined]);
    expect(asked.html).toContain("sign in again");
    expect((await browser.submit(asked, { password: ada.password })).status).toBe(303);
    expect((await press("link", provider)).location).toContain(provider.issuer);
  });
});

describe("Nobody links an account", () => {
  // shows: oauth/account/link-a-provider-forged
  it("by a form of another site, without the page's token, or with that of another session", async () => {
    const provider = await offered();
    await signIn();
    const [form] = formsFor(await browser.get(ACCOUNT), "link", provider);
    const other = new Browser();
    await signIn(other, await makeUser());
    const [others] = formsFor(await other.get(ACCOUNT), "link", provider);
    const forged: readonly [Record<string, string>, From][] = [
      [form!.fields, "cross-site"],
      [{ provider: provider.id }, "same-origin"],
      [others!.fields, "same-origin"],
    ];
    for (const what of ["link", "unlink"])
      for (const [fields, from] of forged) {
        const answer = await browser.post(`${ACCOUNT}/${what}`, fields, from);
        expect(answer.location ?? "").not.toContain(provider.issuer);
        expect(answer.status === 400 || answer.location === ACCOUNT).toBe(true);
      }
    expect(await subjectAt(provider)).toBeUndefined();
  });

  // shows: oauth/account/link-a-provider-forged
  it("by an answer of the provider that somebody else began, or that comes to another session", async () => {
    const provider = await offered();
    const mallory = new Browser();
    await signIn(mallory, await makeUser());
    const hers = await vouchedAddress(await press("link", provider, mallory), provider, "of mallory");
    await signIn();
    expect((await browser.get(hers, "cross-site")).status).toBe(400);

    const begun = await press("link", provider);
    const bob = await makeUser();
    browser.cookies.delete("__Host-plat_session");
    await signIn(browser, bob);
    const answer = await browser.get(await vouchedAddress(begun, provider, "of ada"), "cross-site");
    expect(answer.status).toBe(400);
    for (const user of [ada, bob]) expect(await subjectAt(provider, user)).toBeUndefined();
  });

  // shows: oauth/account/link-a-provider-taken
  it("that is linked to somebody else, and does not learn to whom", async () => {
    const provider = await offered();
    const bob = await makeUser();
    await linkAccount(bob, provider);
    await signIn();
    const answer = await linkAs(subjectOf(bob), provider);
    expect(answer.status).toBe(400);
    expect(answer.html).toContain("Somebody else’s account");
    expect(answer.html).not.toContain(bob.email);
    expect([await subjectAt(provider), await subjectAt(provider, bob)]).toEqual([undefined, subjectOf(bob)]);
  });

  // shows: oauth/account/link-a-provider-taken
  it("that another person links at the same moment: one of the two has it", async () => {
    const provider = await offered();
    const bob = await makeUser();
    const other = new Browser();
    await signIn();
    await signIn(other, bob);
    const identities = createIdentityStore(env.DB);
    const account = { provider: provider.id, issuer: provider.issuer, subject: "shared" };
    const people = await Promise.all([ada, bob].map(async ({ email }) => ({ email, by: await sessionOf(email) })));
    await Promise.all(people.map(({ email, by }) => identities.linkInSession(account, email, by, Date.now(), [])));
    const subjects = [await subjectAt(provider), await subjectAt(provider, bob)];
    expect(subjects).toContain("shared");
    expect(subjects).toContain(undefined);
    // The other person tries again and finds the account taken.
    const loser = subjects[0] === undefined ? browser : other;
    expect((await linkAs("shared", provider, loser)).status).toBe(400);
  });

  // shows: oauth/account/link-a-provider-forged
  it("after the session ended, the operator took the provider back, or the provider said no", async () => {
    const provider = await offered();
    await signIn();
    const ended = await press("link", provider);
    const page = await browser.get(ACCOUNT);
    const all = page.forms.find(({ action }) => action.endsWith("/end-all"));
    await browser.post(all!.action, all!.fields);
    expect((await browser.get(await vouchedAddress(ended, provider, "x"), "cross-site")).status).toBe(400);
    await signIn();
    const begun = await press("link", provider);
    await bindProvider(provider, { linking: "operator" });
    await browser.get(await vouchedAddress(begun, provider, "x"), "cross-site");
    await bindProvider(provider, { linking: "confirm" });
    const state = new URL((await press("link", provider)).location ?? "").searchParams.get("state") ?? "";
    const refused = await browser.get(
      `/oauth2/v1/callback/${provider.id}?${new URLSearchParams({ state, error: "access_denied" }).toString()}`,
      "cross-site",
    );
    expect([refused.status, refused.html.includes("nothing was linked")]).toEqual([400, true]);
    expect(await subjectAt(provider)).toBeUndefined();
  });
});

describe("A person who signs in by a provider", () => {
  // shows: asvs/v6-authentication/6.3.5
  it("is told by mail of each browser that is new, once, and of nobody who has another account there", async () => {
    const provider = await offered();
    await linkAccount(ada, provider);
    const at = mailPlatform({ MAIL_NOTICES: "sign_in" });
    const enter = async (own: Browser, subject = subjectOf(ada)): Promise<Visit> => {
      own.cookies.delete("__Host-plat_session");
      const sent = await own.get(`${ACCOUNT}?plat_id_provider=${provider.id}`);
      return own.get(await vouchedAddress(sent, provider, subject), "cross-site");
    };
    const firefox = at.browser({ "user-agent": FIREFOX });
    expect((await enter(firefox, "somebody else's")).location).not.toBe(ACCOUNT);
    expect(at.mails).toEqual([]);
    for (const own of [firefox, firefox, at.browser()]) expect((await enter(own)).location).toBe(ACCOUNT);
    const told = [ada.email, "New sign-in at plinth.test"];
    expect(at.mails.map(({ to, subject }) => [to, subject])).toEqual([told, told]);
    expect(at.mails[0]!.text).toMatch(/Firefox, Linux · .* UTC/);
  });
});

describe("A person unlinks a provider", () => {
  // shows: oauth/account/unlink-a-provider
  it("and its sign-ins end; the last way to sign in stays, even if both of two are unlinked at once", async () => {
    const [one, two] = [await offered(), await offered()];
    for (const provider of [one, two]) await linkAccount(ada, provider);
    const other = new Browser();
    const sent = await other.get(`${ACCOUNT}?plat_id_provider=${one.id}`);
    await other.get(await vouchedAddress(sent, one, subjectOf(ada)), "cross-site");
    expect((await other.get(ACCOUNT)).html).toContain(ada.email);
    await signIn();
    expect((await press("unlink", one)).location).toBe(ACCOUNT);
    expect((await other.get(ACCOUNT)).html).toContain('name="email"');

    await linkAccount(ada, one);
    await env.DB.prepare("UPDATE user SET password_hash = NULL WHERE email = ?").bind(ada.email).run();
    const forms = await browser.get(ACCOUNT);
    const answers = await Promise.all(
      [one, two].map((provider) => {
        const [form] = formsFor(forms, "unlink", provider);
        return browser.post(form!.action, form!.fields);
      }),
    );
    expect(answers.map(({ status }) => status).toSorted((low, high) => low - high)).toEqual([303, 400]);
    expect(answers.find(({ status }) => status === 400)?.html).toContain("only way to sign in");
    expect([await subjectAt(one), await subjectAt(two)].filter((subject) => subject !== undefined).length).toBe(1);
  });

  // shows: oauth/account/unlink-a-provider
  // shows: asvs/v7-session-management/7.5.1
  it("within a quarter of an hour of a sign-in; later the person signs in again first", async () => {
    const provider = await offered();
    await linkAccount(ada, provider);
    await signIn();
    vi.useFakeTimers({ toFake: ["Date"] });
    vi.setSystemTime(Date.now() + 15 * MINUTE_MS);
    const asked = await press("unlink", provider);
    expect([asked.status, asked.html.includes("sign in again")]).toEqual([400, true]);
    expect(await subjectAt(provider)).toBe(subjectOf(ada));
    expect((await browser.submit(asked, { password: ada.password })).status).toBe(303);
    expect((await press("unlink", provider)).status).toBe(303);
    expect(await subjectAt(provider)).toBeUndefined();
  });

  // shows: oauth/account/unlink-a-provider
  it("but no provider bound to tenants counts as another way: it does not lead to the account", async () => {
    const [open, bound] = [await offered(), await offered({ tenants: [ada.tenant] })];
    for (const provider of [open, bound]) await linkAccount(ada, provider);
    await signIn();
    await env.DB.prepare("UPDATE user SET password_hash = NULL WHERE email = ?").bind(ada.email).run();
    expect((await press("unlink", open)).status).toBe(400);
    expect((await press("unlink", bound)).status).toBe(303);
  });

  // shows: oauth/account/unlink-a-provider
  it("but no provider of other domains counts as another way: it may not vouch for the person", async () => {
    const [open, foreign] = [await offered(), await offered()];
    for (const provider of [open, foreign]) await linkAccount(ada, provider);
    await signIn();
    await env.DB.prepare("UPDATE user SET password_hash = NULL WHERE email = ?").bind(ada.email).run();
    const bind = (...domains: string[]) =>
      env.DB.prepare("UPDATE identity_provider SET domains = ? WHERE id = ?")
        .bind(JSON.stringify(domains), foreign.id)
        .run();
    await bind("elsewhere.example");
    expect((await press("unlink", open)).status).toBe(400);
    await bind("elsewhere.example", ada.email.split("@")[1]!);
    expect((await press("unlink", open)).status).toBe(303);
  });

  // shows: oauth/account/provider-mails
  // shows: asvs/v6-authentication/6.3.7
  it("and is told by mail, as of a new link", async () => {
    const provider = await offered();
    const at = mailPlatform({ MAIL_NOTICES: "identity" });
    const own = at.browser();
    await signIn(own);
    await linkAs("hers", provider, own);
    await press("unlink", provider, own);
    const subject = "How you sign in at plinth.test was changed";
    expect(at.mails.map((mail) => [mail.to, mail.subject])).toEqual([
      [ada.email, subject],
      [ada.email, subject],
    ]);
    expect(at.mails[0]!.text).toContain("was changed: an account at another service was linked.");
    expect(at.mails[1]!.text).toContain("was changed: an account at another service was unlinked.");
  });

  // shows: oauth/account/provider-mails
  // shows: asvs/v6-authentication/6.3.7
  it("is told of each link that came by a first sign-in or an operator, once", async () => {
    const at = mailPlatform({ MAIL_NOTICES: "identity" });
    const domain = ada.email.split("@")[1]!;
    const trusted = await offered({ linking: "verified_email", domains: [domain] });
    const own = at.browser();
    const enter = async (provider: Provider): Promise<Visit> => {
      const sent = await own.get(`${ACCOUNT}?plat_id_provider=${provider.id}`);
      return own.get(await vouchedAddress(sent, provider, "hers", ada.email), "cross-site");
    };
    for (const _ of [1, 2]) {
      expect((await enter(trusted)).location).toBe(ACCOUNT);
      own.cookies.delete("__Host-plat_session");
    }
    expect(at.mails.length).toBe(1);
    own.cookies.clear();
    const confirming = await enter(await offered());
    expect((await own.submit(confirming, { password: ada.password })).location).toBe(ACCOUNT);
    expect(at.mails.length).toBe(2);
    const other = await offered();
    const headers = { authorization: `Bearer ${await tokenFor(OPERATOR)}`, "content-type": "application/json" };
    const path = `/admin/v1/users/${ada.email}/identities/${other.id}`;
    const change = (method: string, init: object = {}) => at.platform.fetch(path, { method, headers, ...init });
    const body = JSON.stringify({ subject: "a" });
    expect([(await change("PUT", { body })).status, (await change("PUT", { body })).status]).toEqual([201, 200]);
    expect([(await change("DELETE")).status, (await change("DELETE")).status]).toEqual([204, 404]);
    expect(at.mails.length).toBe(4);
    for (const { to } of at.mails) expect(to).toBe(ada.email);
    expect(at.mails.map(({ text }) => text.includes("by an operator"))).toEqual([false, false, true, true]);
  });
});
