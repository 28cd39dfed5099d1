import { decodeJwt } from "jose";
import { beforeAll, describe, expect, it } from "vitest";
import { Browser, landed } from "../../support/browser.ts";
import { call, expectJson } from "../../support/platform/call.ts";
import { basic } from "../../support/platform/tokens.ts";
import { errorOf, signInThrough, visit, type TestApp } from "../../support/sign-in.ts";
import { type TestUser } from "../../support/users.ts";
import { makeUserAndApp } from "../../support/user-and-app.ts";

/** The parameters `claims` (OIDC Core 5.5) and `acr_values`. */
const PASSWORD = "urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport";
const browser = new Browser();
let user: TestUser;
let app: TestApp;
beforeAll(async () => {
  ({ user, app } = await makeUserAndApp());
  await signInThrough(browser, app, user);
});

const ask = (claims: unknown, more: Record<string, string> = {}) =>
  visit(browser, app, { scope: "openid", claims: JSON.stringify(claims), ...more });

async function tokensFor(form: Record<string, string>): Promise<any> {
  return expectJson(await call("/oauth2/v1/token", { form, headers: { authorization: basic(app) } }), 200);
}
async function tokensOf(answer: Awaited<ReturnType<typeof ask>>): Promise<any> {
  const code = landed(answer).query.get("code") ?? "";
  return tokensFor({ grant_type: "authorization_code", code, redirect_uri: app.redirectUri });
}
const userInfo = async (token: string): Promise<any> => expectJson(await call("/oauth2/v1/userinfo", { token }), 200);

describe("The parameter claims", () => {
  it.each<[string, unknown, object]>([
    ["name of userinfo", { userinfo: { name: { essential: true } } }, { name: "Ada" }],
    ["name of the ID token", { id_token: { name: null } }, { name: "Ada" }],
    ["email", { userinfo: { email: null, email_verified: null } }, { email: true }],
    ["claims that nobody knows", { userinfo: { shoe_size: { essential: true }, constructor: null }, more: 1 }, {}],
    ["nothing", {}, {}],
  ])("gives claims in place of a scope: %s", async (_, claims, told) => {
    const tokens = await tokensOf(await ask(claims));
    const known = await userInfo(tokens.access_token);
    expect(Object.keys(known)).toEqual(["sub", ...Object.keys(told)]);
    expect("name" in decodeJwt(tokens.id_token)).toBe("name" in told);
  });

  it("gives none without the scope openid", async () => {
    const answer = await ask({ userinfo: { name: null } }, { scope: "plat.media_view" });
    expect((await tokensOf(answer)).scope).not.toContain("profile");
  });

  it.each<[string, string]>([
    ["text", "name"],
    ["a list", "[]"],
    ["null", "null"],
    ["a claim that is true", `{"userinfo":{"name":true}}`],
    ["a list of claims", `{"userinfo":["name"]}`],
    ["text for the ID token", `{"id_token":"x"}`],
    ["a value of sub, which a hint says", `{"id_token":{"sub":{"value":"bob@example.com"}}}`],
    ["more than is read", JSON.stringify({ userinfo: { x: { value: "x".repeat(4096) } } })],
  ])("is refused if it is %s", async (_, claims) => {
    expect(errorOf(await visit(browser, app, { claims })).error).toBe("invalid_request");
  });
});

describe("The kind of the sign-in", () => {
  it("is in the ID token if the client asks, and stays over a refresh", async () => {
    const tokens = await tokensOf(await visit(browser, app, { scope: "openid", acr_values: `1 ${PASSWORD}` }));
    expect(decodeJwt(tokens.id_token)["acr"]).toBe(PASSWORD);
    const again = await tokensFor({ grant_type: "refresh_token", refresh_token: tokens.refresh_token });
    expect(decodeJwt(again.id_token)["acr"]).toBe(PASSWORD);
    const asked = await tokensOf(await ask({ id_token: { acr: { values: ["1"] } } }));
    expect(decodeJwt(asked.id_token)["acr"]).toBe(PASSWORD);
  });

  it("is not there unasked", async () => {
    const tokens = await tokensOf(await visit(browser, app, { scope: "openid" }));
    expect(decodeJwt(tokens.id_token)).not.toHaveProperty("acr");
  });

  it("is in the ID token of the implicit flow", async () => {
    const changes = { response_type: "id_token token", nonce: "n", acr_values: PASSWORD };
    const { fragment } = landed(await visit(browser, app, changes));
    expect(decodeJwt(fragment.get("id_token") ?? "")["acr"]).toBe(PASSWORD);
  });

  it("fails the request if another one is essential", async () => {
    for (const acr of [{ value: "2" }, { values: ["1", "2"] }])
      expect(errorOf(await ask({ id_token: { acr: { essential: true, ...acr } } })).error).toBe(
        "unmet_authentication_requirements",
      );
    for (const acr of [{}, { value: PASSWORD }, { values: ["1", PASSWORD] }])
      expect((await ask({ id_token: { acr: { essential: true, ...acr } } })).location).toContain("code=");
  });
});
