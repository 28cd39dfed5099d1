import { readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect } from "vitest";
import { launchChromium } from "../support/chromium.ts";
import { startPlatform, type Platform } from "../support/process/platform.ts";
import { stopGroup } from "../support/process/program.ts";
import { localSecret, newStateDir } from "../support/process/state.ts";

/** A platform of `npm start` with its console, and a browser before it. */
export interface Stage {
  readonly url: string;
  /** Where the platform keeps its state, with the files of its databases. */
  readonly stateDir: string;
  /** A page of the console, with its operator signed in, or another person. */
  open(options?: Opening): Promise<Page>;
  /** Any call of the operator service by the operator client. */
  operate(method: string, path: string, body?: unknown): Promise<Response>;
  /** What browsers have complained about in this test: none of it fails the test any more. */
  complaints(): readonly string[];
}

interface Opening extends BrowserContextOptions {
  /** Below `/console`. */
  readonly path?: string;
  readonly user?: string;
  readonly password?: string;
  readonly organization?: string;
}

export const OPERATOR = "olga@demo.example";
export const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** For one test file. What a browser complains about, such as a broken policy, fails the test in which it came. */
export function useConsole(): () => Stage {
  const stateDir = newStateDir();
  const contexts: BrowserContext[] = [];
  const complaints: string[] = [];
  let platform: Platform | undefined;
  let browser: Browser | undefined;
  let stage: Stage | undefined;

  beforeAll(async () => {
    [platform, browser] = await Promise.all([startPlatform({ STATE_DIR: stateDir, SITE: "" }), launchChromium()]);
    stage = await makeStage(platform.url, browser);
  }, 120_000);
  afterEach(async () => {
    await Promise.all(contexts.splice(0).map((context) => context.close()));
    expect(complaints.splice(0)).toEqual([]);
  });
  afterAll(async () => {
    await browser?.close();
    if (platform !== undefined) await stopGroup(platform, "SIGKILL");
    rmSync(stateDir, { recursive: true, force: true });
  });

  async function makeStage(url: string, launched: Browser): Promise<Stage> {
    const token = await operatorToken(url);
    return {
      url,
      stateDir,
      complaints: () => complaints.splice(0),
      operate: (method, path, body) =>
        fetch(`${url}/admin/v1/${path}`, {
          method,
          headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
          ...(body !== undefined && { body: JSON.stringify(body) }),
        }),
      async open({ path = "", user = OPERATOR, password, organization = "operators", ...options } = {}) {
        const context = await launched.newContext({ locale: "en-GB", ...options });
        await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: url });
        contexts.push(context);
        context.on("console", (message) => {
          if (message.type() === "error" && !message.text().startsWith("Failed to load resource"))
            complaints.push(message.text());
        });
        context.on("weberror", (error) => complaints.push(error.error().message));
        const page = await context.newPage();
        await page.goto(`${url}/console${path}`);
        await page.getByLabel("Organization").fill(organization);
        await page.getByRole("button", { name: "Sign in", exact: true }).click();
        await signIn(page, user, password ?? localSecret("DEMO_OPERATOR_PASSWORD"));
        await page.waitForURL((there) => there.pathname.startsWith(`/console${path.split("?")[0]}`));
        await page
          .getByRole("navigation")
          .or(page.getByRole("button", { name: "Menu" }))
          .first()
          .waitFor();
        return page;
      },
    };
  }

  return () => {
    if (stage === undefined) throw new Error("the stage was not set");
    return stage;
  };
}

/** On the platform's own page; allows what a consent page asks for. */
export async function signIn(page: Page, user: string, password: string): Promise<void> {
  await page.getByLabel("E-mail address").fill(user);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
  const allow = page.getByRole("button", { name: "Allow", exact: true });
  await allow.or(page.locator(".shell, .door .form-alert")).first().waitFor();
  if (await allow.isVisible()) await allow.click();
}

/** A topic of the demo shop's own client, and that client's token. */
export async function makeTopic({ url, operate }: Stage): Promise<{ readonly topic: string; readonly token: string }> {
  const id = `demo.events${(topics += 1)}`;
  const body = {
    tenant: "demo",
    confidential: true,
    grantTypes: ["client_credentials"],
    scopes: ["plat.pubsub_publish", "plat.pubsub.topic=*"],
    clientSecret: "a-secret-of-the-client-with-topics-for-tests",
  };
  const made = await operate("PUT", `clients/${id}`, body);
  if (made.status !== 201) throw new Error(`${made.status} ${await made.text()}`);
  const token = await tokenOf(url, id, body.clientSecret);
  const eventType = "orders";
  const answer = await fetch(`${url}/pubsub/v1/topics`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ eventType }),
  });
  if (answer.status !== 201) throw new Error(`${answer.status} ${await answer.text()}`);
  return { topic: `${id}/${eventType}`, token };
}
let topics = 0;

/** A committed file of a client, by an operator. `at`: `demo/files/demo.shop/private`; its id. */
export async function storeFile({ operate }: Stage, at: string, metadata: object, body: string): Promise<string> {
  const made = await operate("POST", `tenants/${at}`, {});
  const { id, uploadLink } = (await made.json()) as { readonly id: string; readonly uploadLink: string };
  const headers = { "content-type": "binary/octet-stream" };
  expect((await fetch(uploadLink, { method: "PUT", body, headers })).status).toBe(200);
  expect((await operate("POST", `files/${id}/commit`, metadata)).status).toBe(202);
  return id;
}

/** Goes to another page of the console by a link, as people do: a reload would sign in again. */
export async function visit(page: Page, name: string): Promise<void> {
  await page.getByRole("navigation").getByRole("link", { name, exact: true }).click();
  await page.getByRole("heading", { level: 1, name, exact: true }).waitFor();
}

const operatorToken = (url: string): Promise<string> =>
  tokenOf(url, "plat.operator", localSecret("OPERATOR_CLIENT_SECRET"));

async function tokenOf(url: string, clientId: string, secret: string): Promise<string> {
  const answer = await fetch(`${url}/oauth2/v1/token`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`${clientId}:${encodeURIComponent(secret)}`)}` },
    body: new URLSearchParams({ grant_type: "client_credentials" }),
  });
  return ((await answer.json()) as { access_token: string }).access_token;
}

/** Goes to a page by the palette, with the keyboard alone. */
export async function goByPalette(page: Page, typed: string, name = typed): Promise<void> {
  await page.keyboard.press("Control+k");
  await page.getByRole("searchbox").waitFor();
  await page.keyboard.type(typed);
  await page.getByRole("option", { name }).waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name }).waitFor();
}

/** Fills in the form for a new tenant and sends it. */
export async function sendNewTenant(page: Page, tenant: { id: string; name: string; organization: string }) {
  await visit(page, "Tenants");
  await page.getByRole("link", { name: "New tenant" }).click();
  await page.getByLabel("Id", { exact: true }).fill(tenant.id);
  await page.getByLabel("Name", { exact: true }).fill(tenant.name);
  await page.getByLabel("Organization").fill(tenant.organization);
  await page.getByRole("button", { name: "Create" }).click();
}
