import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { NOTES, notesService } from "../../../../examples/mcp-server/described.ts";
import { startProgram, type Program } from "../../../../examples/walk/program.ts";
import { freePort } from "../process/state.ts";
import { ADA, TENANT, type World } from "../world.ts";

/** Servers that an agent needs: examples/mcp-server behind a platform's gateway, and one with the agent's document. */
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
