import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { createApp } from "../../../src/app.ts";
import { createDeps } from "../../../src/deps.ts";
import { Browser, toInit, type Visit } from "../../support/browser.ts";
import { Passkey } from "../../support/parties/authenticator.ts";
import { ORIGIN } from "../../support/platform/call.ts";
import { OPERATOR } from "../../support/platform/operator.ts";
import { tokenFor } from "../../support/platform/tokens.ts";
import { setUpApp } from "../../support/parties/totp.ts";
import { makeUser, type TestUser } from "../../support/users.ts";
import { choose, linkIn, mailPlatform } from "./mail-platform.ts";

/** Mails that tell people what happened to their account. */
const ACCOUNT = `${ORIGIN}/account`;
const NEW = "a quite different password";
const ALL = { MAIL_NOTICES: "sign_in password factor" };
const FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0";

let user: TestUser;
beforeEach(async () => {
  user = await makeUser();
});

const signIn = async (browser: Browser, password = user.password): Promise<Visit> =>
  browser.submit(await browser.get(ACCOUNT), { email: user.email, password });
/** A browser of a platform that sends no mail. */
async function signedInHere(password: string): Promise<Browser> {
  const browser = new Browser();
  await signIn(browser, password);
  return browser;
}
async function changePassword(browser: Browser): Promise<Visit> {
  const { action, fields } = (await browser.get(ACCOUNT)).forms.find((form) => form.action.endsWith("/password"))!;
  return browser.post(action, { ...fields, password: user.password, new_password: NEW, repeated_password: NEW });
}

