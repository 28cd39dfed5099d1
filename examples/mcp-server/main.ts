import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { z } from "zod";
import { createTokenVerifier, type Caller } from "../../packages/sdk/src/index.ts";

/** An MCP server behind the gateway: people keep notes. The gateway signs people in and says who asks. */
const { PLATFORM_URL = "http://127.0.0.1:8787", MCP_PORT = "8791" } = process.env;
const callerOf = createTokenVerifier({ url: PLATFORM_URL, service: "notes" });
const notes = new Map<string, string[]>();

function serverFor({ tenant, user, scopes }: Caller): McpServer {
  const server = new McpServer({ name: "notes", version: "1.0.0" });
  const own = `${tenant} ${user}`;
  const text = (said: string, isError = false) => ({ content: [{ type: "text" as const, text: said }], isError });
  server.registerTool("list_notes", { description: "The person's notes" }, () =>
    text((notes.get(own) ?? []).join("\n")),
  );
  server.registerTool(
    "add_note",
    { description: "Adds a note", inputSchema: { note: z.string().max(1000) } },
    (asked) => {
      if (!scopes.has("notes.write")) return text("This needs the scope notes.write.", true);
      notes.set(own, [...(notes.get(own) ?? []), asked.note]);
      return text(`Kept for ${user}.`);
    },
  );
  return server;
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  try {
    const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
    await serverFor(await callerOf(request.headers.authorization)).connect(transport);
    await transport.handleRequest(request, response);
  } catch (thrown) {
    response.writeHead(401).end(thrown instanceof Error ? thrown.message : "");
  }
}

createServer((request, response) => void answer(request, response)).listen(Number(MCP_PORT), "127.0.0.1", () =>
  console.log(`ready http://127.0.0.1:${MCP_PORT}`),
);
