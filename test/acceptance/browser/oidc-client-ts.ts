import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { ADA, SCOPES, TENANT } from "../support/world.ts";
import { outcome, signIn, type Stage } from "./stage.ts";

/** oidc-client-ts in a page of another site (`pages/app.js`). What the page shows is what the library made of it. */
export function oidcClientSuite(stage: () => Stage): void {
  const run = (page: Page, method: string): Promise<any> => page.evaluate(`run(${JSON.stringify(method)})`);

  async function signedIn(onRequest: (url: string) => void = () => {}): Promise<Page> {
    const page = await stage().open();
    page.on("request", (request) => onRequest(request.url()));
    await page.goto(stage().app.origin);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.getByLabel("E-mail address").waitFor();
    await signIn(page, ADA);
    await page.waitForURL((url) => url.pathname === "/callback");
    expect(await outcome(page)).toHaveProperty("accessToken");
    return page;
  }

  const isLiving = async (token: string): Promise<boolean> =>
    (await fetch(`${stage().world.issuer}/tokeninfo?access_token=${token}`)).status === 200;

  describe("oidc-client-ts", () => {
    test("signinRedirect: tokens, the ID token's claims, userinfo, and the application's own state", async () => {
      const called: string[] = [];
      const page = await signedIn((url) => called.push(new URL(url).pathname));
      const protocol = ["/.well-known/openid-configuration", "/token", "/userinfo"].map((path) => `/oauth2/v1${path}`);
      expect(called).toEqual(expect.arrayContaining(protocol));
      expect(await outcome(page)).toEqual({
        profile: expect.objectContaining({ sub: ADA.email, email: ADA.email, tenant: TENANT }),
        scopes: expect.arrayContaining(["openid", ...SCOPES, `plat.tenant=${TENANT}`]),
        accessToken: expect.any(String),
        hasRefreshToken: true,
        state: { page: "cart" },
      });
    });

    test("signinPopup: the window shows the page, tells its opener, and closes", async () => {
      const page = await stage().open();
      await page.goto(stage().app.origin);
      const opened = page.waitForEvent("popup");
      await page.getByRole("button", { name: "Sign in with a window" }).click();
      const popup = await opened;
      const closed = popup.waitForEvent("close");
      await popup.getByLabel("E-mail address").waitFor();
      expect(await popup.evaluate("window.opener !== null")).toBe(true);
      await signIn(popup, ADA);
      await closed;
      expect(await outcome(page)).toMatchObject({ profile: { sub: ADA.email } });
    });

    test("signinSilent by refresh token: new tokens, again and again", async () => {
      const page = await signedIn();
      const first = await outcome(page);
      const second = await run(page, "signinSilent");
      const third = await run(page, "signinSilent");
      expect([second, third]).toMatchObject([{ profile: { sub: ADA.email } }, { profile: { sub: ADA.email } }]);
      expect(new Set([first, second, third].map(({ accessToken }) => accessToken)).size).toBe(3);
    });

    test("signinSilent by a frame: the ID token says who it is, though no cookie comes along", async () => {
      const page = await signedIn();
      await page.evaluate(`manager.getUser().then((user) => {
        delete user.refresh_token;
        return manager.storeUser(user);
      })`);
      // By the ID token alone there is no refresh token (contract 8, 2.4).
      expect(await run(page, "signinSilent")).toMatchObject({ profile: { sub: ADA.email }, hasRefreshToken: false });
    });

    test("signinSilent of somebody who is not signed in fails at once, and cleanly", async () => {
      const page = await stage().open();
      await page.goto(stage().app.origin);
      expect(await run(page, "signinSilent")).toMatchObject({ error: "login_required" });
    });

    test("a refused request comes back as the error that it is", async () => {
      const page = await stage().open();
      await page.goto(stage().app.origin);
      await page.evaluate(`void manager.signinRedirect({ scope: "openid plat.admin" })`);
      await page.waitForURL((url) => url.pathname === "/callback");
      expect(await outcome(page)).toMatchObject({ error: "invalid_scope" });
    });

    test("revokeTokens: neither token is good for anything any more", async () => {
      const page = await signedIn();
      const { accessToken } = await outcome(page);
      expect(await isLiving(accessToken)).toBe(true);
      expect(await run(page, "revokeTokens")).toEqual({ done: true });
      expect(await isLiving(accessToken)).toBe(false);
    });

    test("signoutRedirect: tokens end, the browser is signed out, and back at the application", async () => {
      const page = await signedIn();
      const { accessToken } = await outcome(page);
      await page.getByRole("button", { name: "Sign out" }).click();
      await page.waitForURL((url) => url.pathname === "/signed-out");
      expect(await outcome(page)).toEqual({ done: true });
      expect(await isLiving(accessToken)).toBe(false);
      await page.getByRole("button", { name: "Sign in", exact: true }).click();
      await page.getByLabel("E-mail address").waitFor();
    });
  });
}
