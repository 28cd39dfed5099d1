import { beforeEach, describe, expect, it } from "vitest";
import { authorizeAddress, Browser, landed, toInit, type Visit } from "../../support/browser.ts";
import { call, expectJson, ORIGIN } from "../../support/platform/call.ts";
import { put } from "../../support/platform/operator.ts";
import { makeTenant } from "../../support/platform/tenants.ts";
import { unique } from "../../support/platform/unique.ts";
import { linkAccount } from "../../support/parties/idp/accounts.ts";
import { answerToken, claimsFor, sign } from "../../support/parties/idp/id-token.ts";
import { bindProvider, makeProvider } from "../../support/parties/idp/scripted-provider.ts";
import { makeApp, requestFor, visit, type TestApp } from "../../support/sign-in.ts";
import { isolate } from "../../support/isolate.ts";
import { join, type TestUser } from "../../support/users.ts";
import { makeUserAndApp } from "../../support/user-and-app.ts";

/** Home-realm discovery: the address leads to the provider of its domain. */
const ACCOUNT = `${ORIGIN}/account`;
let ada: TestUser;
let app: TestApp;
let domain: string;
beforeEach(async () => {
  ({ user: ada, app } = await makeUserAndApp());
  domain = `${unique("corp")}.example`;
});

const isAddressForm = ({ html }: Visit): boolean => html.includes('name="email"') && !html.includes('name="password"');
const isPasswordForm = ({ html }: Visit): boolean => html.includes('name="email"') && html.includes('name="password"');
const linkIn = ({ html }: Visit, text: string): string =>
  new RegExp(`<a href="([^"]*)">${text}</a>`).exec(html)?.[1]?.replaceAll("&amp;", "&") ?? "no link";
/** A browser at a new isolate, which has no copy of the providers. */
function newBrowser(): Browser {
  const own = isolate({});
  return new Browser({ send: (address, init) => own.fetch(address.slice(ORIGIN.length), toInit(init)) });
}

