import { decodeJwt } from "jose";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { AuthenticatorApp } from "../support/authenticator-app.ts";
import { SCOPES, type User } from "../support/world.ts";
import { atAccount, fieldsOf, isShown, landed, makeUser, signIn, VERIFIER, type Stage } from "./stage.ts";

const TWO_FACTORS = "urn:plinth:acr:two-factors";
const WRONG_CODE = "The code is wrong, or it was used already. Wait for the next one.";
const RECOVERY_CODE = /^[a-z2-7]{4}(?:-[a-z2-7]{4}){5}$/;

/** One-time codes and the links of mails, as people use them and as others try to. */
export function factorsAndLinksSuite(stage: () => Stage): void {
  oneTimeCodes(stage);
  resetLinks(stage);
  confirmedAddress(stage);
}

const accountOf = ({ world }: Stage): string => `${world.base}/account`;

function oneTimeCodes(stage: () => Stage): void {
  const appOf = async (page: Page): Promise<AuthenticatorApp> =>
    new AuthenticatorApp((await page.locator("code.key").textContent()) ?? "");
  const recoveryCodesOf = async (page: Page): Promise<readonly string[]> => {
    await isShown(page, "Keep your recovery codes");
    const codes = await page.getByRole("listitem").allInnerTexts();
    expect(codes).toHaveLength(10);
    for (const code of codes) expect(code).toMatch(RECOVERY_CODE);
    return codes;
  };
  async function enter(page: Page, code: string): Promise<void> {
    await page.getByLabel("Code", { exact: true }).fill(code);
    await page.getByRole("button", { name: "Continue" }).click();
  }
  async function enterRecoveryCode(page: Page, code: string): Promise<void> {
    await page.getByText("You do not have your app?").click();
    await page.getByLabel("One of your recovery codes").fill(code);
    await page.getByRole("button", { name: "Continue" }).click();
  }
  /** A new browser, which has sent the password and is asked for the code. */
  async function atCode(user: User): Promise<Page> {
    const page = await stage().open();
    await page.goto(stage().link());
    await signIn(page, user);
    await isShown(page, "Enter your code");
    return page;
  }
  const isWrong = async (page: Page): Promise<void> => {
    await page.getByRole("alert").getByText(WRONG_CODE).waitFor();
    await page.goto(stage().link({ prompt: "none" }));
    expect((await landed(page)).query.get("error")).toBe("login_required");
  };

  describe("a one-time code in a browser", () => {
    // shows: oauth/second-factor/enrolment
    // shows: oauth/second-factor/codes
    test("is set up at the account page, signs in once, and so does a recovery code", async () => {
      const user = await makeUser(stage(), "lise");
      const page = await atAccount(stage(), user);
      await page.getByRole("button", { name: "Set up two-step sign-in" }).click();
      await isShown(page, "Set up two-step sign-in");
      await page.getByRole("link", { name: "Back to your account" }).click();
      await isShown(page, "Your account");
      await page.getByRole("button", { name: "Set up two-step sign-in" }).click();
      await page.getByRole("img", { name: "A QR code with the key below" }).waitFor();
      const app = await appOf(page);
      const turnOn = async (password: string, code: string): Promise<void> => {
        await page.getByLabel("Password").fill(password);
        await page.getByLabel("The code that the app shows").fill(code);
        await page.getByRole("button", { name: "Turn on" }).click();
      };
      const first = await app.next();
      await turnOn("another password", first);
      await page.getByRole("alert").getByText("The password is wrong.").waitFor();
      await turnOn(user.password, first);
      const [recoveryCode = ""] = await recoveryCodesOf(page);
      await page.getByRole("link", { name: "I have kept them" }).click();
      await page.getByText("On. You have 10 recovery codes left.").waitFor();

      // The code that turned it on is used up too.
      const early = await atCode(user);
      await enter(early, first);
      await isWrong(early);
      const code = await app.next();
      const here = await atCode(user);
      await enter(here, code);
      expect((await landed(here)).query.get("code")).not.toBeNull();
      const there = await atCode(user);
      await enter(there, code);
      await isWrong(there);

      const lost = await atCode(user);
      await enterRecoveryCode(lost, recoveryCode);
      expect((await landed(lost)).query.get("code")).not.toBeNull();
      const thief = await atCode(user);
      await enterRecoveryCode(thief, recoveryCode);
      await isWrong(thief);
      await page.reload();
      await page.getByText("On. You have 9 recovery codes left.").waitFor();
    });

    // shows: oauth/second-factor/required
    test("is set up at the sign-in where a tenant requires it, and no other way leads around it", async () => {
      const tenant = "vault";
      const { world, app: application } = stage();
      const settings = { organization: "group", name: "Vault" };
      await world.put(`tenants/${tenant}`, settings);
      await world.put(`tenants/${tenant}/subscriptions/platform`, {});
      const { clientSecret } = await world.put(`clients/${tenant}.app`, {
        tenant,
        confidential: true,
        scopes: SCOPES,
        grantTypes: ["authorization_code", "refresh_token", "password"],
        redirectUris: ["http://localhost/landed"],
      });
      const user = await makeUser(stage(), "rosalind", tenant);
      const token = async (form: Record<string, string>): Promise<{ status: number; body: any }> => {
        const answer = await fetch(`${world.issuer}/token`, {
          method: "POST",
          headers: { authorization: `Basic ${btoa(`${tenant}.app:${clientSecret as string}`)}` },
          body: new URLSearchParams(form),
        });
        return { status: answer.status, body: await answer.json() };
      };
      const redeemed = async (page: Page): Promise<any> => {
        const code = (await landed(page)).query.get("code") ?? "";
        const redirect = { redirect_uri: `${application.origin}/landed`, code_verifier: VERIFIER };
        const { status, body } = await token({ grant_type: "authorization_code", code, ...redirect });
        expect([status, body]).toEqual([200, expect.objectContaining({ refresh_token: expect.any(String) })]);
        return body;
      };
      const byRefresh = (refresh: string) => token({ grant_type: "refresh_token", refresh_token: refresh });
      const byPassword = () =>
        token({
          grant_type: "password",
          plat_id_provider: "legacy_idp",
          username: user.email,
          password: user.password,
        });
      const link = (more: Record<string, string> = {}): string =>
        stage().link({ client_id: `${tenant}.app`, scope: ["openid", ...SCOPES].join(" "), ...more });

      // All of it is enough before the tenant asks for more.
      const before = await stage().open();
      await before.goto(link());
      await signIn(before, user);
      const { refresh_token: old } = await redeemed(before);
      expect((await byPassword()).status).toBe(200);
      await world.put(`tenants/${tenant}`, { ...settings, requireSecondFactor: true });

      const refused = { status: 400, body: expect.objectContaining({ error: "invalid_grant" }) };
      await expect.poll(byPassword, { timeout: 60_000, interval: 1000 }).toEqual(refused);
      expect(await byRefresh(old)).toEqual(refused);
      // The session of before is of one factor.
      await before.goto(link({ prompt: "none" }));
      expect((await landed(before)).query.get("error")).toBe("login_required");

      const page = await stage().open();
      await page.goto(link());
      await signIn(page, user);
      await isShown(page, "Set up two-step sign-in");
      await page.goto(link());
      await isShown(page, "Set up two-step sign-in");
      await page.goto(link({ prompt: "none" }));
      expect((await landed(page)).query.get("error")).toBe("login_required");
      await page.goBack();
      await isShown(page, "Set up two-step sign-in");
      expect(await byPassword()).toEqual(refused);

      const app = await appOf(page);
      await page.getByLabel("The code that the app shows").fill("000000");
      await page.getByRole("button", { name: "Turn on" }).click();
      await page.getByRole("alert").getByText(WRONG_CODE).waitFor();
      await page.getByLabel("The code that the app shows").fill(await app.next());
      await page.getByRole("button", { name: "Turn on" }).click();
      await recoveryCodesOf(page);
      await page.getByRole("button", { name: "I have kept them" }).click();
      const tokens = await redeemed(page);
      expect(decodeJwt(tokens.id_token)).toMatchObject({ acr: TWO_FACTORS, amr: ["pwd", "otp", "mfa"] });
      expect((await byRefresh(tokens.refresh_token)).status).toBe(200);
      expect(await byRefresh(old)).toEqual(refused);
      expect(await byPassword()).toEqual(refused);
      await page.goto(accountOf(stage()));
      await page.getByText("On. You have 10 recovery codes left.").waitFor();
    });
  });
}

