import { setTimeout } from "node:timers/promises";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { Authenticator } from "../support/virtual-authenticator.ts";
import type { User } from "../support/world.ts";
import { isShown, landed, makeUser, signIn, type Stage } from "./stage.ts";

/**
 * Passkeys with Chromium's virtual authenticator. The platform is visited at `localhost`, since passkeys need a host
 * with a name. `npm test` has time for the essential stories.
 */
export function passkeySuite(stage: () => Stage, stories: "essential" | "other"): void {
  const named = (address: string): string => address.replace("//127.0.0.1:", "//localhost:");
  const account = (): string => named(`${stage().world.base}/account`);
  const link = (more: Record<string, string> = {}): string => named(stage().link(more));
  /**
   * Presses the button, and touches the authenticator until the form is sent: no page that follows is answered. The
   * offer in the address field may be answered before the button is pressed.
   */
  async function use(page: Page, device: Authenticator): Promise<void> {
    const sent = page.waitForRequest((request) => request.method() === "POST");
    await device.resume();
    const pressed = page.getByRole("button", { name: "Use a passkey" }).click({ timeout: 5_000 });
    await Promise.race([sent, pressed]);
    pressed.catch(() => {});
    await sent;
    await device.pause();
  }

  /** Signs in and opens the page that adds a passkey. */
  async function beforePasskey(name: string): Promise<{ user: User; page: Page; device: Authenticator }> {
    const user = await makeUser(stage(), name);
    const page = await stage().open();
    const device = await Authenticator.plugIn(page);
    await page.goto(account());
    await signIn(page, user);
    await page.getByRole("button", { name: "Add a passkey" }).click();
    await isShown(page, "Add a passkey");
    return { user, page, device };
  }

  /** Adds a passkey, too; the browser keeps its authenticator. */
  async function withPasskey(name: string): Promise<{ user: User; page: Page; device: Authenticator }> {
    const { user, page, device } = await beforePasskey(name);
    expect(await page.getByLabel("Name of the passkey").inputValue()).toMatch(/^Chrome, /);
    await page.getByLabel("Name of the passkey").fill("Laptop");
    await page.getByRole("button", { name: "Create the passkey" }).click();
    await page.getByText("The passkey is added.").waitFor();
    return { user, page, device };
  }

  const signOut = async (page: Page): Promise<void> => {
    await page.goto(account());
    await page.getByRole("button", { name: "Sign out of this browser" }).click();
    await page.getByText("You are signed out of this browser.").waitFor();
  };

  const essential = () => {
    // shows: oauth/passkeys/browser
    test("is added, signs in by the button, is renamed and removed, and then signs nobody in", async () => {
      const { user, page, device } = await withPasskey("hedy");
      expect(
        (await device.credentials()).map(({ rpId, isResidentCredential }) => [rpId, isResidentCredential]),
      ).toEqual([["localhost", true]]);
      // The device says that it has one already, and nothing is sent.
      await page.getByRole("button", { name: "Add a passkey" }).click();
      await page.getByRole("button", { name: "Create the passkey" }).click();
      await page.getByText("has a passkey for your account already").waitFor();
      await device.pause();
      await signOut(page);
      await page.goto(link());
      await use(page, device);
      expect((await landed(page)).query.get("code")).not.toBeNull();
      await page.goto(account());
      await page.getByText("Rename").first().click();
      await page.getByLabel("Name of the passkey").fill("Old laptop");
      await page.getByRole("button", { name: "Rename" }).click();
      await page.getByRole("heading", { name: "Old laptop" }).waitFor();
      await page.getByRole("button", { name: "Remove", exact: true }).click();
      await page.getByText("does not sign you in any more").waitFor();
      await device.pause();
      await signOut(page);
      await use(page, device);
      await page.getByRole("alert").getByText("not known here").waitFor();
      await signIn(page, user);
      await isShown(page, "Your account");
    });

    // shows: oauth/passkeys/origin
    test("signs nobody in by an answer that was made on a page of another origin, or that was sent before", async () => {
      const { page, device } = await withPasskey("annie");
      await device.pause();
      await signOut(page);
      await page.goto(link());
      const button = page.locator("button[data-passkey]");
      const asked = JSON.parse((await button.getAttribute("data-passkey"))!) as { challenge: string; rpId: string };
      // The application is another port of localhost: the browser lets it use the same passkeys.
      const evil = await page.context().newPage();
      await evil.goto(`${stage().app.origin}/landed`);
      const there = await Authenticator.plugIn(evil);
      await there.take(await device.credentials());
      const answer = await evil.evaluate(`(${ANSWER})(${JSON.stringify(asked)})`);
      expect(answer).toContain('"signature"');
      const send = (text: unknown): Promise<unknown> =>
        page.evaluate(`(() => {
          const { form } = document.querySelector("button[data-passkey]");
          form.elements.credential.value = ${JSON.stringify(text)};
          form.submit();
        })()`);
      await send(answer);
      await page.getByRole("alert").getByText("not known here, or it was not accepted").waitFor();

      // The browser keeps the page's request, and it is sent again.
      await page.goto(link());
      const sent = page.waitForRequest((request) => request.method() === "POST" && request.url().includes("/sign-in"));
      await use(page, device);
      const body = (await sent).postData() ?? "";
      await landed(page);
      const again = await page.context().request.post(named(`${stage().world.issuer}/sign-in`), {
        data: body,
        headers: { "content-type": "application/x-www-form-urlencoded" },
        maxRedirects: 0,
      });
      expect([again.status(), await again.text()]).toEqual([400, expect.stringContaining("not accepted")]);
    });
  };

  const other = () => {
    test("is offered in the address field, and signs in from there", async () => {
      const { page, device } = await withPasskey("ida");
      await device.pause();
      await signOut(page);
      expect(await page.evaluate("PublicKeyCredential.isConditionalMediationAvailable()")).toBe(true);
      await device.resume();
      // The virtual authenticator chooses as soon as the browser offers.
      await page.goto(link());
      expect((await landed(page)).query.get("code")).not.toBeNull();
    });

    test("says so when the person is not verified, and the password still signs in", async () => {
      const { user, page, device } = await withPasskey("katherine");
      await device.verify(false);
      await signOut(page);
      await page.getByRole("button", { name: "Use a passkey" }).click();
      await page.getByText("That did not work, or it was cancelled.").waitFor();
      await signIn(page, user);
      await isShown(page, "Your account");
    });

    test("counts where two factors are needed, after the password", async () => {
      const { user, page, device } = await withPasskey("dorothy");
      await device.pause();
      await signOut(page);
      await page.goto(link({ acr_values: "urn:plinth:acr:two-factors" }));
      await signIn(page, user);
      await isShown(page, "Show that it is you");
      await use(page, device);
      expect((await landed(page)).query.get("code")).not.toBeNull();
    });

    test("is made and sent once, and no other form is sent meanwhile", async () => {
      const { user, page, device } = await beforePasskey("twice");
      const sent: string[] = [];
      await page.route("**/*", async (route) => {
        if (route.request().method() === "POST") {
          sent.push(new URL(route.request().url()).pathname);
          await setTimeout(1_000);
        }
        await route.continue();
      });
      const make = page.getByRole("button", { name: "Create the passkey" });
      await make.dblclick();
      await expect.poll(() => sent.length).toBe(1);
      // Playwright's own click would wait for the answer.
      await page.keyboard.press("Enter");
      await page.getByText("The passkey is added.").waitFor();
      expect([sent.length, (await device.credentials()).length]).toEqual([1, 1]);

      await device.pause();
      await signOut(page);
      await page.goto(account());
      sent.length = 0;
      await page.getByLabel("E-mail address").fill(user.email);
      await page.getByLabel("Password").fill(user.password);
      const { x = 0, y = 0 } = (await page.getByRole("button", { name: "Sign in", exact: true }).boundingBox()) ?? {};
      await use(page, device);
      await page.mouse.click(x + 5, y + 5);
      await isShown(page, "Your account");
      expect(sent.length).toBe(1);
    });

    // shows: oauth/passkeys/counter
    test("that was copied signs nobody in once the other one was used: its counter is older", async () => {
      const { page, device } = await withPasskey("radia");
      const copied = await device.credentials();
      await device.pause();
      // Far ahead: a page that fills in passkeys asks the copy again after each refusal, and each time it counts on.
      await device.take(copied.map((credential) => ({ ...credential, signCount: credential.signCount + 1_000 })));
      await signOut(page);
      await use(page, device);
      await isShown(page, "Your account");
      const thief = await stage().open();
      const copy = await Authenticator.plugIn(thief);
      await copy.pause();
      await copy.take(copied);
      await thief.goto(account());
      await use(thief, copy);
      await thief.getByRole("alert").getByText("not known here, or it was not accepted").waitFor();
      // The one that went on counting is still good.
      await signOut(page);
      await use(page, device);
      await isShown(page, "Your account");
    });

    test("is neither shown nor needed without JavaScript", async () => {
      const user = await makeUser(stage(), "ada-without-scripts");
      const page = await stage().open({ javaScriptEnabled: false });
      await page.goto(account());
      expect(await page.getByRole("button").allTextContents()).toEqual([
        "Sign in",
        expect.stringContaining("Forgot your password?"),
      ]);
      await signIn(page, user);
      await page.getByRole("button", { name: "Add a passkey" }).click();
      await page.getByText("Passkeys need JavaScript").waitFor();
      expect(await page.getByRole("button").count()).toBe(0);
    });
  };

  describe("a passkey in Chromium", () => (stories === "essential" ? essential() : other()));
}

/** What the script of the platform's page does, on a page of somebody else. */
const ANSWER = `async ({ challenge, rpId }) => {
  const bytesOf = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (char) => char.charCodeAt(0));
  const textOf = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer)))
    .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  const { id, response } = await navigator.credentials.get({
    publicKey: { challenge: bytesOf(challenge), rpId, userVerification: "required" },
  });
  return JSON.stringify({
    id,
    clientData: textOf(response.clientDataJSON),
    authenticatorData: textOf(response.authenticatorData),
    signature: textOf(response.signature),
    userHandle: textOf(response.userHandle),
  });
}`;
