import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { BrowserContext, Page as BrowserPage } from "playwright-core";
import { ROOT } from "../../scripts/lib/root.ts";
import type { Platform } from "../acceptance/support/process/platform.ts";
import { freePort, localSecret } from "../acceptance/support/process/state.ts";
import { readPage, type Page } from "./page.ts";

/** A program that others wrote, and how it is tried by its page in docs/integrations. */
export interface Integration {
  /** The programs that have to be on the machine. Packages of registries are the page's `Install`. */
  readonly needs: readonly string[];
  /** Drives the program, which has started, and checks what came of it. */
  try(stage: Stage): Promise<void>;
  /** A path of the application that answers once it has started. */
  readonly path?: string;
}

/** The program of one page, started as the page says, and a browser without cookies before it. */
export interface Stage {
  /** The application's address. */
  readonly app: string;
  readonly platform: string;
  readonly browser: BrowserPage;
  /** Signs the demo's person in at the platform's page, which is on the screen. */
  signIn(): Promise<void>;
  /** Waits until the browser shows these words. */
  sees(words: string): Promise<void>;
  /** An access token of the demo's client. */
  clientToken(): Promise<string>;
  /** The status of a request with this bearer token. */
  statusOf(path: string, bearer?: string): Promise<number>;
}

export const ADA = "ada@demo.example";
const START_MS = 60_000;
/** Kept between runs, with the packages that were fetched. */
const FOLDER = join(ROOT, ".build", "integrations");

/** Follows a page from its first command to its last, and ends what it started. */
export async function follow(
  name: string,
  { try: tryIt, path = "/" }: Integration,
  platform: Platform,
  context: BrowserContext,
): Promise<void> {
  const folder = join(FOLDER, name);
  mkdirSync(folder, { recursive: true });
  const ports = [await freePort(), await freePort()] as const;
  const page = readPage(name, { platform: platform.url, ports });
  page.writeFiles(folder);
  const secret = register(page, platform);
  const env = { ...process.env, ...(secret !== undefined && { CLIENT_SECRET: secret }) };
  inShell(page.commands("Install"), folder, env);
  const program = spawn("bash", ["-euc", page.commands("Run")], {
    cwd: folder,
    env,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [program.stdout, program.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => (output += text));
  const app = `http://127.0.0.1:${ports[0]}`;
  try {
    await answers(`${app}${path}`, () => program.exitCode === null);
    const browser = await context.newPage();
    await tryIt(stageOf(app, platform.url, browser));
  } catch (error) {
    throw new Error(`${(error as Error).message}\n\nWhat the program of ${name} said:\n${output.slice(-4_000)}`, {
      cause: error,
    });
  } finally {
    kill(program.pid, "SIGTERM");
    await sleep(500);
    kill(program.pid, "SIGKILL");
  }
}

function stageOf(app: string, platform: string, browser: BrowserPage): Stage {
  return {
    app,
    platform,
    browser,
    async signIn() {
      await browser.getByLabel("E-mail address").fill(ADA);
      await browser.getByLabel("Password").fill(localSecret("DEMO_USER_PASSWORD"));
      await browser.getByRole("button", { name: "Sign in" }).click();
    },
    sees: (words) => browser.getByText(words).first().waitFor({ timeout: 15_000 }),
    async clientToken() {
      const basic = Buffer.from(`demo.shop:${localSecret("DEMO_CLIENT_SECRET")}`).toString("base64");
      const answer = await fetch(`${platform}/oauth2/v1/token`, {
        method: "POST",
        headers: { authorization: `Basic ${basic}` },
        body: new URLSearchParams({ grant_type: "client_credentials" }),
      });
      const { access_token: token } = (await answer.json()) as { access_token: string };
      return token;
    },
    async statusOf(path, bearer) {
      const headers = { ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }) };
      const answer = await fetch(`${app}${path}`, { redirect: "manual", headers });
      await answer.arrayBuffer();
      return answer.status;
    },
  };
}

/** Runs the page's registration in the checkout. The client's secret, if it has one. */
function register(page: Page, platform: Platform): string | undefined {
  const commands = page.commands("Register");
  if (commands === "") return undefined;
  return /^clientSecret +(\S{32,})$/m.exec(
    inShell(commands, ROOT, { ...process.env, PORT: String(platform.port) }),
  )?.[1];
}

function inShell(commands: string, cwd: string, env: NodeJS.ProcessEnv): string {
  if (commands === "") return "";
  const { status, stdout, stderr } = spawnSync("bash", ["-euc", commands], { cwd, env, encoding: "utf8" });
  assert.equal(status, 0, `${commands}\n${stdout}${stderr}`);
  return stdout;
}

async function answers(address: string, isRunning: () => boolean): Promise<void> {
  for (const deadline = Date.now() + START_MS; Date.now() < deadline; await sleep(100)) {
    if (!isRunning()) throw new Error("it ended before it answered");
    try {
      await (await fetch(address, { redirect: "manual" })).arrayBuffer();
      return;
    } catch {
      // Not yet.
    }
  }
  throw new Error(`it did not answer at ${address}`);
}

/** Ends the whole group, of which some may have ended. */
function kill(group: number | undefined, signal: NodeJS.Signals): void {
  try {
    if (group !== undefined) process.kill(-group, signal);
  } catch {
    // Nothing of it lives.
  }
}
