import { env } from "cloudflare:workers";
import { decodeJwt } from "jose";
import { beforeAll, describe, expect, it } from "vitest";
import { Browser, landed } from "../../support/browser.ts";
import { call, expectJson } from "../../support/platform/call.ts";
import { put } from "../../support/platform/operator.ts";
import { basic } from "../../support/platform/tokens.ts";
import { unique } from "../../support/platform/unique.ts";
import { makeApp, signInThrough, visit, type TestApp } from "../../support/sign-in.ts";
import { makeUser, type TestUser } from "../../support/users.ts";
import { makeSignedInUser } from "../../support/user-and-app.ts";

const USERINFO = "/oauth2/v1/userinfo";

interface Tokens {
  readonly access_token: string;
  readonly id_token: string;
  readonly refresh_token: string;
  readonly scope: string;
}

let user: TestUser;
let app: TestApp;
let browser: Browser;
beforeAll(async () => {
  ({ user, app, browser } = await makeSignedInUser());
});

const tokenRequest = async (form: Record<string, string>): Promise<Tokens> =>
  expectJson<Tokens>(await call("/oauth2/v1/token", { form, headers: { authorization: basic(app) } }), 200);
async function tokensFor(scope: string, more: Record<string, string> = {}, by = browser): Promise<Tokens> {
  const code = landed(await visit(by, app, { scope, ...more })).query.get("code") ?? "";
  return tokenRequest({ grant_type: "authorization_code", code, redirect_uri: app.redirectUri });
}
const userInfo = async (token: string) => expectJson(await call(USERINFO, { token }), 200);

describe("The scopes profile and email", () => {
  it("fill userinfo and the ID token, and stay over a refresh", async () => {
    const tokens = await tokensFor("openid profile email");
    expect(tokens.scope).toBe(`plat.tenant=${user.tenant} openid profile email`);
    const everything = { sub: user.email, email: user.email, name: "Ada" };
    expect(await userInfo(tokens.access_token)).toEqual(everything);
    expect(decodeJwt(tokens.id_token)).toMatchObject(everything);
    expect(decodeJwt(tokens.id_token)).not.toHaveProperty("email_verified");
    const again = await tokenRequest({ grant_type: "refresh_token", refresh_token: tokens.refresh_token });
    expect(await userInfo(again.access_token)).toEqual(everything);
    expect(decodeJwt(again.id_token)).toMatchObject(everything);
  });

  it.each([
    ["openid", {}],
    ["openid email", { email: true }],
    ["openid profile", { name: true }],
    ["profile email plat.media_view", {}],
  ])("tell no more than was asked for with %s", async (scope, told) => {
    const tokens = await tokensFor(scope);
    const known = Object.keys(await userInfo(tokens.access_token));
    expect(known).toEqual(["sub", ...Object.keys(told)]);
    if (scope.startsWith("openid")) expect("name" in decodeJwt(tokens.id_token)).toBe("name" in told);
  });

  it("are not given by a later request that was authorized without them", async () => {
    const tokens = await tokensFor("openid");
    const refresh = { grant_type: "refresh_token", refresh_token: tokens.refresh_token, scope: "openid profile email" };
    expect(await userInfo((await tokenRequest(refresh)).access_token)).toEqual({ sub: user.email });
    const hinted = await tokensFor("openid profile email", { id_token_hint: tokens.id_token }, new Browser());
    expect(await userInfo(hinted.access_token)).toEqual({ sub: user.email });
  });

  it("are given again for a hint whose grant has them", async () => {
    const tokens = await tokensFor("openid profile");
    const hinted = await tokensFor("openid profile", { id_token_hint: tokens.id_token }, new Browser());
    expect(await userInfo(hinted.access_token)).toEqual({ sub: user.email, name: "Ada" });
  });

  it("say that the address is verified once a link in a mail was used, and only with the scope email", async () => {
    const proven = await makeUser();
    const own = await makeApp({ tenant: proven.tenant });
    await env.DB.prepare(`UPDATE user SET email_verified_at = 1 WHERE email = ?1`).bind(proven.email).run();
    const by = new Browser();
    await signInThrough(by, own, proven);
    for (const [scope, told] of [
      ["openid email", true],
      ["openid profile", undefined],
    ] as const) {
      const code = landed(await visit(by, own, { scope })).query.get("code") ?? "";
      const form = { grant_type: "authorization_code", code, redirect_uri: own.redirectUri };
      const answer = await call("/oauth2/v1/token", { form, headers: { authorization: basic(own) } });
      const tokens = await expectJson<Tokens>(answer, 200);
      expect((await userInfo(tokens.access_token))["email_verified"]).toBe(told);
      expect(decodeJwt(tokens.id_token)["email_verified"]).toBe(told);
    }
  });

  it("are listed by discovery, with their claims", async () => {
    const listed = await expectJson(await call("/oauth2/v1/.well-known/openid-configuration"), 200);
    expect(listed["scopes_supported"]).toEqual(expect.arrayContaining(["openid", "profile", "email"]));
    expect(listed["claims_supported"]).toEqual(expect.arrayContaining(["name", "email"]));
  });
});

