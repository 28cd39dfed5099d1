import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import * as oauth from "oauth4webapi";
import { UserError } from "../../scripts/lib/user-error.ts";
import { REQUEST, type Discovered } from "./discover.ts";

/**
 * A sign-in by the person's browser, as a public client on this machine (RFC 8252, with PKCE):
 *
 *   listen on a loopback port ──▶ the browser goes to the platform ──▶ the person signs in
 *        ▲                                                                    │
 *        └──────────────── the browser comes back with a code ◀───────────────┘
 *   code and verifier ──▶ tokens
 *
 * Only an answer with this sign-in's `state` counts. Any other request gets an error page, and the wait goes on.
 */
export interface SignIn {
  readonly discovered: Discovered;
  readonly clientId: string;
  readonly scope: string;
  /** Shows the address to the person, and opens it. */
  open(address: string): Promise<void>;
  /** Ends the wait. */
  readonly signal: AbortSignal;
}

export interface Tokens {
  readonly accessToken: string;
  readonly expiresInSec: number;
  readonly refreshToken: string;
}

const HOST = "127.0.0.1";
const PATH = "/callback";

export async function signIn({ discovered, clientId, scope, open, signal }: SignIn): Promise<Tokens> {
  const { server: platform } = discovered;
  const client: oauth.Client = { client_id: clientId };
  const verifier = oauth.generateRandomCodeVerifier();
  const state = oauth.generateRandomState();
  const listener = await listen();
  try {
    const redirectUri = `http://${HOST}:${(listener.address() as AddressInfo).port}${PATH}`;
    const address = new URL(platform.authorization_endpoint ?? "");
    address.search = new URLSearchParams({
      response_type: "code",
      client_id: clientId,
      redirect_uri: redirectUri,
      scope,
      state,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: "S256",
    }).toString();
    const answer = waitForAnswer(listener, redirectUri, state, signal);
    // Awaited together, so that an answer that fails while the browser opens is not an unhandled rejection.
    const [callback] = await Promise.all([answer, open(address.href)]);
    const code = readAnswer(platform, client, callback.address, state);
    const response = await oauth.authorizationCodeGrantRequest(
      platform,
      client,
      oauth.None(),
      code,
      redirectUri,
      verifier,
      REQUEST,
    );
    return readTokens(await oauth.processAuthorizationCodeResponse(platform, client, response).catch(refusedBy));
  } finally {
    listener.close();
    listener.closeAllConnections();
  }
}

/** Gets new tokens of a sign-in. `scope`: fewer scopes than were granted. Undefined: the sign-in has ended. */
export async function renew(
  { server }: Discovered,
  clientId: string,
  refreshToken: string,
  scope?: string,
): Promise<Tokens | undefined> {
  const client: oauth.Client = { client_id: clientId };
  const additionalParameters: Record<string, string> = scope === undefined ? {} : { scope };
  const response = await oauth.refreshTokenGrantRequest(server, client, oauth.None(), refreshToken, {
    ...REQUEST,
    additionalParameters,
  });
  try {
    return readTokens(await oauth.processRefreshTokenResponse(server, client, response));
  } catch (error) {
    if (error instanceof oauth.ResponseBodyError && error.error === "invalid_grant") return undefined;
    return refusedBy(error);
  }
}

/** Ends a sign-in at the platform. */
export async function revoke({ server }: Discovered, clientId: string, refreshToken: string): Promise<void> {
  const response = await oauth.revocationRequest(server, { client_id: clientId }, oauth.None(), refreshToken, REQUEST);
  await oauth.processRevocationResponse(response).catch(refusedBy);
}

async function listen(): Promise<Server> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, HOST, resolve);
  });
  return server;
}

function waitForAnswer(
  server: Server,
  redirectUri: string,
  state: string,
  signal: AbortSignal,
): Promise<{ readonly address: URL }> {
  return new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
    server.on("request", (request: IncomingMessage, response: ServerResponse) => {
      const address = new URL(request.url ?? "/", redirectUri);
      const isAnswer = request.method === "GET" && address.pathname === PATH;
      if (!isAnswer || address.searchParams.get("state") !== state)
        return sendPage(response, 400, "This is not the answer to the sign-in", "Go back to the terminal.");
      const failed = address.searchParams.has("error");
      sendPage(
        response,
        failed ? 400 : 200,
        failed ? "You are not signed in" : "You are signed in",
        failed ? "The terminal says why." : "You can close this window and go back to the terminal.",
      );
      resolve({ address });
    });
  });
}

/** Sends a page that is not cached and gives no referrer, since its address contains the code. */
function sendPage(response: ServerResponse, status: number, title: string, text: string): void {
  response.writeHead(status, {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    connection: "close",
  });
  response.end(
    `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title>` +
      "<style>:root{color-scheme:light dark}body{font:1.1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:20vh auto;padding:0 1rem}</style>" +
      `<h1>${title}</h1><p>${text}</p></html>`,
  );
}

function readAnswer(
  platform: oauth.AuthorizationServer,
  client: oauth.Client,
  address: URL,
  state: string,
): URLSearchParams {
  try {
    return oauth.validateAuthResponse(platform, client, address, state);
  } catch (error) {
    return refusedBy(error);
  }
}

export function refusedBy(error: unknown): never {
  const isRefusal = error instanceof oauth.AuthorizationResponseError || error instanceof oauth.ResponseBodyError;
  if (!isRefusal) throw error;
  throw new UserError(`The platform refused the sign-in: ${error.error_description ?? error.error}`);
}

export function readTokens(answer: oauth.TokenEndpointResponse): Tokens {
  if (answer.refresh_token === undefined)
    throw new UserError("The platform gave no refresh token: the client lacks the grant refresh_token.");
  return {
    accessToken: answer.access_token,
    expiresInSec: answer.expires_in ?? 0,
    refreshToken: answer.refresh_token,
  };
}
