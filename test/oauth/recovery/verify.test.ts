import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import type { Browser } from "../../support/browser.ts";
import { ORIGIN } from "../../support/platform/call.ts";
import { makeUser, type TestUser } from "../../support/users.ts";
import { browserAt, linkIn, mailPlatform, untilDone, type MailPlatform } from "./mail-platform.ts";

/** The button "Send a link to confirm it" at the account page, and `/verify`. */
let at: MailPlatform;
let user: TestUser;
let browser: Browser;

beforeEach(async () => {
  at = mailPlatform({ MAIL_NOTICES: "" });
  user = await makeUser();
  browser = at.browser();
  await browser.submit(await browser.get(`${ORIGIN}/account`), { email: user.email, password: user.password });
});

const isVerified = async (): Promise<boolean> =>
  (await env.DB.prepare(`SELECT email_verified_at FROM user WHERE email = ?1`)
    .bind(user.email)
    .first("email_verified_at")) !== null;
async function ask(): Promise<void> {
  const page = await browser.get(`${ORIGIN}/account`);
  const form = page.forms.find(({ action }) => action.endsWith("/verify-address"))!;
  expect((await browser.post(form.action, form.fields)).status).toBe(303);
}

describe("an address", () => {
  it("is verified by a click behind a link in a mail, by nothing before", async () => {
    await ask();
    expect(at.mails.map(({ to }) => to)).toEqual([user.email]);
    const page = await browser.get(linkIn(at.mails[0]), "cross-site");
    expect([page.status, await isVerified()]).toEqual([200, false]);
    expect((await browser.submit(page, {})).status).toBe(200);
    expect(await isVerified()).toBe(true);
    expect((await browser.submit(page, {})).status).toBe(400);
    expect((await browser.get(`${ORIGIN}/account`)).html).toContain("Your address is confirmed.");
  });

  it("is verified in the browser that asked, by a form of ours, and never by a link for a password", async () => {
    await ask();
    const link = linkIn(at.mails[0]);
    expect((await at.browser().get(link)).status).toBe(400);
    expect((await browser.get(link.replace("/verify", "/reset"))).status).toBe(400);
    const { action, fields } = (await browser.get(link)).forms[0]!;
    expect((await browser.post(action, fields, "cross-site")).status).toBe(400);
    await browser.post(action, { ...fields, csrf: "x" });
    expect(await isVerified()).toBe(false);
  });

  it("is verified if the page says so, and only then, whenever the database fails", async () => {
    await ask();
    const page = await browser.get(linkIn(at.mails[0]));
    await untilDone((there) => browserAt(there, browser).submit(page, {}), isVerified);
  });

  it("gets at most three links an hour", async () => {
    for (let n = 0; n < 5; n++) await ask();
    expect(at.mails.length).toBe(3);
  });
});
