import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { makeOidcProvider, type OidcProvider } from "../support/parties/oidc-provider.ts";
import { SCOPES, type User } from "../support/world.ts";
import { atAccount, fieldsOf, isNotFramed, isShown, landed, makeUser, postForm, signIn, type Stage } from "./stage.ts";

const TENANT = "works";
/** What each provider is bound to. The names are their ids; `home` has a button. */
const BINDINGS = {
  home: { button: "Home" },
  domain: { tenants: [TENANT], domains: ["works.example"] },
  guild: { tenants: ["guild"] },
} as const;
type Name = keyof typeof BINDINGS;

/**
 * Sign-ins at identity providers: `oidc-provider` from npm, by its own pages, on other ports of the platform's host.
 * All of it is of a tenant of its own, but `home`, whose button everybody sees.
 */
export function providerSuite(stage: () => Stage): void {
  const providers = {} as Record<Name, OidcProvider>;
  const app = `${TENANT}.app`;

  beforeAll(async () => {
    // The package warns of what a deployed provider should have.
    for (const method of ["info", "warn"] as const) vi.spyOn(console, method).mockReturnValue();
    const { world } = stage();
    for (const tenant of [TENANT, "guild"]) {
      await world.put(`tenants/${tenant}`, { organization: "group", name: tenant });
      await world.put(`tenants/${tenant}/subscriptions/platform`, {});
    }
    const redirectUris = ["http://localhost/landed"];
    const grantTypes = ["authorization_code", "refresh_token"];
    const registration = { tenant: TENANT, confidential: false, scopes: SCOPES, grantTypes, redirectUris };
    await world.put(`clients/${app}`, registration);
    for (const [name, binding] of Object.entries(BINDINGS) as [Name, object][]) {
      const redirectUri = `${world.issuer}/callback/${name}`;
      providers[name] = await makeOidcProvider({ redirectUri, emailIn: "id_token" });
      await providers[name].start();
      const { issuer, clientId, clientSecret } = providers[name];
      await world.put(`identity-providers/${name}`, { issuer, clientId, clientSecret, ...binding });
    }
  }, 60_000);
  afterAll(async () => {
    await Promise.all(Object.values(providers).map((provider) => provider.stop()));
    vi.restoreAllMocks();
  });

  const account = (): string => `${stage().world.base}/account`;
  const link = (more: Record<string, string> = {}): string =>
    stage().link({ client_id: app, scope: "openid", ...more });
  const silently = async (page: Page): Promise<string | null> => {
    await page.goto(link({ prompt: "none" }));
    return (await landed(page)).query.get("error");
  };
  const isAllowed = async (page: Page): Promise<void> => expect((await landed(page)).query.get("code")).not.toBeNull();

  /** At the provider's pages, as whoever says to be `login`. */
  async function vouch(page: Page, name: Name, login: string): Promise<void> {
    await page.waitForURL((url) => url.origin === providers[name].issuer);
    await page.getByPlaceholder("Enter any login").fill(login);
    await page.getByPlaceholder("and password").fill("whatever");
    await page.getByRole("button", { name: "Sign-in" }).click();
    await page.getByRole("button", { name: "Continue" }).click();
  }
  /** A new browser that the provider has sent back. */
  async function backFrom(name: Name, login: string, address = link({ plat_id_provider: name })): Promise<Page> {
    const page = await stage().open();
    await page.goto(address);
    await vouch(page, name, login);
    return page;
  }
  const identityOf = async ({ email }: User): Promise<unknown> => {
    const answer = await stage().world.operate("GET", `users/${email}/identities/home`);
    return answer.status === 404 ? undefined : ((await answer.json()) as { subject: string }).subject;
  };

  describe("the first sign-in by a provider", () => {
    const confirm = async (page: Page, password: string): Promise<void> => {
      await page.getByLabel("Password").fill(password);
      await page.getByRole("button", { name: "Confirm and sign in" }).click();
    };

    // shows: oauth/authorize/linked-account
    test("is confirmed once by the password here, and later ones by nothing", async () => {
      const user = await makeUser(stage(), "mileva", TENANT);
      const page = await backFrom("home", user.email);
      await isShown(page, "Confirm your account");
      await page.getByText(`Home says that you are ${user.email}.`).waitFor();
      await confirm(page, "a guess");
      await page.getByRole("alert").getByText("The password is wrong.").waitFor();
      await confirm(page, user.password);
      await isAllowed(page);
      await isAllowed(await backFrom("home", user.email));
    });

    // shows: oauth/authorize/linked-account
    test("is confirmed by nobody else: not from another browser, site or frame", async () => {
      const user = await makeUser(stage(), "lotte", TENANT);
      const page = await backFrom("home", user.email);
      await isShown(page, "Confirm your account");
      const address = page.url();
      const forged = new URLSearchParams({ ...(await fieldsOf(page)), password: user.password });
      const post = `${stage().world.issuer}/link-identity?${forged.toString()}`;
      // On our own page, but in another browser.
      const thief = await stage().open();
      await thief.goto(link());
      await isShown(thief, "Sign in");
      await postForm(thief, post);
      await isShown(thief, "This sign-in is over");
      await isNotFramed(stage(), page, address);
      await postForm(page, post);
      await isShown(page, "This request cannot be completed");
      for (const other of [thief, page]) expect(await silently(other)).toBe("login_required");
      expect(await identityOf(user)).toBeUndefined();
    });
  });

  describe("the address that a person types first", () => {
    // shows: oauth/authorize/discovery-by-domain
    test("leads to the provider of its domain, which may vouch for it", async () => {
      const user = { email: "agnes@works.example", password: "the first password of agnes" };
      await stage().world.put(`users/${user.email}`, { password: user.password });
      await stage().world.put(`tenants/${TENANT}/members/${user.email}`, { roles: ["everything"] });
      const page = await stage().open();
      await page.goto(link());
      expect(await page.getByLabel("Password").count()).toBe(0);
      await page.getByLabel("E-mail address").fill(user.email);
      await page.getByRole("button", { name: "Next" }).click();
      await page.waitForURL((url) => url.origin === providers.domain.issuer);
      expect(await page.getByPlaceholder("Enter any login").inputValue()).toBe(user.email);
      await vouch(page, "domain", user.email);
      await isShown(page, "Confirm your account");
      await page.getByLabel("Password").fill(user.password);
      await page.getByRole("button", { name: "Confirm and sign in" }).click();
      await isAllowed(page);
    });

    // shows: oauth/authorize/discovery-by-domain
    // shows: oauth/authorize/discovery-by-domain-ways-round
    test("tells nobody who has an account, and another domain has the form for the password", async () => {
      const user = await makeUser(stage(), "clara", TENANT);
      const page = await stage().open();
      const enter = async (email: string): Promise<void> => {
        await page.goto(link());
        await page.getByLabel("E-mail address").fill(email);
        await page.getByRole("button", { name: "Next" }).click();
      };
      await enter("nobody.at.all@works.example");
      await page.waitForURL((url) => url.origin === providers.domain.issuer);
      await enter("nobody.at.all@acme.example");
      await page.getByLabel("Password").waitFor();
      await enter(user.email);
      await page.getByLabel("Password").fill(user.password);
      await page.getByRole("button", { name: "Sign in" }).click();
      await isAllowed(page);
      const other = await stage().open();
      await other.goto(link());
      await other.getByRole("link", { name: "Use your password here instead" }).click();
      await signIn(other, user);
      await isAllowed(other);
    });
  });

  describe("a provider that is bound", () => {
    // shows: oauth/authorize/provider-bound-to-domains
    // shows: oauth/authorize/provider-outside-page
    test("to domains vouches for no address of another one, linked or not", async () => {
      const user = await makeUser(stage(), "marietta", TENANT);
      const identity = `users/${user.email}/identities/domain`;
      for (const isLinked of [false, true]) {
        if (isLinked) await stage().world.put(identity, { subject: user.email });
        const page = await backFrom("domain", user.email);
        await isShown(page, "This sign-in is not for your address");
        await page.getByText(user.email).waitFor();
        await page.getByRole("link", { name: "Back to" }).click();
        expect((await landed(page)).query.get("error")).toBe("access_denied");
        expect(await silently(page)).toBe("login_required");
      }
      const page = await backFrom("domain", user.email);
      await page.getByRole("link", { name: "Sign in another way" }).click();
      await signIn(page, user);
      await isAllowed(page);
    });

    // shows: oauth/authorize/provider-bound-to-tenants
    // shows: oauth/authorize/provider-outside-page
    test("to a tenant leads to no other one, and not to the account", async () => {
      const user = await makeUser(stage(), "elise", TENANT);
      await stage().world.put(`tenants/guild/members/${user.email}`, { roles: ["everything"] });
      await stage().world.put(`users/${user.email}/identities/guild`, { subject: user.email });
      const page = await backFrom("guild", user.email);
      await isShown(page, "This sign-in does not lead here");
      expect(await silently(page)).toBe("login_required");
      const elsewhere = await backFrom("guild", user.email, `${account()}?plat_id_provider=guild`);
      await elsewhere.getByLabel("Password").waitFor();
      await elsewhere.goto(account());
      await isShown(elsewhere, "Sign in");
    });
  });

  describe("at the account page", () => {
    // shows: oauth/account/link-a-provider
    // shows: oauth/account/unlink-a-provider
    test("a person links a provider, signs in by its button without a password, and unlinks it", async () => {
      const user = await makeUser(stage(), "emilie", TENANT);
      const page = await atAccount(stage(), user);
      await page.getByRole("button", { name: "Link Home" }).click();
      // The account there may have any address.
      await vouch(page, "home", "emilie@private.example");
      await page.getByRole("status").getByText("Linked.").waitFor();
      expect(await identityOf(user)).toBe("emilie@private.example");

      const other = await stage().open();
      await other.goto(account());
      await other.getByRole("link", { name: "Continue with Home" }).click();
      await vouch(other, "home", "emilie@private.example");
      await isShown(other, "Your account");
      await other.getByText(user.email).first().waitFor();

      await page.getByRole("button", { name: "Unlink Home" }).click();
      await page.getByRole("status").getByText("Unlinked.").waitFor();
      await page.getByRole("button", { name: "Link Home" }).waitFor();
      // What was signed in by it has ended, and it signs nobody in.
      await other.goto(account());
      await isShown(other, "Sign in");
      await other.getByRole("link", { name: "Continue with Home" }).click();
      await other.getByRole("alert").getByText("your address is not known here").waitFor();
      await other.goto(account());
      await isShown(other, "Sign in");
    });

    // shows: oauth/account/link-a-provider-taken
    test("nobody links an account there that is somebody else's", async () => {
      const [first, second] = [
        await makeUser(stage(), "margarete", TENANT),
        await makeUser(stage(), "wilhelmine", TENANT),
      ];
      await stage().world.put(`users/${first.email}/identities/home`, { subject: "taken@private.example" });
      const page = await atAccount(stage(), second);
      await page.getByRole("button", { name: "Link Home" }).click();
      await vouch(page, "home", "taken@private.example");
      await page.getByRole("alert").getByText("Somebody else’s account here is linked").waitFor();
      expect(await page.getByText(first.email).count()).toBe(0);
      expect([await identityOf(first), await identityOf(second)]).toEqual(["taken@private.example", undefined]);
    });

    // shows: oauth/account/link-a-provider-forged
    test("no other site links or unlinks, nor an answer of the provider that another browser began", async () => {
      const user = await makeUser(stage(), "dora", TENANT);
      const page = await atAccount(stage(), user);
      const form = page.locator("form", { has: page.getByRole("button", { name: "Link Home" }) });
      const fields = new URLSearchParams(await fieldsOf(page, form)).toString();
      const forge = async (what: "link" | "unlink"): Promise<void> => {
        await page.goto(`${stage().app.origin}/nothing`);
        await postForm(page, `${account()}/${what}?${fields}`);
        await page.waitForURL((url) => url.origin === stage().world.url);
        expect(await page.getByRole("status").count()).toBe(0);
      };
      await forge("link");
      expect(await identityOf(user)).toBeUndefined();
      await stage().world.put(`users/${user.email}/identities/home`, { subject: user.email });
      await forge("unlink");
      expect(await identityOf(user)).toBe(user.email);
      await stage().world.operate("DELETE", `users/${user.email}/identities/home`);

      // Somebody sends the link by which the provider would bring their own account.
      const mallory = await atAccount(stage(), await makeUser(stage(), "mallory", TENANT));
      const back = mallory.waitForRequest((request) => request.url().includes("/callback/home"));
      await mallory.route("**/callback/home*", (route) => route.abort());
      await mallory.getByRole("button", { name: "Link Home" }).click();
      await vouch(mallory, "home", "mallory@private.example");
      const victim = await atAccount(stage(), user);
      await victim.goto((await back).url());
      await isShown(victim, "This sign-in is over");
      expect(await identityOf(user)).toBeUndefined();
    });

    // shows: oauth/account/unlink-a-provider
    test("the only way to sign in stays", async () => {
      const email = "without.password@acme.example";
      await stage().world.put(`users/${email}`, { name: "Nobody's password" });
      await stage().world.put(`tenants/${TENANT}/members/${email}`, { roles: ["everything"] });
      await stage().world.put(`users/${email}/identities/home`, { subject: email });
      const page = await backFrom("home", email, `${account()}?plat_id_provider=home`);
      await isShown(page, "Your account");
      await page.getByRole("button", { name: "Unlink Home" }).click();
      await page.getByRole("alert").getByText("it is your only way to sign in").waitFor();
      await isShown(await backFrom("home", email, `${account()}?plat_id_provider=home`), "Your account");
    });
  });
}
