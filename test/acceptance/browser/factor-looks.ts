import type { BrowserContextOptions, Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { AuthenticatorApp } from "../support/authenticator-app.ts";
import { barriersOf } from "../support/axe.ts";
import { Authenticator } from "../support/virtual-authenticator.ts";
import type { User } from "../support/world.ts";
import { lookAt } from "./looks.ts";
import { makeUser, type Stage } from "./stage.ts";

/** In each language: the heading of each page that a person with a second factor or a mailed link meets. */
const HEADINGS = {
  "en-GB": {
    signIn: "Sign in",
    account: "Your account",
    setUp: "Set up two-step sign-in",
    codes: "Keep your recovery codes",
    code: "Enter your code",
    newPasskey: "Add a passkey",
    onlyPasskey: "Show that it is you",
    confirm: "Is this your address?",
    confirmed: "Your address is confirmed",
    elsewhere: "Open the link in the other browser",
    newPassword: "Choose a new password",
    changed: "Your password is changed",
  },
  "de-DE": {
    signIn: "Anmelden",
    account: "Ihr Konto",
    setUp: "Anmeldung in zwei Schritten einrichten",
    codes: "Bewahren Sie diese Codes auf",
    code: "Code eingeben",
    newPasskey: "Passkey hinzufügen",
    onlyPasskey: "Zeigen Sie, dass Sie es sind",
    confirm: "Ist das Ihre Adresse?",
    confirmed: "Ihre Adresse ist bestätigt",
    elsewhere: "Öffnen Sie den Link im anderen Browser",
    newPassword: "Neues Passwort wählen",
    changed: "Ihr Passwort ist geändert",
  },
} as const;
type Heading = keyof (typeof HEADINGS)["en-GB"];

/** The pages of second factors, passkeys and mailed links, in two languages and both themes, narrow and wide. */
export function factorLooksSuite(stage: () => Stage): void {
  // Passkeys need a host with a name.
  const named = (address: string): string => address.replace("//127.0.0.1:", "//localhost:");
  const account = (): string => named(`${stage().world.base}/account`);

  /** The button of the form that is sent there. */
  const button = (page: Page, path: string) =>
    page.locator(`form[action*="${path}"] button:not([formaction]), button[formaction*="${path}"]`).first();
  async function signIn(page: Page, { email, password }: User): Promise<void> {
    await page.locator("input[name=email]").fill(email);
    await page.locator("input[name=password]").fill(password);
    await page.locator("button.submit").click();
  }
  async function signOut(page: Page): Promise<void> {
    await page.goto(account());
    await button(page, "/account/sign-out").click();
    await page.getByRole("status").waitFor();
  }
  async function openAll(page: Page): Promise<void> {
    for (const summary of await page.locator("summary").all()) await summary.click();
  }
  async function mailedLink(page: Page, { email }: User, path: string): Promise<string> {
    const box = await page.context().newPage();
    const links = box.locator("section", { hasText: email }).locator(`a[href*="${path}?"]`);
    await expect
      .poll(async () => (await box.goto(`${stage().world.url}/dev/mail`)) && links.count())
      .toBeGreaterThan(0);
    const link = (await links.first().getAttribute("href")) ?? "";
    await box.close();
    return named(link);
  }

  describe("every page of second factors, passkeys and mailed links fits, can be read, and has no barrier", () => {
    test.each([
      { locale: "de-DE", colorScheme: "light", viewport: { width: 320, height: 568 }, letters: 16 },
      { locale: "en-GB", colorScheme: "dark", viewport: { width: 360, height: 740 }, letters: 32 },
      { locale: "en-GB", colorScheme: "light", viewport: { width: 1280, height: 800 }, letters: 16 },
      { locale: "de-DE", colorScheme: "dark", viewport: { width: 1280, height: 800 }, letters: 16 },
    ] as const)("$locale, $colorScheme, $viewport.width px, $letters px", { timeout: 120_000 }, async (given) => {
      const { letters, ...options } = given;
      const page = await stage().open(options satisfies BrowserContextOptions);
      const devtools = await page.context().newCDPSession(page);
      await devtools.send("Page.setFontSizes", { fontSizes: { standard: letters } });
      const device = await Authenticator.plugIn(page);
      const look = async (heading: Heading, more?: { fault: true }, at = page): Promise<void> => {
        const name = HEADINGS[options.locale][heading];
        await at.getByRole("heading", { level: 1, name, exact: true }).waitFor();
        if (more !== undefined) await at.getByRole("alert").waitFor();
        await lookAt(at, name, options.colorScheme);
        expect(await barriersOf(at), name).toEqual([]);
      };

      const user = await makeUser(stage(), `looks${options.locale}${options.colorScheme}`);
      await device.pause();
      await page.goto(account());
      await look("signIn");
      await signIn(page, user);
      await look("account");

      await button(page, "/second-factor/set-up").click();
      await look("setUp");
      const app = new AuthenticatorApp((await page.locator("code.key").textContent()) ?? "");
      await page.locator("input[name=password]").fill(user.password);
      await page.locator("input[name=code]").fill("000000");
      await page.locator("button.submit").click();
      await look("setUp", { fault: true });
      await page.locator("input[name=password]").fill(user.password);
      await page.locator("input[name=code]").fill(await app.next());
      await page.locator("button.submit").click();
      await look("codes");
      await page.locator("a.submit").click();
      await openAll(page);
      await look("account");
      await page.locator("input[name=code]").fill("000000");
      await button(page, "/second-factor/remove").click();
      await look("account", { fault: true });

      await button(page, "/passkeys/new").click();
      await look("newPasskey");
      // Only a browser that cannot go on is told so.
      expect(await page.locator("[data-passkey-fault]:visible").count()).toBe(0);
      await page.evaluate("document.querySelector('form').submit()");
      await look("newPasskey", { fault: true });
      await device.resume();
      await page.locator("button[data-passkey]").click();
      await page.getByRole("status").waitFor();
      await device.pause();
      await openAll(page);
      await look("account");

      await signOut(page);
      await signIn(page, user);
      await openAll(page);
      await look("code");
      await page.locator("input[name=code]").fill("000000");
      await page.locator("button.submit").click();
      await look("code", { fault: true });
      await stage().world.operate("DELETE", `users/${user.email}/second-factor`);
      await signOut(page);

      const needed = named(stage().link({ acr_values: "urn:plinth:acr:two-factors" }));
      await page.goto(needed);
      await signIn(page, user);
      await look("onlyPasskey");
      await page.evaluate("document.querySelector('form').submit()");
      await look("onlyPasskey", { fault: true });
      await signOut(page);
      await page.goto(needed);
      const other = await makeUser(stage(), `new${options.locale}${options.colorScheme}`);
      await signIn(page, other);
      await look("setUp");

      await page.goto(account());
      await button(page, "/account/verify-address").click();
      await page.getByRole("status").waitFor();
      const confirming = await mailedLink(page, other, "/verify");
      const stranger = await stage().open(options);
      await stranger.goto(confirming);
      await look("elsewhere", undefined, stranger);
      await page.goto(confirming);
      await look("confirm");
      await page.locator("main button").click();
      await look("confirmed");

      await stranger.goto(account());
      await stranger.locator("button[formaction*='/forgot']").click();
      await stranger.locator("input[name=email]").fill(user.email);
      await stranger.locator("button.submit").click();
      await stranger.goto(await mailedLink(stranger, user, "/reset"));
      await look("newPassword", undefined, stranger);
      for (const field of await stranger.locator("input[type=password]").all()) await field.fill("a second password");
      await stranger.locator("button.submit").click();
      await look("changed", undefined, stranger);
    });
  });
}