const NEW_PASSWORD = "New password, 8 to 256 characters";

function resetLinks(stage: () => Stage): void {
  /** Asks for a link in this browser, and says what the page answers. */
  async function ask(page: Page, email: string): Promise<string> {
    await page.goto(stage().link());
    await page.getByLabel("E-mail address").fill(email);
    await page.getByRole("button", { name: "Forgot your password?" }).click();
    await page.getByRole("button", { name: "Send the link" }).click();
    await isShown(page, "Look at your mail");
    return (await page.getByRole("main").innerText()).replaceAll(email, "{user}");
  }
  async function askedLink(page: Page, email: string): Promise<string> {
    await ask(page, email);
    return mailedLink(stage(), email, "/reset");
  }
  async function choose(page: Page, password: string): Promise<void> {
    await page.getByLabel(NEW_PASSWORD).fill(password);
    await page.getByLabel("New password again").fill(password);
    await page.getByRole("button", { name: "Change password" }).click();
  }
  const isRefused = async (page: Page, link: string, heading: string): Promise<void> => {
    await page.goto(link);
    await isShown(page, heading);
    expect(await page.getByRole("textbox").count()).toBe(0);
  };
  const GONE = "This link does not work any more";

  describe("the link for a forgotten password", () => {
    // shows: oauth/mailed-links/once
    test("works once, in the browser that asked alone", async () => {
      const user = await makeUser(stage(), "emmy");
      const [page, thief] = [await stage().open(), await stage().open()];
      const link = await askedLink(page, user.email);
      await isRefused(thief, link, "Open the link in the other browser");
      // Not even with the form of the right browser.
      await page.goto(link);
      const form = await fieldsOf(page);
      const forged = await thief.context().request.post(`${stage().world.issuer}/reset`, {
        form: { ...form, new_password: "of a thief", repeated_password: "of a thief" },
      });
      expect([forged.status(), await forged.text()]).toEqual([400, expect.stringContaining("in the other browser")]);
      const next = "the second password of emmy";
      await choose(page, next);
      await isShown(page, "Your password is changed");
      await isRefused(page, link, GONE);
      await isRefused(thief, link, GONE);
      await atAccount(stage(), { ...user, password: next });
    });

    // shows: oauth/mailed-links/raced
    test("works for one of two browsers that use it at once", async () => {
      const user = await makeUser(stage(), "maria");
      const first = await stage().open();
      const link = await askedLink(first, user.email);
      // A copy with the same cookies: to the platform it is the browser that asked.
      const second = await stage().open({ storageState: await first.context().storageState() });
      const pages = [first, second];
      const passwords = ["the password of the first", "the password of the second"];
      for (const [at, page] of pages.entries()) {
        await page.goto(link);
        await page.getByLabel(NEW_PASSWORD).fill(passwords[at]!);
        await page.getByLabel("New password again").fill(passwords[at]!);
      }
      await Promise.all(pages.map((page) => page.getByRole("button", { name: "Change password" }).click()));
      const outcome = { level: 1, name: /is changed$|not work any more$/ };
      const headings = await Promise.all(pages.map((page) => page.getByRole("heading", outcome).innerText()));
      expect(headings.toSorted()).toEqual([GONE, "Your password is changed"]);
      const won = headings.indexOf("Your password is changed");
      await atAccount(stage(), { ...user, password: passwords[won]! });
      const loser = await stage().open();
      await loser.goto(stage().link());
      await signIn(loser, { ...user, password: passwords[1 - won]! });
      await loser.getByRole("alert").getByText("The e-mail address or the password is wrong.").waitFor();
    });

    // shows: oauth/mailed-links/disabled
    test("is not sent to a disabled person, who sees the same page; one of before is void", async () => {
      const user = await makeUser(stage(), "noether");
      const page = await stage().open();
      const link = await askedLink(page, user.email);
      const answered = await ask(await stage().open(), user.email);
      await expect.poll(() => mailsTo(stage(), user.email)).toBe(2);
      await stage().world.put(`users/${user.email}`, { name: "noether", disabled: true });
      await isRefused(page, link, GONE);
      expect(await ask(await stage().open(), user.email)).toBe(answered);
      // The platform has finished with it once that stands in the audit log.
      await expect.poll(() => outcomes(user.email)).toEqual(["refused", "done", "done"]);
      expect(mailsTo(stage(), user.email)).toBe(2);
    });
  });

  const outcomes = async (email: string): Promise<readonly string[]> => {
    const answer = await stage().world.operate("GET", `audit?subject=users/${email}&action=forgot+password`);
    const rows: readonly { outcome: string }[] = await answer.json();
    return rows.map(({ outcome }) => outcome);
  };
}