describe("The sign-in page", () => {
  it("shows the application's display name and logo, and loads pictures from nowhere else", async () => {
    const shown = await makeApp({ displayName: "Ada's <Shop>", logoUri: "https://cdn.example:8443/a.png?b=1&c=2" });
    const page = await visit(new Browser(), shown);
    expect(page.html).toContain("Ada&#39;s &lt;Shop&gt;");
    expect(page.html).toContain('src="https://cdn.example:8443/a.png?b=1&amp;c=2"');
    expect(page.headers.get("content-security-policy")).toContain("img-src 'self' https://cdn.example:8443;");
    const plain = await visit(new Browser(), app);
    expect(plain.html).not.toContain("<img");
    expect(plain.headers.get("content-security-policy")).toContain("img-src 'self';");
    const inline = await makeApp({ logoUri: "data:image/png;base64,iVBORw0KGgo=" });
    const csp = (await visit(new Browser(), inline)).headers.get("content-security-policy");
    expect(csp).toContain("img-src 'self' data:;");
  });

  it.each([
    "http://cdn.example/a.png",
    "data:image/svg+xml;base64,PHN2Zy8+",
    "javascript:alert(1)",
    "https://a:b@c.example/",
  ])("takes no logo %s", async (logoUri) => {
    await expect(makeApp({ logoUri })).rejects.toThrow("logoUri");
  });

  it("offers a provider with a button where its tenants reach, and the link begins the sign-in there", async () => {
    const button = unique("Corp & Co ");
    const id = unique("idp");
    const issuer = `https://${id}.test`;
    const fields = { issuer, clientId: "plinth", clientSecret: "a secret of the provider", button };
    await put(`identity-providers/${id}`, { ...fields, tenants: [user.tenant] });
    const page = await visit(new Browser(), app);
    expect(page.html).toContain(`Continue with <strong><bdi>${button.replace("&", "&amp;")}</bdi>`);
    const href = /class="other" href="([^"]*)"/.exec(page.html)?.[1]?.replaceAll("&amp;", "&") ?? "";
    expect(new URL(href).searchParams.get("plat_id_provider")).toBe(id);
    expect(new URL(href).searchParams.get("state")).toBe("a state");
    expect((await visit(new Browser(), await makeApp())).html).not.toContain(button.replace("&", "&amp;"));
  });
});

// shows: oauth/authorize/picture-and-locale
describe("picture and locale of a person", () => {
  const PICTURE = "https://people.example/ada.jpg";
  const change = (body: object) => put(`users/${user.email}`, { name: "Ada", ...body });
  const told = async (scope: string) => {
    const { access_token: token, id_token: idToken } = await tokensFor(scope);
    const { name, picture, locale } = await expectJson(await call(USERINFO, { token }), 200);
    const claims = decodeJwt(idToken);
    expect([claims["name"], claims["picture"], claims["locale"]]).toEqual([name, picture, locale]);
    return [name, picture, locale];
  };

  it("are told with the scope profile, stay where a change leaves them out, and go when they are empty", async () => {
    await change({ picture: PICTURE, locale: "DE-ch" });
    expect(await told("openid profile")).toEqual(["Ada", PICTURE, "de-CH"]);
    expect(await told("openid email")).toEqual([undefined, undefined, undefined]);
    await change({});
    expect(await told("openid profile")).toEqual(["Ada", PICTURE, "de-CH"]);
    await change({ picture: "", locale: "" });
    expect(await told("openid profile")).toEqual(["Ada", undefined, undefined]);
  });

  it.each([{ picture: "http://people.example/ada.jpg" }, { picture: "javascript:alert(1)" }, { locale: "deutsch!" }])(
    "are refused if they are none: %j",
    async (body) => {
      await expect(change(body)).rejects.toThrow(/400/);
    },
  );
});
