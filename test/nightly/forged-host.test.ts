import { readdirSync, readFileSync, rmSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { launchChromium } from "../acceptance/support/chromium.ts";
import { startPlatform, type Platform } from "../acceptance/support/process/platform.ts";
import { stopGroup } from "../acceptance/support/process/program.ts";
import { freePort, newStateDir } from "../acceptance/support/process/state.ts";
import { ADA, makeWorld, OPERATOR_SECRET, TENANT, type World } from "../acceptance/support/world.ts";

/**
 * A platform that knows its own address, asked under the name of somebody else: a browser finds it below
 * `evil.localhost`, as a victim would below a host whose DNS or proxy is the attacker's.
 */
const GUEST = "guest@acme.example";
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

// shows: oauth/mailed-links/host
test("a page under another host sends its forms to the platform's own, which the browser refuses", async () => {
  const page = await open();
  await page.goto(`${evil()}/account`);
  const forms = page.locator("form, [formaction]");
  const actions = await forms.evaluateAll((all) =>
    all.flatMap((one) => [one.getAttribute("action"), one.getAttribute("formaction")]).filter((at) => at !== null),
  );
  expect(actions.length).toBeGreaterThan(1);
  for (const action of actions) expect(new URL(action).origin).toBe(world.url);
  await page.getByLabel("E-mail address").fill(ADA.email);
  await page.getByLabel("Password").fill(ADA.password);
  for (const button of ["Forgot your password?", "Sign in"]) {
    const refused = page.waitForEvent("console", (message) => message.text().includes("form-action"));
    await page.getByRole("button", { name: button }).dispatchEvent("click");
    await refused;
    expect(new URL(page.url()).hostname).toBe("evil.localhost");
  }
});

// shows: oauth/mailed-links/host
test("an invitation leads to the platform's own, whatever the header Host says", async () => {
  const token = await operatorToken();
  const invited = await send(`/admin/v1/tenants/${TENANT}/invitations/${GUEST}`, "evil.example", {
    method: "PUT",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ roles: [] }),
  });
  expect(invited).toBe(201);
  const links = await linksTo(GUEST, 1);
  expect(links.length).toBeGreaterThan(0);
  for (const link of links) expect(new URL(link).origin).toBe(world.url);
});

test("its mail is a file with a text and an HTML part, and a line on the terminal", () => {
  const folder = join(stateDir, "mail");
  const [name = "", ...others] = readdirSync(folder);
  expect(others).toEqual([]);
  expect(name).toMatch(/\.eml$/);
  const text = readFileSync(join(folder, name), "utf8");
  for (const part of ["text/plain", "text/html"]) expect(text).toContain(`Content-Type: ${part}`);
  expect(platform!.output()).toContain(`mail to ${GUEST}`);
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
