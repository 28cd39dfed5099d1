import { beforeAll, describe, expect, it } from "vitest";
import { accentContrast, accentsOf, mergeBrands, NO_BRAND, THEMES } from "../../../src/platform/model/brand.ts";
import { createPages } from "../../../src/ui/pages.ts";
import { toHex } from "../../../src/platform/text/encoding.ts";
import { Browser, type Visit } from "../../support/browser.ts";
import { expectJson, ORIGIN } from "../../support/platform/call.ts";
import { operate, put } from "../../support/platform/operator.ts";
import { makeTenant } from "../../support/platform/tenants.ts";
import { unique } from "../../support/platform/unique.ts";
import { errorOf, makeApp, signInThrough, visit } from "../../support/sign-in.ts";
import { join, makeUser, type TestUser } from "../../support/users.ts";
import { mailPlatform } from "../recovery/mail-platform.ts";

/** The brand that operators set for pages and mails. */
const BRAND = {
  name: "Acme & Sons",
  logoUri: "https://acme.example/logo.svg",
  accentColor: "#7a1fa2",
  accentColorDark: "#d7a6ea",
  termsUri: "https://acme.example/terms?a=1&b=2",
  privacyUri: "https://acme.example/privacy",
};
const PLATFORM_HOST = new URL(ORIGIN).host;

let tenant: string;
let ada: TestUser;
beforeAll(async () => {
  tenant = await branded(BRAND);
  ada = await makeUser({ tenant });
});

async function branded(brand: object): Promise<string> {
  const id = await makeTenant();
  await put(`tenants/${id}`, { organization: `${id}-org`, name: `Tenant ${id}`, brand });
  return id;
}
const send = (path: string, json: object): Promise<Response> => operate(path, "PUT", json);
const shown = async (path: string): Promise<any> => expectJson(await operate(path), 200);

/** Expects a page with the brand. */
async function expectBrand(
  { html, headers }: Pick<Visit, "html" | "headers">,
  color = BRAND.accentColor,
): Promise<void> {
  expect(html).toContain("<bdi>Acme &amp; Sons</bdi>");
  expect(html).toContain(`<img src="${BRAND.logoUri}" alt="" referrerpolicy="no-referrer" />`);
  expect(html).toContain(`href="https://acme.example/terms?a=1&amp;b=2" target="_blank" rel="noopener noreferrer"`);
  expect(html).toContain(`href="${BRAND.privacyUri}"`);
  expect(html).toContain(PLATFORM_HOST);
  const [, style = ""] = /<style>([^<]*)<\/style>/.exec(html) ?? [];
  expect(style).toContain(`:root{--accent:${color};`);
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(style));
  const policy = headers.get("content-security-policy") ?? "";
  const sha = btoa(String.fromCharCode(...new Uint8Array(digest)));
  expect(policy).toContain(`style-src 'self' 'sha256-${sha}'; img-src 'self' https://acme.example;`);
}
const isPlain = ({ html, headers }: Visit): boolean =>
  !html.includes("<style") &&
  !html.includes('class="legal"') &&
  (headers.get("content-security-policy") ?? "").includes("style-src 'self'; img-src 'self';");

