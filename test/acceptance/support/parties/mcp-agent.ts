import type { OAuthClientProvider } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { NOTES } from "../../../../examples/mcp-server/described.ts";
import type { World } from "../world.ts";

/** An agent is the official client for the Model Context Protocol, unmodified. */
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