describe("a person is told", () => {
  // shows: asvs/v6-authentication/6.3.5
  it("of a sign-in from a new browser, once for each browser, and never of a wrong password", async () => {
    const at = mailPlatform(ALL);
    const browser = at.browser({ "user-agent": FIREFOX });
    await signIn(browser, "a wrong password");
    expect(at.mails).toEqual([]);
    expect((await signIn(browser)).status).toBe(303);
    expect(at.mails.map(({ to, subject }) => [to, subject])).toEqual([[user.email, "New sign-in at plinth.test"]]);
    expect(at.mails[0]!.text).toMatch(/Firefox, Linux · .* UTC/);
    expect(linkIn(at.mails[0])).toBe(ACCOUNT);
    browser.cookies.delete("__Host-plat_session");
    await signIn(browser);
    expect(at.mails.length).toBe(1);
    await signIn(at.browser());
    expect(at.mails.length).toBe(2);
  });

  // shows: asvs/v6-authentication/6.3.7
  it("of a changed password, and not of the new session that follows", async () => {
    const at = mailPlatform(ALL);
    const browser = at.browser();
    await signIn(browser);
    at.mails.length = 0;
    await changePassword(browser);
    expect(at.mails.map(({ subject }) => subject)).toEqual(["Your password at plinth.test was changed"]);
    const forgot = at.browser();
    const page = await forgot.get(ACCOUNT);
    const asked = await forgot.follow(
      await forgot.post(`${ORIGIN}/oauth2/v1/forgot`, { ...page.forms[0]!.fields, email: user.email }),
    );
    await forgot.submit(asked, {});
    at.mails.splice(0, 1);
    await choose(forgot, await forgot.get(linkIn(at.mails.pop())), "yet another password");
    await signIn(forgot, "yet another password");
    expect(at.mails.map(({ subject }) => subject)).toEqual(["Your password at plinth.test was changed"]);
  });

  // shows: asvs/v6-authentication/6.3.7
  it("of what an operator changed, and that it was an operator", async () => {
    const at = mailPlatform(ALL);
    const bearer = await tokenFor(OPERATOR);
    const ask = async (method: string, path: string, body?: object): Promise<number> => {
      const headers = { authorization: `Bearer ${bearer}`, "content-type": "application/json" };
      const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
      return (await at.platform.fetch(`/admin/v1/users/${path}`, init)).status;
    };
    expect(await ask("PUT", `new-${user.email}`, { password: NEW })).toBe(201);
    expect(await ask("PUT", user.email, { name: "Ada" })).toBe(200);
    expect(at.mails).toEqual([]);
    expect(await ask("PUT", user.email, { password: NEW })).toBe(200);
    const { app } = await setUpApp(await signedInHere(NEW), ORIGIN, NEW);
    expect(app.code()).toMatch(/^[0-9]{6}$/);
    expect(await ask("DELETE", `${user.email}/second-factor`)).toBe(204);
    expect(await ask("DELETE", `${user.email}/second-factor`)).toBe(404);
    expect(at.mails.map(({ to, subject }) => [to, subject])).toEqual([
      [user.email, "Your password at plinth.test was changed"],
      [user.email, "How you sign in at plinth.test was changed"],
    ]);
    for (const { text } of at.mails) expect(text).toMatch(/by an operator of this service · .* UTC/);
    expect(at.mails[1]!.text).toContain("was changed: two-step sign-in was turned off.");
  });

  // shows: asvs/v6-authentication/6.3.5
  // shows: asvs/v6-authentication/6.3.7
  it("of a new and a removed passkey, and of a sign-in by it from a new browser", async () => {
    const at = mailPlatform(ALL);
    const browser = at.browser();
    await signIn(browser);
    at.mails.length = 0;
    const press = async (action: string, fields: Record<string, string> = {}): Promise<Visit> => {
      const { csrf = "" } = (await browser.get(ACCOUNT)).forms[0]!.fields;
      return browser.post(`${ACCOUNT}/passkeys/${action}`, { csrf, ...fields });
    };
    const passkey = await Passkey.make();
    const page = await press("new");
    await browser.submit(page, await passkey.register(page));
    const other = at.browser({ "user-agent": FIREFOX });
    for (const _ of [1, 2]) {
      const asked = await other.get(ACCOUNT);
      expect((await other.submit(asked, await passkey.answer(asked))).status).toBe(303);
      other.cookies.delete("__Host-plat_session");
    }
    await press("remove", { passkey: passkey.id });
    expect(at.mails.map(({ subject }) => subject)).toEqual([
      "How you sign in at plinth.test was changed",
      "New sign-in at plinth.test",
      "How you sign in at plinth.test was changed",
    ]);
    expect(at.mails[0]!.text).toContain("was changed: a passkey was added.");
    expect(at.mails[2]!.text).toContain("was changed: a passkey was removed.");
  });

  it("of two-step sign-in that is turned on, and of new recovery codes", async () => {
    const at = mailPlatform(ALL);
    const browser = at.browser();
    await signIn(browser);
    at.mails.length = 0;
    const { app } = await setUpApp(browser, ORIGIN, user.password);
    const { action, fields } = (await browser.get(ACCOUNT)).forms.find((form) => form.action.endsWith("/recovery"))!;
    await browser.post(action, { ...fields, code: app.code() });
    expect(at.mails[0]!.text).toContain("was changed: two-step sign-in was turned on.");
    expect(at.mails[1]!.text).toContain("was changed: there are new recovery codes.");
  });

  it("nothing that the operator turned off, or that no mail can tell", async () => {
    for (const [notices, told] of [
      ["sign_in", 1],
      ["password factor", 1],
      ["", 0],
    ] as const) {
      user = await makeUser();
      const at = mailPlatform({ MAIL_NOTICES: notices });
      const browser = at.browser();
      await signIn(browser);
      await changePassword(browser);
      expect([notices, at.mails.length]).toEqual([notices, told]);
    }
    user = await makeUser();
    const without = mailPlatform({ ...ALL, MAIL_FROM: "" });
    expect((await signIn(without.browser())).status).toBe(303);
    expect(without.mails).toEqual([]);
  });

  it("in the language of the browser", async () => {
    const at = mailPlatform(ALL);
    await signIn(at.browser({ "accept-language": "fr-CH, de;q=0.5" }));
    expect(at.mails[0]!.subject).toBe("Nouvelle connexion à plinth.test");
  });
});

describe("a notice", () => {
  it("delays no answer, and its loss is logged alone", async () => {
    let lose: (thrown: Error) => void = () => {};
    const held = new Promise<never>((_, reject) => void (lose = reject));
    // The mail is sent after the response. Until then nobody handles the rejection.
    held.catch(() => undefined);
    const own = {
      ...env,
      ...ALL,
      MAIL: { send: () => held } as unknown as SendEmail,
      MAIL_FROM: "a@b.example",
      PUBLIC_URL: ORIGIN,
    };
    const app = createApp(createDeps(own));
    const contexts: ExecutionContext[] = [];
    const browser = new Browser({
      send: async (address, init) => {
        const context = createExecutionContext();
        contexts.push(context);
        return app.fetch(new Request(address, toInit(init)), own, context);
      },
    });
    expect((await signIn(browser)).status).toBe(303);
    lose(new Error("the mail service is away"));
    for (const context of contexts) await waitOnExecutionContext(context);
    expect((await browser.get(ACCOUNT)).html).toContain(user.email);
  });
});
