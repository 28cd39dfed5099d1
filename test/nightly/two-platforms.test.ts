import { rmSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CookieBrowser, type Shown } from "../acceptance/support/cookie-browser.ts";
import { startPlatform, type Platform } from "../acceptance/support/process/platform.ts";
import { stopGroup } from "../acceptance/support/process/program.ts";
import { localSecret, newStateDir } from "../acceptance/support/process/state.ts";

/**
 * One Plinth vouches for people of another one, as any OpenID provider may: `home` knows Grace and has verified her
 * address by mail; `shop` registers `home` as its identity provider.
 */
const GRACE = "grace@demo.example";
const ADA = "ada@demo.example";
const APPLICATION = "http://127.0.0.1/callback";
const AT_HOME = "the password of grace at home";
const AT_SHOP = "another password of grace, at the shop";
const stateDirs = [newStateDir(), newStateDir()] as const;
let home: Platform;
let shop: Platform;

beforeAll(async () => {
  [home, shop] = await Promise.all([
    startPlatform({ STATE_DIR: stateDirs[0] }),
    startPlatform({ STATE_DIR: stateDirs[1] }),
  ]);
  const made = await put(home, "clients/demo.relay", {
    tenant: "demo",
    displayName: "The shop",
    confidential: true,
    grantTypes: ["authorization_code"],
    redirectUris: [`${shop.url}/oauth2/v1/callback/home`],
    scopes: [],
  });
  const { clientSecret } = made as { clientSecret: string };
  await put(shop, "identity-providers/home", {
    issuer: `${home.url}/oauth2/v1`,
    clientId: "demo.relay",
    clientSecret,
    scopes: ["openid", "email"],
    button: "Home",
  });
  await put(shop, `users/${GRACE}`, { name: "Grace", password: AT_SHOP });
  await put(shop, `tenants/demo/members/${GRACE}`, { roles: ["demo-all"] });
});
afterAll(async () => {
  await Promise.all([stopGroup(home, "SIGKILL"), stopGroup(shop, "SIGKILL")]);
  for (const stateDir of stateDirs) rmSync(stateDir, { recursive: true, force: true });
});

async function token(at: Platform, clientId: string, clientSecret: string, form: Record<string, string>): Promise<any> {
  const headers = { authorization: `Basic ${btoa(`${clientId}:${clientSecret}`)}` };
  const answer = await fetch(`${at.url}/oauth2/v1/token`, { method: "POST", headers, body: new URLSearchParams(form) });
  return answer.json();
}

async function put(at: Platform, path: string, json: object): Promise<unknown> {
  const secret = localSecret("OPERATOR_CLIENT_SECRET");
  const { access_token: bearer } = await token(at, "plat.operator", secret, { grant_type: "client_credentials" });
  const headers = { authorization: `Bearer ${bearer}`, "content-type": "application/json" };
  const answer = await fetch(`${at.url}/admin/v1/${path}`, { method: "PUT", headers, body: JSON.stringify(json) });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text}`);
  return JSON.parse(text);
}

/** From the shop's sign-in page to the form at home, and back with the person's answer. */
async function signInByHome(browser: CookieBrowser, email: string, password: string): Promise<Shown> {
  const query = new URLSearchParams({
    response_type: "code",
    client_id: "demo.shop",
    redirect_uri: APPLICATION,
    scope: "openid email",
    plat_id_provider: "home",
  });
  const form = await browser.open(`${shop.url}/oauth2/v1/authorize?${query.toString()}`);
  expect(form.url.origin).toBe(home.url);
  expect(form.text).toContain("The shop");
  return browser.submit(form, { email, password });
}

/** The newest link of a mail that `home` sent to somebody. */
async function mailedLink(email: string): Promise<string> {
  let link: string | undefined;
  const find = async (): Promise<string | undefined> => {
    const page = await (await fetch(`${home.url}/dev/mail`)).text();
    const mail = page.split("<section>").find((part) => part.includes(`<bdi>${email}</bdi>`));
    link = /href="([^"]+)"/.exec(mail ?? "")?.[1]?.replaceAll("&amp;", "&");
    return link;
  };
  await expect.poll(find, { timeout: 20_000 }).toBeDefined();
  return link!;
}

// shows: oauth/authorize/another-plinth
test("a person whose address is verified at one platform signs in at the other, and is linked once", async () => {
  await put(home, `tenants/demo/invitations/${GRACE}`, { roles: ["demo-all"], language: "en" });
  const invited = new CookieBrowser(APPLICATION);
  const page = await invited.open(await mailedLink(GRACE));
  expect((await invited.submit(page, { new_password: AT_HOME, repeated_password: AT_HOME })).status).toBe(200);

  const browser = new CookieBrowser(APPLICATION);
  const confirmation = await signInByHome(browser, GRACE, AT_HOME);
  expect([confirmation.url.origin, confirmation.status]).toEqual([shop.url, 200]);
  const back = await browser.submit(confirmation, { password: AT_SHOP });
  const code = back.url.searchParams.get("code") ?? back.text;
  const redeemed = await token(shop, "demo.shop", localSecret("DEMO_CLIENT_SECRET"), {
    grant_type: "authorization_code",
    redirect_uri: APPLICATION,
    code,
  });
  const claims = JSON.parse(Buffer.from(String(redeemed.id_token).split(".")[1] ?? "", "base64url").toString());
  expect(claims).toMatchObject({ iss: `${shop.url}/oauth2/v1`, sub: GRACE });

  const again = await signInByHome(new CookieBrowser(APPLICATION), GRACE, AT_HOME);
  expect(again.url.searchParams.get("code")).toEqual(expect.any(String));
});

test("an address that an operator typed is not vouched for, unless the other platform says that it trusts all", async () => {
  const password = localSecret("DEMO_USER_PASSWORD");
  const refused = await signInByHome(new CookieBrowser(APPLICATION), ADA, password);
  expect(refused.text + refused.url.href).not.toContain("code=");
  expect(refused.url.searchParams.get("error") ?? refused.text).toMatch(/access_denied|verified/);
  await put(shop, "identity-providers/home", {
    issuer: `${home.url}/oauth2/v1`,
    clientId: "demo.relay",
    scopes: ["openid", "email"],
    trustEmail: true,
  });
  const browser = new CookieBrowser(APPLICATION);
  const confirmation = await signInByHome(browser, ADA, password);
  expect(confirmation.url.origin).toBe(shop.url);
  const back = await browser.submit(confirmation, { password });
  expect(back.url.searchParams.get("code")).toEqual(expect.any(String));
});
