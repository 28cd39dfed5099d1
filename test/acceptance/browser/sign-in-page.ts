import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { ADA, BOB, EVE, makeClient, OTHER_TENANT, TENANT } from "../support/world.ts";
import { landed, signIn, type Stage } from "./stage.ts";

const BLOCK_AFTER = 15;

/** The pages as a person meets them. */
export function signInPageSuite(stage: () => Stage): void {
  /** Fails if the page asks for anything from elsewhere. */
  function noOutsideRequests(page: Page): string[] {
    const outside: string[] = [];
    page.on("request", (request) => {
      const { url, app } = { url: request.url(), app: stage().app };
      if (![stage().world.url, app.origin, app.siblingOrigin].includes(new URL(url).origin)) outside.push(url);
    });
    return outside;
  }

  describe("the sign-in page", () => {
    test("by keyboard alone, up to the application on another port", async () => {
      const page = await stage().open();
      const outside = noOutsideRequests(page);
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

    test("the cookies are what the browser keeps to itself", async () => {
      const page = await stage().open();
      await page.goto(stage().link());
      await signIn(page, ADA);
      await landed(page);
      const cookies = await page.context().cookies();
      const kept = { domain: "127.0.0.1", path: "/", httpOnly: true, secure: false, sameSite: "Lax", expires: -1 };
      expect(cookies.sort((a, b) => a.name.localeCompare(b.name))).toEqual([
        expect.objectContaining({ name: "plat_browser", ...kept }),
        expect.objectContaining({ name: "plat_session", ...kept }),
      ]);
      await page.goto(stage().link({ prompt: "login" }));
      expect(await page.evaluate("document.cookie")).toBe("");
    });

    test("without JavaScript, chooser included", async () => {
      const page = await stage().open({ javaScriptEnabled: false });
      await page.goto(stage().link({ response_type: "token", client_id: stage().hosted.id }));
      await signIn(page, BOB);
      await page.getByRole("button", { name: "Globex" }).click();
      const { fragment } = await landed(page);
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
      expect((await page.context().cookies()).map(({ name }) => name)).toEqual(["plat_browser"]);
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

  describe("other sites", () => {
    test("cannot frame the page", async () => {
      const page = await stage().open();
      await page.goto(`${stage().app.origin}/nothing`);
      await page.evaluate(`new Promise((resolve) => {
        const frame = document.createElement("iframe");
        frame.onload = resolve;
        frame.src = ${JSON.stringify(stage().link())};
        document.body.append(frame);
      })`);
      expect(page.frames().map((frame) => frame.url())).toContain("chrome-error://chromewebdata/");
      expect(stage().complaints()).toEqual([expect.stringContaining("frame-ancestors 'none'")]);
    });

    test("cannot sign anybody in by a form of their own", async () => {
      const page = await stage().open();
      await page.goto(`${stage().app.origin}/nothing`);
      const request = new URL(stage().link()).search.slice(1);
      const forged = new URLSearchParams({ request, csrf: "x", email: ADA.email, password: ADA.password });
      await postForm(page, `${stage().world.issuer}/sign-in?${forged.toString()}`);
      await page.getByRole("heading", { name: "This request cannot be completed" }).waitFor();
      expect(await page.context().cookies()).toEqual([]);
    });

    test("cannot read the page by a script", async () => {
      const page = await stage().open();
      await page.goto(`${stage().app.origin}/nothing`);
      const read = page.evaluate(`fetch(${JSON.stringify(stage().link())}, { credentials: "include" })`);
      await expect(read).rejects.toThrow("Failed to fetch");
      expect(stage().complaints()).toEqual([expect.stringContaining("blocked by CORS policy")]);
    });
  });

  describe("the policy of the page", () => {
    test.each(["com.example.app:/callback", "http://[::1]:9/callback"])("lets the form lead to %s", async (uri) => {
      const { id } = await makeClient(stage().world, "native", { confidential: false, redirectUris: [uri] });
      const page = await stage().open();
      const sentOn = page.waitForRequest((request) => request.url().startsWith(`${uri}?code=`));
      await page.goto(stage().link({ client_id: id, redirect_uri: uri }));
      await signIn(page, ADA);
      await sentOn;
    });

    test("lets an application's callback lead on to its other address", async () => {
      const redirectUris = ["http://localhost/leads-on", "http://127.0.0.1/landed"];
      const { id } = await makeClient(stage().world, "leads-on", { confidential: false, redirectUris });
      const page = await stage().open();
      await page.goto(stage().link({ client_id: id, redirect_uri: `${stage().app.origin}/leads-on` }));
      await signIn(page, ADA);
      await landed(page);
    });

    test("runs no script, loads nothing from elsewhere, and sends the form nowhere else", async () => {
      const page = await stage().open();
      await page.goto(stage().link());
      const refused = await page.evaluate(`new Promise((resolve) => {
        const directives = [];
        addEventListener("securitypolicyviolation", ({ effectiveDirective }) => {
          if (directives.push(effectiveDirective) === 3) resolve(directives);
        });
        document.body.append(Object.assign(document.createElement("script"), { textContent: "window.added = true" }));
        document.body.append(Object.assign(new Image(), { src: "${stage().app.origin}/picture" }));
        document.forms[0].action = "https://elsewhere.example/";
        document.forms[0].submit();
      })`);
      expect(refused).toEqual(["script-src-elem", "img-src", "form-action"]);
      expect(await page.evaluate("window.added")).toBeUndefined();
      expect(stage().complaints()).toHaveLength(3);
      expect(page.url()).toBe(stage().link());
    });
  });
}

/** The page puts the cursor somewhere a moment after it is shown. */
const focusIsOn = (page: Page, selector: string): Promise<void> => page.locator(`${selector}:focus`).waitFor();

/** Sends the parameters of an address to it by a form of the page that is shown. */
async function postForm(page: Page, address: string): Promise<void> {
  const { origin, pathname, searchParams } = new URL(address);
  await page.evaluate(`(() => {
    const form = document.createElement("form");
    form.method = "post";
    form.action = ${JSON.stringify(origin + pathname)};
    for (const [name, value] of ${JSON.stringify([...searchParams])})
      form.append(Object.assign(document.createElement("input"), { type: "hidden", name, value }));
    document.body.append(form);
    form.submit();
  })()`);
}
