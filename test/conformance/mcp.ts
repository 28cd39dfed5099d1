import { spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { CookieBrowser } from "../acceptance/support/cookie-browser.ts";
import { startPlatform } from "../acceptance/support/process/platform.ts";
import { stopGroup } from "../acceptance/support/process/program.ts";
import { freePort, newStateDir } from "../acceptance/support/process/state.ts";
import { ADA, makeWorld, OPERATOR_SECRET, TENANT } from "../acceptance/support/world.ts";

/**
 * The scenarios of the Model Context Protocol's conformance suite for authorization servers, against a platform that
 * this starts: `npm run conformance -- mcp <path of the suite's dist/index.js>`. The suite prints an address and waits
 * for a browser, which Ada is here. Once with a client that registers itself, once with one that a document describes.
 */
const START_MS = 60_000;

export async function runMcp(suite: string): Promise<boolean> {
  const stateDir = newStateDir();
  const platform = await startPlatform({
    UNREGISTERED_CLIENTS: "registration",
    STATE_DIR: stateDir,
    OPERATOR_CLIENT_SECRET: OPERATOR_SECRET,
  });
  try {
    const world = await makeWorld(platform, "");
    const scopes = ["notes.read"];
    const service = { sourceUrl: "https://notes.example", proxyPath: "/notes/v1", scopes, tenant: TENANT };
    await world.put("services/notes", { ...service, access: "token" });
    await world.put("roles/notes", { scopes });
    await world.put(`tenants/${TENANT}/members/${ADA.email}`, { roles: ["notes"] });
    const results: boolean[] = [];
    for (const clientOf of [registered, described]) {
      const port = await freePort();
      const { clientId, close } = await clientOf(world.issuer, `http://127.0.0.1:${port}/callback`);
      console.log(`\n${clientOf.name}: ${clientId}`);
      results.push(await runSuite(suite, { issuer: world.issuer, clientId, port, resource: `${world.base}/notes/v1` }));
      close();
    }
    return results.every(Boolean);
  } finally {
    await stopGroup(platform, "SIGKILL");
    rmSync(stateDir, { recursive: true, force: true });
  }
}

interface SuiteClient {
  readonly clientId: string;
  close(): void;
}

async function registered(issuer: string, redirectUri: string): Promise<SuiteClient> {
  const answer = await fetch(`${issuer}/register`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ client_name: "Conformance", redirect_uris: [redirectUri] }),
  });
  const { client_id: clientId } = (await answer.json()) as { client_id: string };
  return { clientId, close: () => undefined };
}

async function described(_issuer: string, redirectUri: string): Promise<SuiteClient> {
  const server = createServer((_, response) => {
    const document = { client_id: clientId, client_name: "Conformance", redirect_uris: [redirectUri] };
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(document));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const clientId = `http://127.0.0.1:${(server.address() as AddressInfo).port}/client.json`;
  return { clientId, close: () => server.close() };
}

interface Asked {
  readonly issuer: string;
  readonly clientId: string;
  readonly port: number;
  readonly resource: string;
}

/** True if no check failed. */
async function runSuite(suite: string, { issuer, clientId, port, resource }: Asked): Promise<boolean> {
  const args = ["authorization", "--url", issuer, "--client-id", clientId, "--port", `${port}`, "--resource", resource];
  const child = spawn(process.execPath, [suite, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  const timer = setTimeout(() => child.kill(), START_MS);
  let output = "";
  let visit: Promise<unknown> | undefined;
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
    process.stdout.write(text);
    const link = new RegExp(`^${issuer}/authorize\\S*`, "m").exec(output)?.[0];
    if (link !== undefined && output.includes("Waiting")) visit ??= decide(link);
  });
  const [code] = (await once(child, "close")) as [number | null];
  clearTimeout(timer);
  await visit;
  return code === 0 && !output.includes("FAILURE");
}

/** Ada signs in and allows; the browser goes on to the suite's own callback. */
async function decide(link: string): Promise<void> {
  const browser = new CookieBrowser("urn:nobody");
  const page = await browser.submit(await browser.open(link), { email: ADA.email, password: ADA.password });
  await browser.submit(page, { decision: "allow" });
}
