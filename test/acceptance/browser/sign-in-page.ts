import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { ADA, BOB, EVE, OTHER_TENANT, TENANT } from "../support/world.ts";
import { landed, postForm, signIn, type Stage } from "./stage.ts";

const BLOCK_AFTER = 15;

/** The pages as a person meets them. */
export function signInPageSuite(stage: () => Stage): void {
  /** Whatever the page asks for that is neither the platform's nor the application's. */
  function outsideRequests(page: Page): string[] {
    const { world, app } = stage();
    const outside: string[] = [];
    page.on("request", (request) => {
      if (![world.url, app.origin].includes(new URL(request.url()).origin)) outside.push(request.url());
    });
    return outside;
  }

  describe("the sign-in page", () => {
    test("by keyboard alone, up to the application on another port", async () => {
      const page = await stage().open();
      const outside = outsideRequests(page);
      await page.goto(stage().link());
      await focusIsOn(page, "#email");
      await page.keyboard.type(ADA.email);
      await page.keyboard.press("Tab");
      await focusIsOn(page, "#password");
      await page.keyboard.type(ADA.password);
      await page.keyboard.press("Tab");
      await focusIsOn(page, "button");
      expect(await page.evaluate("getComputedStyle(document.activeElement).outlineStyle")).toBe("solid");
      await page.keyboard.press("Shift+Tab");
      await page.keyboard.press("Enter");
      const { query } = await landed(page);
      expect(Object.fromEntries(query)).toEqual({
        code: expect.any(String),
        state: "a state",
        iss: stage().world.issuer,
      });
      expect(outside).toEqual([]);
    });

    test("a forgotten password is replaced by a link in a mail, up to the application", async () => {
      const user = { email: "mary@acme.example", password: "the first password of mary" };
      await stage().world.put(`users/${user.email}`, { password: user.password });
      await stage().world.put(`tenants/${TENANT}/members/${user.email}`, { roles: ["everything"] });
      const page = await stage().open();
      const outside = outsideRequests(page);
      await page.goto(stage().link());
      await page.getByLabel("E-mail address").fill(user.email);
      await page.getByRole("button", { name: "Forgot your password?" }).click();
      await page.getByRole("button", { name: "Send the link" }).click();
      await page.getByText("a link is on its way").waitFor();
      // Each page can be gone back to, and nothing is sent by that.
      await page.goBack();
      await page.getByRole("button", { name: "Send the link" }).waitFor();
      expect(await page.getByLabel("E-mail address").inputValue()).toBe(user.email);
      await page.goForward();
      await page.getByText("a link is on its way").waitFor();
      await page.goto(`${stage().world.url}/dev/mail`);
      const link = await page
        .getByRole("region", { name: user.email })
        .or(page.locator("section", { hasText: user.email }))
        .first()
        .getByRole("link")
        .getAttribute("href");
      const stranger = await stage().open();
      await stranger.goto(link!);
      await stranger.getByRole("heading", { name: "Open the link in the other browser" }).waitFor();
      await page.goto(link!);
      const next = "the second password of mary";
      await page.getByLabel("New password, 8 to 256 characters").fill(next);
      await page.getByLabel("New password again").fill(next);
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "Your password is changed" }).waitFor();
      await page.getByRole("link", { name: "Sign in" }).click();
      await signIn(page, { ...user, password: next });
      expect((await landed(page)).query.get("state")).toBe("a state");
      expect(outside).toEqual([]);
    });

    const YEAR_SEC = 365 * 86_400;
    test("the cookies are what the browser keeps to itself", async () => {
      const page = await stage().open();
      await page.goto(stage().link());
      await signIn(page, ADA);
      await landed(page);
      const cookies = await page.context().cookies();
      const kept = { domain: "127.0.0.1", path: "/", httpOnly: true, secure: false, sameSite: "Lax", expires: -1 };
      expect(cookies.sort((a, b) => a.name.localeCompare(b.name))).toEqual([
        expect.objectContaining({ name: "plat_browser", ...kept }),
        expect.objectContaining({
          name: "plat_device",
          ...kept,
          expires: expect.closeTo(Date.now() / 1000 + YEAR_SEC, -2),
        }),
        expect.objectContaining({ name: "plat_session", ...kept }),
      ]);
      await page.goto(stage().link({ prompt: "login" }));
      expect(await page.evaluate("document.cookie")).toBe("");
    });

    test("without JavaScript, chooser included; the state comes back as it was", async () => {
      const state = `a "state" of <ä> & ✓ + % # \u{1f511}`;
      const page = await stage().open({ javaScriptEnabled: false });
      await page.goto(stage().link({ response_type: "token", client_id: stage().hosted.id, state }));
      await signIn(page, BOB);
      await page.getByRole("button", { name: "Globex" }).click();
      const { fragment } = await landed(page);
      expect(fragment.get("state")).toBe(state);
      expect(fragment.get("scope")?.split(" ")).toContain(`plat.tenant=${OTHER_TENANT}`);
    });

    test("a wrong password: says so, keeps the address, and the cursor stands in the password", async () => {
      const page = await stage().open();
      await page.goto(stage().link());
      await signIn(page, { ...ADA, password: "another" });
      await page.getByRole("alert").waitFor();
      expect((await page.getByRole("alert").textContent())?.trim()).toBe(
        "The e-mail address or the password is wrong.",
      );
      expect(await page.title()).toMatch(/^Error: /);
      expect(await page.getByLabel("E-mail address").inputValue()).toBe(ADA.email);
      expect(await page.getByLabel("Password").inputValue()).toBe("");
      await focusIsOn(page, "#password");
      await page.keyboard.type(ADA.password);
      await page.keyboard.press("Enter");
      expect((await landed(page)).query.get("code")).toBeTruthy();
    });

    test("a blocked account: the message, where the cursor is, whatever the password", async () => {
      const guess = () =>
        fetch(`${stage().world.issuer}/token`, {
          method: "POST",
          body: new URLSearchParams({
            grant_type: "password",
            plat_id_provider: "legacy_idp",
            username: EVE.email,
            password: "a guess",
          }),
        });
      for (let attempt = 0; attempt < BLOCK_AFTER; attempt++) expect((await guess()).status).toBe(400);
      const page = await stage().open();
      await page.goto(stage().link());
      await signIn(page, EVE);
      const alert = page.getByRole("alert");
      await alert.waitFor();
      expect((await alert.textContent())?.trim()).toBe(
        "There were too many unsuccessful authentication attempts. Try again later.",
      );
      await focusIsOn(page, "[role=alert]");
    });

    test("a form whose cookie is gone says so, and works when it is sent again", async () => {
      const page = await stage().open();
      await page.goto(stage().link());
      await page.context().clearCookies();
      await signIn(page, ADA);
      await page.getByRole("alert").waitFor();
      expect(await page.getByRole("alert").textContent()).toContain("This page was open for too long");
      expect(await page.getByLabel("E-mail address").inputValue()).toBe(ADA.email);
      await signIn(page, ADA);
      expect((await landed(page)).query.get("code")).toBeTruthy();
    });

    test("another language, by the browser's wish and by the application's", async () => {
      const page = await stage().open({ locale: "de-AT" });
      await page.goto(stage().link());
      expect(await page.evaluate("document.documentElement.lang")).toBe("de");
      await page.getByLabel("Passwort").waitFor();
      await page.goto(stage().link({ ui_locales: "fr-CA en" }));
      expect(await page.evaluate("document.documentElement.lang")).toBe("fr");
    });

    test("the legacy provider's small window holds all of the form", async () => {
      const page = await stage().open({ viewport: { width: 400, height: 500 } });
      const redirectUri = `${stage().app.siblingOrigin}/landed`;
      const legacy = { plat_id_provider: "legacy_idp", display: "popup", redirect_uri: redirectUri };
      await page.goto(stage().link(legacy));
      const button = await page.getByRole("button", { name: "Sign in" }).boundingBox();
      expect((button?.y ?? 500) + (button?.height ?? 0)).toBeLessThanOrEqual(500);
      await signIn(page, ADA);
      expect((await landed(page)).query.get("code")).toBeTruthy();
    });
  });

  describe("the tenant chooser", () => {
    test("by keyboard alone, with names as they are written", async () => {
      const page = await stage().open();
      await page.goto(stage().link({ response_type: "token", client_id: stage().hosted.id }));
      await signIn(page, BOB);
      await page.getByRole("heading", { name: "Choose a workspace" }).waitFor();
      expect(await page.getByRole("listitem").allInnerTexts()).toEqual([
        expect.stringContaining("Acme & Söhne"),
        expect.stringContaining("Globex <Ltd>"),
      ]);
      await page.keyboard.press("Tab");
      await focusIsOn(page, `button[value*="plat.tenant=${TENANT}"]`);
      await page.keyboard.press("Tab");
      await focusIsOn(page, `button[value*="plat.tenant=${OTHER_TENANT}"]`);
      await page.keyboard.press("Enter");
      const { fragment } = await landed(page);
      expect(fragment.get("scope")?.split(" ")).toContain(`plat.tenant=${OTHER_TENANT}`);
      expect(fragment.get("token_type")).toBe("bearer");
    });
  });

  describe("a signed-in browser", () => {
    test("is not asked again, in any tab; a tab that was open before still works", async () => {
      const first = await stage().open();
      const second = await first.context().newPage();
      await first.goto(stage().link());
      await second.goto(stage().link());
      await signIn(first, ADA);
      await landed(first);
      await signIn(second, BOB);
      expect((await landed(second)).query.get("code")).toBeTruthy();
      await first.goto(stage().link({ state: "again" }));
      expect((await landed(first)).query.get("state")).toBe("again");
    });

    test("goes on to the application at the back button too, with a new code, and never shows the form", async () => {
      const page = await stage().open();
      await page.goto(stage().link());
      await signIn(page, ADA);
      const first = await landed(page);
      await page.goBack();
      const second = await landed(page);
      expect(second.query.get("code")).toBeTruthy();
      expect(second.query.get("code")).not.toBe(first.query.get("code"));
    });

    test("is asked again after it was signed out, and when the application wants it", async () => {
      const page = await stage().open();
      await page.goto(stage().link());
      await signIn(page, ADA);
      await landed(page);
      await page.goto(stage().link({ prompt: "login" }));
      expect(await page.getByLabel("E-mail address").inputValue()).toBe(ADA.email);
      await page.goto(`${stage().world.issuer}/end_session?client_id=${stage().client.id}`);
      await page.getByRole("heading", { name: "You are signed out" }).waitFor();
      expect((await page.context().cookies()).map(({ name }) => name).sort()).toEqual(["plat_browser", "plat_device"]);
      await page.goto(stage().link());
      expect(await page.getByLabel("E-mail address").inputValue()).toBe("");
    });

    test("is known though the application's request comes by a form from another site", async () => {
      const page = await stage().open();
      await page.goto(stage().link());
      await signIn(page, ADA);
      await landed(page);
      await page.goto(`${stage().app.origin}/nothing`);
      await postForm(page, stage().link({ state: "posted" }));
      const { query } = await landed(page);
      expect([query.get("state"), query.has("code")]).toEqual(["posted", true]);
    });
  });
}

/** The page puts the cursor somewhere a moment after it is shown. */
const focusIsOn = (page: Page, selector: string): Promise<void> => page.locator(`${selector}:focus`).waitFor();
