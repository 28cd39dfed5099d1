import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { ADA, SCOPES, TENANT } from "../support/world.ts";
import { outcome, signIn, type Stage } from "./stage.ts";

/** A page without any library that does the implicit flow by hand (`pages/implicit.js`), from another site. */
export function implicitSuite(stage: () => Stage): void {
  async function open(): Promise<Page> {
    const page = await stage().open();
    await page.goto(`${stage().app.origin}/implicit`);
    return page;
  }

  const granted = expect.arrayContaining([...SCOPES, `plat.tenant=${TENANT}`]);

  describe("the implicit flow by hand", () => {
    test("token: read from the fragment, and good for userinfo", async () => {
      const page = await open();
      await page.getByRole("button", { name: "Sign in", exact: true }).click();
      await page.getByLabel("E-mail address").waitFor();
      await signIn(page, ADA);
      await page.waitForURL((url) => url.pathname === "/implicit");
      expect(await outcome(page)).toEqual({ user: { sub: ADA.email }, scopes: granted });
    });

    test("id_token token: the ID token holds by the published keys, for this request and this access token", async () => {
      const page = await open();
      await page.getByRole("button", { name: "Sign in with an ID token" }).click();
      await page.getByLabel("E-mail address").waitFor();
      await signIn(page, ADA);
      await page.waitForURL((url) => url.pathname === "/implicit");
      expect(await outcome(page)).toEqual({
        user: { sub: ADA.email },
        claims: expect.objectContaining({ sub: ADA.email, email: ADA.email, tenant: TENANT }),
        scopes: granted,
      });
    });

    test("response_mode=form_post: the page posts the response to the application by itself", async () => {
      const page = await stage().open();
      await page.goto(stage().link({ response_mode: "form_post" }));
      const posted = page.waitForRequest((request) => new URL(request.url()).pathname === "/landed");
      await signIn(page, ADA);
      const request = await posted;
      expect(request.method()).toBe("POST");
      expect(request.url()).toBe(`${stage().app.origin}/landed`);
      const fields = Object.fromEntries(new URLSearchParams(request.postData() ?? ""));
      expect(fields).toEqual({ code: expect.any(String), state: "a state", iss: stage().world.issuer });
    });

    test("prompt=none: a new token without a page, or an error that says why not", async () => {
      const page = await open();
      const silently = async () => {
        await page.evaluate(`start("token", { prompt: "none" })`);
        await page.waitForURL((url) => url.pathname === "/implicit");
        return outcome(page);
      };
      expect(await silently()).toMatchObject({ error: "login_required" });
      await page.goto(stage().link());
      await signIn(page, ADA);
      await page.waitForURL((url) => url.pathname === "/landed");
      await page.goto(`${stage().app.origin}/implicit`);
      expect(await silently()).toEqual({ user: { sub: ADA.email }, scopes: granted });
    });
  });

  describe("a page of another origin", () => {
    test("may call every protocol endpoint, and read what it needs of the answer", async () => {
      const page = await open();
      const answers = await page.evaluate(`(async () => {
        const call = async (path, init) => {
          const answer = await fetch(SETTINGS.issuer + path, init);
          return [path, answer.status, answer.headers.get("plat-request-id") !== null, typeof (await answer.json())];
        };
        const headers = { Authorization: "Bearer no.such.token", "Content-Type": "application/x-www-form-urlencoded" };
        const basic = { ...headers, Authorization: "Basic " + btoa("no:body") };
        return [
          await call("/.well-known/openid-configuration"),
          await call("/jwks"),
          await call("/token", { method: "POST", headers: basic, body: "grant_type=client_credentials" }),
          await call("/userinfo", { headers }),
          await call("/userinfo", { method: "POST", headers, body: "" }),
          await call("/revoke", { method: "POST", headers: basic, body: "token=x" }),
          await call("/introspect", { method: "POST", headers: basic, body: "token=x" }),
          await call("/tokeninfo?access_token=x"),
          await call("/refreshtokens", { headers }),
          await call("/refreshtokens", { method: "DELETE", headers }),
        ];
      })()`);
      expect(answers).toEqual(
        [
          ["/.well-known/openid-configuration", 200],
          ["/jwks", 200],
          ["/token", 401],
          ["/userinfo", 401],
          ["/userinfo", 401],
          ["/revoke", 401],
          ["/introspect", 401],
          ["/tokeninfo?access_token=x", 400],
          ["/refreshtokens", 401],
          ["/refreshtokens", 401],
        ].map((answer) => [...answer, true, "object"]),
      );
    });
  });
}
