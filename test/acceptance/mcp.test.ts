import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { UnauthorizedError, type OAuthClientProvider } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { decodeJwt } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { NOTES, notesService } from "../../examples/mcp-server/described.ts";
import { startProgram, type Program } from "../../examples/walk/program.ts";
import type { CookieBrowser } from "./support/cookie-browser.ts";
import { freePort } from "./support/platform-process.ts";
import { CALLBACK, newBrowser } from "./support/visit.ts";
import { ADA, TENANT, useWorld } from "./support/world.ts";

/** The official client for the Model Context Protocol, unmodified, before examples/mcp-server behind the gateway. */
const world = useWorld({ UNREGISTERED_CLIENTS: "registration", PATH_PREFIX: "/base" });
const PATIENCE_MS = 60_000;

let notes: Program;
let documents: Server;
let documentUrl: string;
beforeAll(async () => {
  const port = await freePort();
  const { put, base } = world();
  await put(`services/${NOTES.service}`, notesService(TENANT, `http://127.0.0.1:${port}`));
  await put(`roles/${NOTES.role}`, { scopes: NOTES.scopes });
  await put(`tenants/${TENANT}/members/${ADA.email}`, { roles: [NOTES.role] });
  notes = await startProgram("examples/mcp-server/main.ts", {
    env: { PATH: process.env["PATH"], PLATFORM_URL: base, MCP_PORT: String(port) },
    patienceMs: PATIENCE_MS,
  });
  documents = createServer((_, response) => {
    const about = { client_id: documentUrl, client_name: "Described agent", redirect_uris: [CALLBACK] };
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ ...about, grant_types: ["authorization_code", "refresh_token"] }));
  });
  await new Promise<void>((resolve) => documents.listen(0, "127.0.0.1", resolve));
  documentUrl = `http://127.0.0.1:${(documents.address() as AddressInfo).port}/client.json`;
}, PATIENCE_MS);
afterAll(async () => {
  await notes?.stop();
  documents?.close();
});

interface Kept extends OAuthClientProvider {
  /** Where the browser is sent to. */
  link: URL | undefined;
  made: Record<string, any>;
}

/** Keeps what the SDK hands over. `clientId`: of a client that need not register itself. */
function makeAgent(clientId?: string): Kept {
  const made: Record<string, any> = clientId === undefined ? {} : { client: { client_id: clientId } };
  return {
    link: undefined,
    made,
    redirectUrl: CALLBACK,
    clientMetadata: {
      client_name: "Test agent",
      redirect_uris: [CALLBACK],
      grant_types: ["authorization_code", "refresh_token"],
      token_endpoint_auth_method: "none",
    },
    state: () => "state-1",
    clientInformation: () => made["client"],
    saveClientInformation: (client) => void (made["client"] = client),
    tokens: () => made["tokens"],
    saveTokens: (tokens) => void (made["tokens"] = tokens),
    redirectToAuthorization(link) {
      this.link = link;
    },
    saveCodeVerifier: (verifier) => void (made["verifier"] = verifier),
    codeVerifier: () => made["verifier"] as string,
  };
}

const transportOf = (agent: Kept): StreamableHTTPClientTransport =>
  new StreamableHTTPClientTransport(new URL(`${world().base}${NOTES.proxyPath}`), { authProvider: agent });
const newClient = (): Client => new Client({ name: "test", version: "1.0.0" });

/** Ada signs in at the pages and allows what they show; the code that the agent gets. */
async function decide(link: URL, browser: CookieBrowser, decision = "allow"): Promise<URLSearchParams> {
  let shown = await browser.open(link);
  if (shown.text.includes('name="password"'))
    shown = await browser.submit(shown, { email: ADA.email, password: ADA.password });
  expect(shown.text).toContain("Nobody here has checked");
  return (await browser.submit(shown, { decision })).url.searchParams;
}

/** The whole way; a connected client. */
async function connect(agent: Kept): Promise<Client> {
  const first = transportOf(agent);
  await expect(newClient().connect(first)).rejects.toThrow(UnauthorizedError);
  const answer = await decide(agent.link!, newBrowser());
  expect([answer.get("iss"), answer.get("state")]).toEqual([world().issuer, "state-1"]);
  await first.finishAuth(answer.get("code") ?? "");
  const client = newClient();
  await client.connect(transportOf(agent));
  return client;
}
const said = async (client: Client, name: string, input: Record<string, unknown> = {}): Promise<string> =>
  ((await client.callTool({ name, arguments: input })).content as { text: string }[])[0]?.text ?? "";

describe("The official client", () => {
  // shows: oauth/unregistered-clients/official-client
  test.each([
    ["that registers itself", () => undefined],
    ["with a document", () => documentUrl],
  ])("%s signs a person in, calls tools, and refreshes", async (_, clientId) => {
    const agent = makeAgent(clientId());
    const client = await connect(agent);
    expect(agent.link!.searchParams.get("resource")).toBe(`${world().base}${NOTES.proxyPath}`);
    expect(agent.link!.searchParams.get("scope")).toBe(NOTES.scopes.join(" "));
    expect(await said(client, "add_note", { note: "milk" })).toBe(`Kept for ${ADA.email}.`);
    expect(await said(client, "list_notes")).toContain("milk");
    const before = agent.made["tokens"] as { access_token: string; refresh_token: string };
    expect(decodeJwt(before.access_token)).toMatchObject({ aud: `${world().base}${NOTES.proxyPath}`, tenant: TENANT });
    // Refused, so the client refreshes by itself and goes on.
    agent.made["tokens"] = { ...before, access_token: "expired" };
    const again = newClient();
    await again.connect(transportOf(agent));
    expect(await said(again, "list_notes")).toContain("milk");
    expect((agent.made["tokens"] as typeof before).refresh_token).not.toBe(before.refresh_token);
    await Promise.all([client.close(), again.close()]);
  });

  test("learns that the person denied, with the issuer", async () => {
    const agent = makeAgent(documentUrl);
    await expect(newClient().connect(transportOf(agent))).rejects.toThrow(UnauthorizedError);
    const answer = await decide(agent.link!, newBrowser(), "deny");
    expect([answer.get("error"), answer.get("iss")]).toEqual(["access_denied", world().issuer]);
  });

  test("whose token is for another service is asked to sign in again", async () => {
    await world().put("services/other", {
      ...notesService(TENANT, "https://other.example"),
      proxyPath: "/other/v1",
      scopes: ["other.read"],
      scopeDescriptions: {},
    });
    const agent = makeAgent(documentUrl);
    const client = await connect(agent);
    const { access_token: token } = agent.made["tokens"] as { access_token: string };
    const answer = await fetch(`${world().base}/other/v1`, { headers: { authorization: `Bearer ${token}` } });
    expect(answer.status).toBe(401);
    expect(answer.headers.get("www-authenticate")).toContain('error="invalid_token"');
    expect(answer.headers.get("www-authenticate")).toContain("/.well-known/oauth-protected-resource/other/v1");
    await client.close();
  });
});