describe("A tenant's brand", () => {
  // shows: oauth/brand/pages
  it("is on the pages of its clients, from the sign-in to the account", async () => {
    const app = await makeApp({ tenant, thirdParty: true });
    const browser = new Browser();
    await expectBrand(await visit(browser, app));
    const wrong = await browser.submit(await visit(browser, app), { email: ada.email, password: "wrong" });
    await expectBrand(wrong);
    await expectBrand(await signInThrough(browser, app, ada));
    await expectBrand(await browser.get(`${ORIGIN}/account`));
    await expectBrand(await browser.get(`${ORIGIN}/oauth2/v1/end_session?client_id=${app.clientId}`));
  });

  // shows: oauth/brand/off
  it("is nowhere without one, and nobody's who has several tenants", async () => {
    const app = await makeApp();
    const browser = new Browser();
    expect(isPlain(await visit(browser, app))).toBe(true);
    const user = await makeUser({ tenant });
    await join(user.email, app.tenant);
    await signInThrough(browser, app, user);
    expect(isPlain(await browser.get(`${ORIGIN}/account`))).toBe(true);
  });

  // shows: oauth/brand/clients
  it("gives way to the client's, field by field, and is the named tenant's where a service's client acts for it", async () => {
    const service = unique("svc");
    const owner = await makeTenant();
    const at = { sourceUrl: `https://${service}.example.com`, proxyPath: `/${service}/v1`, access: "token" };
    await put(`services/${service}`, { ...at, tenant: owner, scopes: [] });
    await put(`packages/${service}`, { version: "1", organization: `${owner}-org`, services: [service] });
    await put(`tenants/${tenant}/subscriptions/${service}`, {});
    const app = await makeApp({ tenant: owner, service });
    expect(isPlain(await visit(new Browser(), app))).toBe(true);
    await expectBrand(await visit(new Browser(), app, { scope: `plat.tenant=${tenant} openid` }));
    const stranger = await makeApp({ tenant: owner });
    const refused = await visit(new Browser(), stranger, { scope: `plat.tenant=${tenant} openid` });
    expect([errorOf(refused).query, refused.html]).toEqual(["invalid_scope", ""]);

    const own = await makeApp({ tenant });
    const client = await shown(`clients/${own.clientId}`);
    await put(`clients/${own.clientId}`, { ...client, brand: { accentColor: "#00508c" } });
    await expectBrand(await visit(new Browser(), own), "#00508c");
  });

  // shows: oauth/brand/mails
  it("is on mails, with links, and no client dresses them", async () => {
    const at = mailPlatform();
    const app = await makeApp({ tenant });
    const client = await shown(`clients/${app.clientId}`);
    await put(`clients/${app.clientId}`, { ...client, brand: { name: "Your Bank" } });
    const browser = at.browser();
    const [form] = (await visit(browser, app)).forms;
    const asks = await browser.follow(
      await browser.post(`${ORIGIN}/oauth2/v1/forgot`, { ...form?.fields, email: ada.email }),
    );
    expect(asks.html).toContain("Your Bank");
    await browser.submit(asks, { email: ada.email });
    const [mail] = at.mails;
    expect(mail?.text.split("\n")[0]).toBe("Acme & Sons");
    expect(mail?.text).toContain(`Terms: ${BRAND.termsUri}\n`);
    expect(mail?.text).toContain(PLATFORM_HOST);
    expect(mail?.html).toContain("Acme &amp; Sons");
    expect(mail?.html).toContain(`background: ${BRAND.accentColor}`);
    expect(mail?.html).toContain(`<img src="${BRAND.logoUri}"`);
    expect(`${mail?.text} ${mail?.html}`).not.toContain("Your Bank");
  });

  // shows: oauth/brand/kept
  it("stays when a change leaves it out, goes by an empty one, and is in the audit log", async () => {
    const id = await branded({ name: "Globex" });
    await put(`tenants/${id}`, { organization: `${id}-org`, name: "Another name" });
    expect((await shown(`tenants/${id}`)).brand).toEqual({ ...NO_BRAND, name: "Globex" });
    await put(`tenants/${id}`, { organization: `${id}-org`, name: "Another name", brand: {} });
    expect((await shown(`tenants/${id}`)).brand).toEqual(NO_BRAND);
    const { changes } = (await shown(`audit?subject=tenants/${id}`))[0];
    expect(changes).toMatchObject([{ field: "brand", from: { name: "Globex" } }]);
  });

  // shows: oauth/brand/contrast
  it.each<[string, object, string]>([
    ["a light colour on white", { accentColor: "#ffcc00" }, "brand.accentColor"],
    ["a colour a little too light", { accentColor: "#777777" }, "brand.accentColor"],
    [
      "a dark colour in the dark theme",
      { accentColor: "#7a1fa2", accentColorDark: "#7a1fa2" },
      "brand.accentColorDark",
    ],
    ["a colour of the dark theme alone", { accentColorDark: "#d7a6ea" }, "brand.accentColorDark"],
    ["a colour by its name", { accentColor: "red" }, "brand.accentColor"],
    ["a rule in the place of a colour", { accentColor: "#000;}x{" }, "brand.accentColor"],
    ["a logo as data, which no mail shows", { logoUri: "data:image/png;base64,AAAA" }, "brand.logoUri"],
    ["a logo without encryption", { logoUri: "http://acme.example/logo.png" }, "brand.logoUri"],
    ["terms that are a script", { termsUri: "javascript:alert(1)" }, "brand.termsUri"],
    ["a privacy policy with a password", { privacyUri: "https://a:b@acme.example" }, "brand.privacyUri"],
    ["a name of two lines", { name: "Acme\nSons" }, "brand.name"],
    ["a long name", { name: "A".repeat(61) }, "brand.name"],
  ])("refuses %s", async (_, brand, field) => {
    const body = { organization: `${tenant}-org`, name: "Tenant" };
    for (const path of [`tenants/${tenant}`, `clients/${tenant}.x1`]) {
      const client = { tenant, confidential: true, grantTypes: [], scopes: [] };
      const refused = await send(path, { ...(path.startsWith("c") ? client : body), brand });
      const { details } = await expectJson<{ details: { field: string }[] }>(refused, 400);
      expect(details.map((one) => one.field)).toEqual([field]);
    }
    expect((await shown(`tenants/${tenant}`)).brand).toEqual(BRAND);
  });
});

describe("The colours of a brand", () => {
  // shows: oauth/brand/contrast
  it("are readable in both themes, whatever colour is accepted", () => {
    const bytes = crypto.getRandomValues(new Uint8Array(3 * 2_000));
    let accepted = 0;
    for (let at = 0; at < bytes.length; at += 3) {
      const accentColor = `#${toHex(bytes.slice(at, at + 3))}`;
      if (accentContrast(accentColor, "light").ratio < 4.5) continue;
      accepted++;
      const accents = accentsOf({ ...NO_BRAND, accentColor });
      for (const theme of ["light", "dark"] as const)
        for (const colour of Object.values(accents?.[theme] ?? {}))
          expect(accentContrast(colour, theme).ratio, `${colour} of ${accentColor}`).toBeGreaterThanOrEqual(4.5);
    }
    expect(accepted).toBeGreaterThan(100);
    expect(accentContrast("#767676", "light")).toEqual({ ratio: expect.closeTo(4.16, 2), to: THEMES.light.page });
  });

  // shows: oauth/brand/clients
  it("stay together when two brands are one", () => {
    const of = (fields: object) => ({ ...NO_BRAND, ...fields });
    const both = mergeBrands(
      of({ accentColor: "#000001", name: "A" }),
      of({ accentColor: "#000002", accentColorDark: "#fffff2" }),
    );
    expect(both).toEqual(of({ accentColor: "#000001", accentColorDark: "", name: "A" }));
  });

  // shows: oauth/brand/pages
  it("never reach a page that is not digits, even if they are stored", () => {
    const brand = { ...NO_BRAND, accentColor: "#000}</style><script>", name: "<script>" };
    const page = createPages("", true).signedOut({
      uiLocales: "en",
      acceptLanguage: null,
      publicBase: ORIGIN,
      requestId: "r",
      brand,
    });
    return expect(page.text()).resolves.not.toMatch(/<script|<style/);
  });
});