describe("The address that a person types first", () => {
  // shows: oauth/authorize/discovery-by-domain
  it("leads to the provider of its domain, whether there is such a user or not, and nowhere else", async () => {
    const provider = await makeProvider({ domains: [domain], tenants: [ada.tenant] });
    const browser = newBrowser();
    for (const name of ["known", "nobody", "NOBODY"]) {
      const page = await visit(browser, app);
      expect(isAddressForm(page)).toBe(true);
      expect(page.headers.get("content-security-policy")).toContain("https:");
      const sent = await browser.submit(page, { email: `${name}@${domain.toUpperCase()}` });
      expect(sent.status).toBe(303);
      const at = new URL(sent.location ?? "");
      expect(at.origin).toBe(provider.issuer);
      expect(at.searchParams.get("login_hint")).toBe(`${name}@${domain.toUpperCase()}`);
    }
    const others = [ada.email, "nobody@example.org", `a@sub.${domain}`, "no address", ""];
    const shown = await Promise.all(others.map(async (email) => browser.submit(await visit(browser, app), { email })));
    for (const page of shown) expect([page.status, isPasswordForm(page)]).toEqual([200, true]);
    expect(landed(await browser.submit(shown[0]!, { password: ada.password })).query.has("code")).toBe(true);
  });

  it("reaches the provider of a pushed request too, which goes on after the sign-in there", async () => {
    const provider = await makeProvider({ domains: [domain], tenants: [ada.tenant] });
    const grace = { email: `grace@${domain}` };
    await put(`users/${grace.email}`, {});
    await join(grace.email, ada.tenant);
    await linkAccount(grace, provider);
    const form = { ...requestFor(app), client_secret: app.clientSecret };
    const pushed = await expectJson<{ request_uri: string }>(await call("/oauth2/v1/par", { form }), 201);
    const browser = newBrowser();
    const reference = { client_id: app.clientId, request_uri: pushed.request_uri };
    const page = await browser.get(authorizeAddress(reference));
    const sent = await browser.submit(page, grace);
    const address = new URL(sent.location ?? "");
    expect([address.origin, address.searchParams.get("login_hint")]).toEqual([provider.issuer, grace.email]);
    const [state, nonce] = ["state", "nonce"].map((name) => address.searchParams.get(name) ?? "") as [string, string];
    const person = { clientId: "", clientSecret: "", ...grace };
    const said = claimsFor(person, provider, { browser: undefined as never, address, state, nonce });
    await answerToken(provider, await sign(said, provider.signer));
    const query = new URLSearchParams({ state, code: "c" }).toString();
    const back = await browser.get(`${ORIGIN}/oauth2/v1/callback/${provider.id}?${query}`, "cross-site");
    expect(landed(back).query.has("code"), back.location).toBe(true);
  });

  // shows: oauth/authorize/discovery-by-domain
  it("is typed with the password, on the form as ever, without a provider that is bound to domains", async () => {
    await makeProvider({ tenants: [ada.tenant], button: "Corporate" });
    const page = await visit(newBrowser(), app);
    expect(isPasswordForm(page)).toBe(true);
    expect(Object.keys(page.forms[0]!.fields)).toEqual([
      "request",
      "csrf",
      "email",
      "password",
      "challenge",
      "credential",
    ]);
  });

  // shows: oauth/authorize/discovery-by-domain-ways-round
  it("may come with a password here instead; a client that names a provider, or another tenant's, asks as ever", async () => {
    await makeProvider({ domains: ["example.org"], tenants: [ada.tenant] });
    const browser = newBrowser();
    const page = await visit(browser, app);
    const form = await browser.get(linkIn(page, "Use your password here instead"));
    expect(isPasswordForm(form)).toBe(true);
    const { email, password } = ada;
    expect(landed(await browser.submit(form, { email, password })).query.has("code")).toBe(true);
    for (const named of ["default_idp", "legacy_idp"])
      expect(isPasswordForm(await visit(newBrowser(), app, { plat_id_provider: named }))).toBe(true);
    const elsewhere = await makeApp({ tenant: await makeTenant() });
    expect(isPasswordForm(await visit(newBrowser(), elsewhere))).toBe(true);
    expect(isPasswordForm(await newBrowser().get(ACCOUNT))).toBe(true);
  });

  it("belongs to the browser of the form, and a foreign form leads nowhere", async () => {
    await makeProvider({ domains: [domain], tenants: [ada.tenant] });
    const browser = newBrowser();
    const page = await visit(browser, app);
    const stale = await browser.submit(
      { ...page, forms: [{ ...page.forms[0]!, fields: { ...page.forms[0]!.fields, csrf: "x" } }] },
      { email: `a@${domain}` },
    );
    expect([stale.status, isAddressForm(stale)]).toEqual([400, true]);
    expect((await browser.submit(page, { email: `a@${domain}` }, "cross-site")).status).toBe(400);
  });

  // shows: oauth/authorize/discovery-by-domain
  it("leads there from the account page too, by a provider that is bound to domains alone", async () => {
    const provider = await makeProvider({ domains: [domain] });
    const browser = newBrowser();
    const page = await browser.get(ACCOUNT);
    expect(isAddressForm(page)).toBe(true);
    const sent = await browser.submit(page, { email: `a@${domain}` });
    expect([sent.status, new URL(sent.location ?? "").origin]).toEqual([303, provider.issuer]);
    expect(isPasswordForm(await browser.submit(page, { email: ada.email }))).toBe(true);
    const own = await browser.get(linkIn(page, "Use your password here instead"));
    expect((await browser.submit(own, { email: ada.email, password: ada.password })).status).toBe(303);
    await bindProvider(provider, { domains: [] });
    expect(isPasswordForm(await newBrowser().get(ACCOUNT))).toBe(true);
  });
});