function confirmedAddress(stage: () => Stage): void {
  describe("the address of a person", () => {
    // shows: oauth/mailed-links/confirmation
    test("is verified to applications only after a click behind the link of a confirmation mail", async () => {
      const user = await makeUser(stage(), "cecilia");
      const page = await atAccount(stage(), user);
      const isVerified = async (): Promise<unknown> => {
        await page.goto(stage().link({ scope: "openid email" }));
        const body = new URLSearchParams({
          grant_type: "authorization_code",
          client_id: stage().client.id,
          redirect_uri: `${stage().app.origin}/landed`,
          code: (await landed(page)).query.get("code") ?? "",
          code_verifier: VERIFIER,
        });
        const answer = await fetch(`${stage().world.issuer}/token`, { method: "POST", body });
        const tokens = (await answer.json()) as { id_token: string; access_token: string };
        const headers = { authorization: `Bearer ${tokens.access_token}` };
        const told = (await (await fetch(`${stage().world.issuer}/userinfo`, { headers })).json()) as object;
        const idToken = decodeJwt(tokens.id_token);
        expect([idToken["email"], told]).toEqual([user.email, expect.objectContaining({ email: user.email })]);
        const [claim, info] = [idToken["email_verified"], (told as Record<string, unknown>)["email_verified"]];
        expect(info).toBe(claim);
        return claim ?? false;
      };
      expect(await isVerified()).toBe(false);
      await page.goto(accountOf(stage()));
      await page.getByText("Your address is not confirmed yet.").waitFor();
      await page.getByRole("button", { name: "Send a link to confirm it" }).click();
      await page.getByText("A link is on its way to your address.").waitFor();
      const link = await mailedLink(stage(), user.email, "/verify");
      expect(await isVerified()).toBe(false);
      const thief = await stage().open();
      await thief.goto(link);
      await isShown(thief, "Open the link in the other browser");
      // A program that looks at mails opens links too.
      await page.goto(link);
      await isShown(page, "Is this your address?");
      expect(await isVerified()).toBe(false);
      await page.goto(link);
      await page.getByRole("button", { name: "Yes, it is my address" }).click();
      await isShown(page, "Your address is confirmed");
      expect(await isVerified()).toBe(true);
      await page.goto(link);
      await isShown(page, "This link does not work any more");
    });
  });
}

/** The newest link to `path` in a mail to the address. It may be on its way: the answer does not wait for it. */
async function mailedLink(stage: Stage, email: string, path: string): Promise<string> {
  const box = await stage.open();
  const links = box.locator("section", { hasText: `to ${email}` }).getByRole("link");
  const find = async (): Promise<string | undefined> => {
    await box.goto(`${stage.world.url}/dev/mail`);
    const all = await links.evaluateAll((found) => found.map((link) => link.getAttribute("href") ?? ""));
    return all.find((link) => new URL(link).pathname.endsWith(path));
  };
  await expect.poll(find, { timeout: 20_000 }).toBeDefined();
  return (await find())!;
}

/** How many mails were sent to the address. */
const mailsTo = ({ world }: Stage, email: string): number =>
  world.output().split(`mail to ${email}: Choose a new password`).length - 1;
