import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { AuthenticatorApp } from "../support/authenticator-app.ts";
import { TENANT, type User } from "../support/world.ts";
import { atAccount, isShown, landed, makeUser, signIn, VERIFIER, type Stage } from "./stage.ts";

/** `/account` as a person meets it. */
export function accountPageSuite(stage: () => Stage): void {
  const address = (): string => `${stage().world.base}/account`;
  const told = async (page: Page, role: "alert" | "status"): Promise<string | undefined> =>
    (await page.getByRole(role).textContent())?.trim();

  /** The application signs the user in and keeps a refresh token. */
  async function giveAccess(page: Page, user: User): Promise<void> {
    await page.goto(stage().link());
    await signIn(page, user);
    const { query } = await landed(page);
    const body = new URLSearchParams({
      grant_type: "authorization_code",
      client_id: stage().client.id,
      redirect_uri: `${stage().app.origin}/landed`,
      code: query.get("code") ?? "",
      code_verifier: VERIFIER,
    });
    expect((await fetch(`${stage().world.issuer}/token`, { method: "POST", body })).status).toBe(200);
  }

  describe("the account page", () => {
    test("sends a form once however often its button is pressed: recovery codes are shown", async () => {
      const user = await makeUser(stage(), "impatient");
      const page = await atAccount(stage(), user);
      const sent: string[] = [];
      // The answers are slow. A browser shows only that to the last request.
      await page.route("**/second-factor/*", async (route) => {
        sent.push(new URL(route.request().url()).pathname.split("/").at(-1) ?? "");
        const response = await route.fetch();
        await new Promise((resolve) => setTimeout(resolve, 1_500));
        await route.fulfill({ response });
      });
      const pressTwice = async (name: string): Promise<void> => {
        const { x, y, width, height } = (await page.getByRole("button", { name, exact: true }).boundingBox())!;
        for (const pauseMs of [400, 0]) {
          await page.mouse.click(x + width / 2, y + height / 2);
          await page.waitForTimeout(pauseMs);
        }
      };

      await page.getByRole("button", { name: "Set up two-step sign-in" }).scrollIntoViewIfNeeded();
      await pressTwice("Set up two-step sign-in");
      await isShown(page, "Set up two-step sign-in");
      const app = new AuthenticatorApp((await page.locator("code.key").textContent()) ?? "");
      await page.getByLabel("Password").fill(user.password);
      await page.getByLabel("The code that the app shows").fill(await app.next());
      await page.getByRole("button", { name: "Turn on" }).scrollIntoViewIfNeeded();
      await pressTwice("Turn on");
      await isShown(page, "Keep your recovery codes");
      expect(await page.getByRole("listitem").count()).toBe(10);
      expect(sent).toEqual(["set-up", "confirm"]);
    });

    test("takes a form again after ten seconds without an answer", async () => {
      const page = await stage().open();
      await page.clock.install();
      await page.goto(address());
      const press = async () =>
        page.evaluate(`document.forms[0].dispatchEvent(new Event("submit", { bubbles: true, cancelable: true }))`);
      expect([await press(), await press()]).toEqual([true, false]);
      await page.clock.runFor(10_000);
      expect(await press()).toBe(true);
    });

    // shows: asvs/v7-session-management/7.4.4
    test("by keyboard alone and without JavaScript: access taken away, password changed, signed out", async () => {
      const user = await makeUser(stage(), "grace");
      const page = await stage().open({ javaScriptEnabled: false });
      await giveAccess(page, user);
      await page.goto(address());
      await isShown(page, "Your account");
      expect(await page.getByRole("listitem").allInnerTexts()).toEqual([
        expect.stringContaining("This browser"),
        expect.stringContaining(stage().client.id),
      ]);
      await tabTo(page, "Remove access");
      await page.keyboard.press("Enter");
      await page.getByText("No application has lasting access").waitFor();
      expect(await told(page, "status")).toBe("The application has no access any more.");
      expect(page.url()).toBe(address());
      await page.reload();
      expect(await page.getByRole("status").count()).toBe(0);

      const next = "the second password of grace";
      const change = async (old: string): Promise<void> => {
        await page.getByLabel("Old password").fill(old);
        await page.getByLabel("New password, 8 to 256 characters").fill(next);
        await page.getByLabel("New password again").fill(next);
        await page.keyboard.press("Enter");
      };
      await change("another");
      await page.getByRole("alert").waitFor();
      expect(await told(page, "alert")).toBe("The old password is wrong.");
      await page.locator("#password:focus").waitFor();
      await change(user.password);
      await page.getByRole("status").waitFor();
      expect(await told(page, "status")).toBe("Your password is changed. Everybody else is signed out.");

      await tabTo(page, "Sign out of this browser");
      await page.keyboard.press("Enter");
      await isShown(page, "Sign in");
      expect(await told(page, "status")).toBe("You are signed out of this browser.");
      expect((await page.context().cookies()).map(({ name }) => name).sort()).toEqual(["plat_browser", "plat_device"]);
      await signIn(page, { ...user, password: next });
      await isShown(page, "Your account");
    });

    test("an invited person chooses a password, joins, and signs a lost browser out", async () => {
      const user = { email: "margaret@acme.example", password: "the first password of margaret" };
      await stage().world.put(`tenants/${TENANT}/invitations/${user.email}`, { roles: ["everything"] });
      const [here, lost] = [await stage().open(), await stage().open()];
      await here.goto(`${stage().world.url}/dev/mail`);
      await here.locator("section", { hasText: user.email }).first().getByRole("link").click();
      await isShown(here, "You are invited");
      await here.getByLabel("New password, 8 to 256 characters").fill(user.password);
      await here.getByLabel("New password again").fill(user.password);
      await here.getByRole("button", { name: "Accept the invitation" }).click();
      await isShown(here, "Welcome");
      await giveAccess(lost, user);
      await here.getByRole("link", { name: "Your account" }).click();
      await signIn(here, user);
      await isShown(here, "Your account");
      await here.getByText("Your address is confirmed.").waitFor();
      await here.getByRole("button", { name: "Sign out there" }).click();
      await here.getByRole("status").waitFor();
      expect(await here.getByRole("button", { name: "Sign out there" }).count()).toBe(0);
      await lost.goto(address());
      await isShown(lost, "Sign in");
    });

    test("signing out everywhere ends other browsers too, and a tab that is open still leads to the sign-in form", async () => {
      const user = await makeUser(stage(), "joan");
      const [here, there] = [await stage().open(), await stage().open()];
      for (const page of [here, there]) {
        await page.goto(address());
        await signIn(page, user);
        await isShown(page, "Your account");
      }
      await here.getByRole("button", { name: "Sign out everywhere" }).click();
      await isShown(here, "Sign in");
      await there.getByRole("button", { name: "Sign out of this browser" }).click();
      await isShown(there, "Sign in");
      expect(await there.getByRole("status").innerText()).toBe("You are signed out of this browser.");
    });
  });
}

/** Presses Tab until the button has the cursor. */
async function tabTo(page: Page, name: string): Promise<void> {
  const focused = page.locator("button:focus");
  for (let n = 0; n < 12; n++) {
    await page.keyboard.press("Tab");
    if ((await focused.count()) === 1 && (await focused.textContent())?.trim() === name) return;
  }
  throw new Error(`no way by keyboard to ${name}`);
}
