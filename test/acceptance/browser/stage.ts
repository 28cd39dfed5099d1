import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect } from "vitest";
import { launchChromium } from "../support/chromium.ts";
import { startRelyingParty, type RelyingParty } from "../support/parties/relying-party.ts";
import { useWorld } from "../support/use-world.ts";
import { makeClient, SCOPES, SERVICE, TENANT, type Client, type User, type World } from "../support/world.ts";

/** A platform, an application on another site, and a browser before both. */
export interface Stage {
  readonly world: World;
  readonly app: RelyingParty;
  /** The application's client. */
  readonly client: Client;
  /** The client of a service that both tenants have, so that the implicit flow has to ask which one is meant. */
  readonly hosted: Client;
  /** The id of a client of a tenant in which nobody is a member. */
  readonly stranger: string;
  /** A page of a browser that has no cookies yet; gone after the test. */
  open(options?: BrowserContextOptions): Promise<Page>;
  /** An authorization request of the application; it lands on an empty page. */
  link(more?: Record<string, string>): string;
  /** Waits until browsers complained so often, of a policy that was broken or a script that failed; what they said. */
  complaints(count: number): Promise<string[]>;
}

const START_TIMEOUT_MS = 60_000;
export const VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
/** BASE64URL(SHA256(VERIFIER)), RFC 7636 appendix B. */
const CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

/** For one test file. A complaint that no test asked for fails the test in which it came. */
export function useStage(world: () => World = useWorld()): () => Stage {
  let browser: Browser | undefined;
  let app: RelyingParty | undefined;
  let stage: Stage | undefined;
  const contexts: BrowserContext[] = [];
  const complaints: string[] = [];

  beforeAll(async () => {
    browser = await launchChromium();
    app = await startRelyingParty();
    stage = await makeStage(world(), app, browser);
  }, START_TIMEOUT_MS);
  afterEach(async () => {
    await Promise.all(contexts.splice(0).map((context) => context.close()));
    expect(complaints.splice(0)).toEqual([]);
  });
  afterAll(async () => {
    await browser?.close();
    await app?.stop();
  });

  async function makeStage(made: World, party: RelyingParty, launched: Browser): Promise<Stage> {
    const paths = ["callback", "popup", "silent", "implicit", "landed"];
    const registration = {
      confidential: false,
      grantTypes: ["authorization_code", "refresh_token", "implicit"],
      // Any port of a loopback host.
      redirectUris: [...paths.map((path) => `http://localhost/${path}`), "http://127.0.0.1/landed"],
      postLogoutRedirectUris: [`${party.origin}/signed-out`],
    };
    const client = await makeClient(made, "spa", registration);
    const hosted = await makeClient(made, "hosted", { ...registration, service: SERVICE });
    const stranger = "initech.shop";
    await made.put("tenants/initech", { organization: "group", name: "Initech & Partner GmbH" });
    await made.put(`clients/${stranger}`, { ...registration, tenant: "initech", scopes: [] });
    const scope = ["openid", ...SCOPES].join(" ");
    party.settings = { issuer: made.issuer, clientId: client.id, scope };
    return {
      world: made,
      app: party,
      client,
      hosted,
      stranger,
      async open(options = {}) {
        const context = await launched.newContext({ locale: "en-GB", ...options });
        contexts.push(context);
        context.on("console", (message) => {
          if (message.type() === "error" && !message.text().startsWith("Failed to load resource"))
            complaints.push(message.text());
        });
        context.on("weberror", (error) => complaints.push(error.error().message));
        return context.newPage();
      },
      link(more = {}) {
        const parameters = {
          response_type: "code",
          client_id: client.id,
          redirect_uri: `${party.origin}/landed`,
          scope,
          state: "a state",
          code_challenge: CHALLENGE,
          code_challenge_method: "S256",
          ...more,
        };
        return `${made.issuer}/authorize?${new URLSearchParams(parameters).toString()}`;
      },
      async complaints(count) {
        await expect.poll(() => complaints.length).toBe(count);
        return complaints.splice(0);
      },
    };
  }

  return () => {
    if (stage === undefined) throw new Error("the stage was not set");
    return stage;
  };
}

/** Fills in the sign-in page and sends it. */
export async function signIn(page: Page, { email, password }: User): Promise<void> {
  await page.getByLabel("E-mail address").fill(email);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
}

/** A new browser in which this person is signed in, at the account page. */
export async function atAccount(stage: Stage, user: User): Promise<Page> {
  const page = await stage.open();
  await page.goto(`${stage.world.base}/account`);
  await signIn(page, user);
  await isShown(page, "Your account");
  return page;
}

/** A new person with a password, who is a member of the tenant. */
export async function makeUser({ world }: Stage, name: string, tenant = TENANT): Promise<User> {
  const user = { email: `${name}@acme.example`, password: `the first password of ${name}` };
  await world.put(`users/${user.email}`, { name, password: user.password });
  await world.put(`tenants/${tenant}/members/${user.email}`, { roles: ["everything"] });
  return user;
}

/** A page of another site frames the address: the browser shows nothing of it, and says why. */
export async function isNotFramed(stage: Stage, page: Page, address: string): Promise<void> {
  await page.goto(`${stage.app.origin}/nothing`);
  await page.evaluate(`new Promise((resolve) => {
    const frame = document.createElement("iframe");
    frame.onload = resolve;
    frame.src = ${JSON.stringify(address)};
    document.body.append(frame);
  })`);
  expect(page.frames().map((frame) => frame.url())).toContain("chrome-error://chromewebdata/");
  expect(await stage.complaints(1)).toEqual([expect.stringContaining("frame-ancestors 'none'")]);
}

/** Waits for the page with this title. */
export const isShown = (page: Page, heading: string): Promise<void> =>
  page.getByRole("heading", { level: 1, name: heading, exact: true }).waitFor();

/** The hidden fields of a form of the page. */
export const fieldsOf = async (page: Page, form = page.locator("form").first()): Promise<Record<string, string>> =>
  Object.fromEntries(
    await form
      .locator("input[type=hidden]")
      .evaluateAll((inputs): [string, string][] =>
        inputs.map((input) => [input.getAttribute("name") ?? "", input.getAttribute("value") ?? ""]),
      ),
  );

/** Where the browser ended: at the application, with these parameters in the query and in the fragment. */
export async function landed(page: Page): Promise<{ query: URLSearchParams; fragment: URLSearchParams }> {
  await page.waitForURL((url) => url.pathname === "/landed");
  const { searchParams, hash } = new URL(page.url());
  return { query: searchParams, fragment: new URLSearchParams(hash.slice(1)) };
}

/** What the application shows that came of it. */
export async function outcome(page: Page): Promise<any> {
  return JSON.parse((await page.locator("output:not(:empty)").textContent()) ?? "");
}

/** Sends the parameters of an address to it by a form of the page that is shown. */
export async function postForm(page: Page, address: string): Promise<void> {
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
