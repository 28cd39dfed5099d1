import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { OAuthClientProvider } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { NOTES, notesService } from "../../../../examples/mcp-server/described.ts";
import { startProgram, type Program } from "../../../../examples/walk/program.ts";
import { freePort } from "../platform-process.ts";
import { ADA, TENANT, type World } from "../world.ts";

/** The official client for the Model Context Protocol, unmodified, and examples/mcp-server behind a platform's gateway. */
export const AGENT_NAME = "Described agent";
export const PATIENCE_MS = 60_000;

/** Starts the example's server and registers it; Ada keeps notes there. */
export async function startNotes({ put, base }: World): Promise<Program> {
  const port = await freePort();
  await put(`services/${NOTES.service}`, notesService(TENANT, `http://127.0.0.1:${port}`));
  await put(`roles/${NOTES.role}`, { scopes: NOTES.scopes });
  await put(`tenants/${TENANT}/members/${ADA.email}`, { roles: ["everything", NOTES.role] });
  return startProgram("examples/mcp-server/main.ts", {
    env: { PATH: process.env["PATH"], PLATFORM_URL: base, MCP_PORT: String(port) },
    patienceMs: PATIENCE_MS,
  });
}

/** Serves the document that describes an agent. Its address is the agent's client id. */
export async function startDocument(redirectUri: string): Promise<{ readonly url: string; readonly stop: () => void }> {
  const server = createServer((_, response) => {
    const about = { client_id: url, client_name: AGENT_NAME, redirect_uris: [redirectUri] };
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ ...about, grant_types: ["authorization_code", "refresh_token"] }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/client.json`;
  return { url, stop: () => void server.close() };
}

export interface Agent extends OAuthClientProvider {
  /** Where the browser is sent to. */
  link: URL | undefined;
  /** What the SDK hands over to keep. */
  readonly made: Record<string, any>;
}

/** `clientId`: of a client that need not register itself. */
export function makeAgent(redirectUrl: string, clientId?: string): Agent {
  const made: Record<string, any> = clientId === undefined ? {} : { client: { client_id: clientId } };
  return {
    link: undefined,
    made,
    redirectUrl,
    clientMetadata: {
      client_name: "Test agent",
      redirect_uris: [redirectUrl],
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

export const transportOf = ({ base }: World, agent: Agent): StreamableHTTPClientTransport =>
  new StreamableHTTPClientTransport(new URL(`${base}${NOTES.proxyPath}`), { authProvider: agent });

export const newClient = (): Client => new Client({ name: "test", version: "1.0.0" });

/** What the tool answers. */
export const said = async (client: Client, name: string, input: Record<string, unknown> = {}): Promise<string> =>
  ((await client.callTool({ name, arguments: input })).content as { text: string }[])[0]?.text ?? "";
