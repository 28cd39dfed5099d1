import { readdirSync, readFileSync, rmSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { launchChromium } from "../acceptance/support/chromium.ts";
import {
  freePort,
  newStateDir,
  startPlatform,
  stopGroup,
  type Platform,
} from "../acceptance/support/platform-process.ts";
import { ADA, makeWorld, OPERATOR_SECRET, TENANT, type World } from "../acceptance/support/world.ts";

/**
 * A platform that knows its own address, asked under the name of somebody else: a browser finds it below
 * `evil.localhost`, as a victim would below a host whose DNS or proxy is the attacker's.
 */
const stateDir = newStateDir();
let platform: Platform | undefined;
let browser: Browser | undefined;
let world: World;

beforeAll(async () => {
  const port = await freePort();
  platform = await startPlatform({
    STATE_DIR: stateDir,
    OPERATOR_CLIENT_SECRET: OPERATOR_SECRET,
    PORT: String(port),
    PUBLIC_URL: `http://127.0.0.1:${port}`,
  });
  world = await makeWorld(platform, "");
  browser = await launchChromium();
}, 60_000);
afterAll(async () => {
  await browser?.close();
  if (platform !== undefined) await stopGroup(platform, "SIGKILL");
  rmSync(stateDir, { recursive: true, force: true });
});

const open = async (): Promise<Page> => (await browser!.newContext({ locale: "en-GB" })).newPage();
const evil = (): string => world.url.replace("127.0.0.1", "evil.localhost");
/** The addresses in the mails to a person, newest first, once there are so many mails. */
async function linksTo(email: string, mails: number): Promise<readonly string[]> {
  const box = await open();
  const own = box.locator("section", { hasText: `to ${email}` });
  await expect.poll(async () => (await box.goto(`${world.url}/dev/mail`)) && own.count()).toBe(mails);
  return own.getByRole("link").evaluateAll((links) => links.map((link) => link.getAttribute("href") ?? ""));
}
const isShown = (page: Page, heading: string): Promise<void> =>
  page.getByRole("heading", { level: 1, name: heading, exact: true }).waitFor();

// shows: oauth/mailed-links/host
test("a link that was asked for under another host leads to the platform's own, and opens nowhere", async () => {
  const thief = await open();
  await thief.goto(`${evil()}/account`);
  await thief.getByLabel("E-mail address").fill(ADA.email);
  await thief.getByRole("button", { name: "Forgot your password?" }).click();
  expect(new URL(thief.url()).hostname).toBe("evil.localhost");
  await thief.getByRole("button", { name: "Send the link" }).click();
  await isShown(thief, "Look at your mail");
  const links = await linksTo(ADA.email, 1);
  expect(links.map((link) => new URL(link).origin)).toEqual(links.map(() => world.url));
  // The person who trusts the mail opens it, and gives nothing away.
  const victim = await open();
  await victim.goto(links[0]!);
  await isShown(victim, "Open the link in the other browser");
  // The thief cannot use it, whatever host the browser is at.
  for (const origin of [world.url, evil()]) {
    await thief.goto(links[0]!.replace(world.url, origin));
    if (origin === world.url) await isShown(thief, "Open the link in the other browser");
  }
  await victim.goto(`${world.url}/account`);
  await victim.getByLabel("E-mail address").fill(ADA.email);
  await victim.getByLabel("Password").fill(ADA.password);
  await victim.getByRole("button", { name: "Sign in" }).click();
  await isShown(victim, "Your account");
});

// shows: oauth/mailed-links/host
test("invitations and notices lead there too, whatever the header Host says", async () => {
  const page = await open();
  await page.goto(`${evil()}/account`);
  await page.getByLabel("E-mail address").fill(ADA.email);
  await page.getByLabel("Password").fill(ADA.password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await isShown(page, "Your account");
  const email = "guest@acme.example";
  const token = await operatorToken();
  const invited = await send(`/admin/v1/tenants/${TENANT}/invitations/${email}`, "evil.example", {
    method: "PUT",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ roles: [] }),
  });
  expect(invited).toBe(201);
  const links = [...(await linksTo(email, 1)), ...(await linksTo(ADA.email, 3))];
  expect(links.length).toBeGreaterThanOrEqual(4);
  for (const link of links) expect(new URL(link).origin).toBe(world.url);
});

test("each mail is a file with a text and an HTML part, and a line on the terminal", () => {
  const folder = join(stateDir, "mail");
  const files = readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), "utf8")] as const);
  expect(files.length).toBeGreaterThanOrEqual(3);
  for (const [name, text] of files) {
    expect(name).toMatch(/\.eml$/);
    for (const part of ["text/plain", "text/html"]) expect(text).toContain(`Content-Type: ${part}`);
  }
  expect(platform!.output()).toContain(`mail to ${ADA.email}: Choose a new password`);
});

async function operatorToken(): Promise<string> {
  const answer = await fetch(`${world.issuer}/token`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`plat.operator:${OPERATOR_SECRET}`)}` },
    body: new URLSearchParams({ grant_type: "client_credentials" }),
  });
  return ((await answer.json()) as { access_token: string }).access_token;
}

/** `fetch` sends no other Host. The status of the answer. */
const send = (
  path: string,
  host: string,
  { method, headers, body }: { method: string; headers: Record<string, string>; body: string },
): Promise<number> =>
  new Promise((resolve, reject) => {
    const options = { port: platform!.port, host: "127.0.0.1", path, method, headers: { ...headers, host } };
    request(options, (answer) => resolve(answer.resume().statusCode ?? 0))
      .on("error", reject)
      .end(body);
  });
