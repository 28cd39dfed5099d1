import { UnsecuredJWT } from "jose";
import { beforeAll, describe, expect, it } from "vitest";
import { Browser, landed, type Visit } from "../../support/browser.ts";
import { call, expectJson } from "../../support/platform/call.ts";
import { basic } from "../../support/platform/tokens.ts";
import { APP_URI, makeApp, signInThrough, visit, type TestApp } from "../../support/sign-in.ts";
import { type TestUser } from "../../support/users.ts";
import { makeUserAndApp } from "../../support/user-and-app.ts";

/** `response_mode=form_post` (OAuth 2.0 Form Post Response Mode): the browser posts the response to the client. */
const POSTED = { response_mode: "form_post" };
const browser = new Browser();
let user: TestUser;
let app: TestApp;
beforeAll(async () => {
  ({ user, app } = await makeUserAndApp({ redirectUris: [APP_URI, "https://other.example/callback"] }));
});

/** Checks the page and returns the form that it sends. */
function formOf({ status, location, headers, html, forms }: Visit) {
  expect(status).toBe(200);
  expect(location).toBeUndefined();
  expect(headers.get("cache-control")).toContain("no-store");
  expect(headers.get("referrer-policy")).toBe("no-referrer");
  expect(forms).toHaveLength(1);
  expect(forms[0]).toMatchObject({ action: APP_URI, method: "post" });
  expect(html.match(/<script/g)).toHaveLength(1);
  return forms[0]?.fields ?? {};
}

describe("response_mode=form_post", () => {
  it("posts a code, the state and the issuer right after the sign-in", async () => {
    const fields = formOf(await signInThrough(browser, app, user, POSTED));
    expect(Object.keys(fields).sort()).toEqual(["code", "iss", "state"]);
    expect(fields["state"]).toBe("a state");
    const form = { grant_type: "authorization_code", code: fields["code"] ?? "", redirect_uri: APP_URI };
    await expectJson(await call("/oauth2/v1/token", { form, headers: { authorization: basic(app) } }), 200);
  });

  it("posts tokens of the implicit flow", async () => {
    const fields = formOf(await visit(browser, app, { ...POSTED, response_type: "id_token token", nonce: "n" }));
    expect(fields).toMatchObject({ access_token: expect.any(String), id_token: expect.any(String), state: "a state" });
  });

  it("posts errors", async () => {
    const fields = formOf(await visit(browser, app, { ...POSTED, prompt: "create" }));
    expect(fields).toMatchObject({ error: "invalid_request", state: "a state" });
    const silent = formOf(await visit(new Browser(), app, { ...POSTED, prompt: "none" }));
    expect(silent["error"]).toBe("login_required");
  });

  it("posts the refusal of a request object that names it", async () => {
    const request = new UnsecuredJWT({ response_mode: "form_post" }).encode();
    const fields = formOf(await visit(browser, app, { request }));
    expect(fields).toMatchObject({ error: "request_not_supported", state: "a state" });
    for (const other of [new UnsecuredJWT({ response_mode: 1 }).encode(), "x", "a.b.c"])
      expect(landed(await visit(browser, app, { request: other })).query.get("error")).toBe("request_not_supported");
  });

  it("runs one script, which its policy names, and allows nothing else", async () => {
    const { html, headers } = await visit(browser, app, POSTED);
    const [, script = ""] = /<script>(.*?)<\/script>/s.exec(html) ?? [];
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(script));
    const policy = headers.get("content-security-policy")?.split("; ") ?? [];
    expect(policy).toContain(`script-src 'sha256-${Buffer.from(digest).toString("base64")}'`);
    expect(policy).toContain("form-action 'self' https:");
    expect(policy).toContain("default-src 'none'");
  });

  it("keeps a state of markup as it was sent", async () => {
    const state = `"><script>alert(1)</script>&amp;`;
    const answer = await visit(browser, app, { ...POSTED, state });
    expect(formOf(answer)["state"]).toBe(state);
  });

  it("is refused, by a redirect, for an application with a scheme of its own", async () => {
    const native = await makeApp({ tenant: user.tenant, redirectUris: ["com.example.app:/callback"] });
    const answer = await visit(browser, native, POSTED);
    expect(answer.status).toBe(302);
    expect(landed(answer).query.get("error")).toBe("invalid_request");
  });

  it("decides nothing if it is sent twice", async () => {
    const query = new URLSearchParams({ response_type: "code", client_id: app.clientId, redirect_uri: APP_URI });
    const twice = `/oauth2/v1/authorize?${query.toString()}&response_mode=form_post&response_mode=query`;
    const answer = await call(twice);
    expect(answer.status).toBe(302);
    expect(answer.headers.get("location")).toContain("error=invalid_request");
  });
});
