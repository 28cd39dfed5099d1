import { describe, expect, test } from "vitest";
import { startUpstream } from "../support/parties/upstream.ts";
import { ADA, makeClient, TENANT } from "../support/world.ts";
import { isNotFramed, landed, postForm, signIn, type Stage } from "./stage.ts";

/** A page that tries what it can get, and says what became of it. */
const CURIOUS = `<!doctype html><title>Curious</title><output></output><script type="module">
  const attempt = async (act) => { try { return await act(); } catch (error) { return error.name; } };
  document.querySelector("output").textContent = JSON.stringify({
    data: await attempt(async () => (await fetch("data")).text()),
    cookie: await attempt(() => (document.cookie, "read")),
    storage: await attempt(() => (localStorage.length, "read")),
    account: await attempt(async () => String((await fetch("/account")).status)),
  });
</script>`;

/** What the browser keeps other sites from, because the pages ask it to, and what it must not be kept from. */
export function defencesSuite(stage: () => Stage): void {
  describe("other sites", () => {
    test("cannot frame the page", async () => {
      const page = await stage().open();
      await isNotFramed(stage(), page, stage().link());
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
      expect(await stage().complaints(1)).toEqual([expect.stringContaining("blocked by CORS policy")]);
    });
  });

  describe("a page of a service behind the gateway", () => {
    test("has its own answers, and nothing of the platform's, unless the service is trusted", async () => {
      const service = await startUpstream();
      service.at("/data", (_, response) => response.end("fine"));
      service.at("/page", (_, response) => response.writeHead(200, { "content-type": "text/html" }).end(CURIOUS));
      const { world } = stage();
      const register = (more: object): Promise<unknown> =>
        world.put("services/curious", {
          sourceUrl: service.origin,
          proxyPath: "/curious/v1",
          scopes: [],
          tenant: TENANT,
          access: "public",
          ...more,
        });
      const page = await stage().open();
      await page.goto(stage().link());
      await signIn(page, ADA);
      await landed(page);
      const found = async (): Promise<unknown> => {
        await page.goto(`${world.base}/curious/v1/page`);
        return JSON.parse((await page.locator("output:not(:empty)").textContent()) ?? "");
      };
      await register({});
      expect(await found()).toEqual({
        data: "fine",
        cookie: "SecurityError",
        storage: "SecurityError",
        account: "TypeError",
      });
      expect(await stage().complaints(1)).toEqual([expect.stringContaining("blocked by CORS policy")]);
      await register({ trusted: true });
      expect(await found()).toMatchObject({ data: "fine", cookie: "read", storage: "read" });
      await service.close();
    });
  });

  describe("the policy of the page", () => {
    const native = ["com.example.app:/callback", "http://[::1]:9/callback"];
    test.each(native)("lets the form lead to %s", async (uri) => {
      const { id } = await makeClient(stage().world, "native", { confidential: false, redirectUris: native });
      const page = await stage().open();
      const sentOn = page.waitForRequest((request) => request.url().startsWith(`${uri}?code=`));
      await page.goto(stage().link({ client_id: id, redirect_uri: uri }));
      await signIn(page, ADA);
      await sentOn;
    });

    test("lets an application's callback lead on to an address that is not registered", async () => {
      const redirectUris = ["http://localhost/leads-on"];
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
        document.forms[0].action = "com.elsewhere.app:/x";
        document.forms[0].submit();
      })`);
      expect(refused).toEqual(["script-src-elem", "img-src", "form-action"]);
      expect(await page.evaluate("window.added")).toBeUndefined();
      await stage().complaints(3);
      expect(page.url()).toBe(stage().link());
    });
  });
}
