import * as oauth from "oauth4webapi";
import { noAnswer, PlinthError } from "../../../packages/sdk/src/errors.ts";
import { CONSOLE_PATH, configNow } from "./config.ts";

/** Signs in by the platform's own OpenID Connect, as a public client with PKCE (RFC 9700). */

export interface Tokens {
  readonly accessToken: string;
  readonly refreshToken: string | undefined;
  readonly endsMs: number;
}

/** A sign-in under way: stored from the redirect to the platform until the return. */
interface Pending {
  readonly state: string;
  readonly verifier: string;
  readonly organization: string;
  /** The path that the person wanted to open. */
  readonly returnTo: string;
}

const PENDING = "plinth-console-request";
const REDIRECT_URI = `${location.origin}${CONSOLE_PATH}/callback`;

/** Options that allow plain http, since local platforms have no TLS. */
const insecure = () => ({ [oauth.allowInsecureRequests]: new URL(configNow().issuer).protocol === "http:" });
const client = (): oauth.Client => ({ client_id: configNow().clientId });

let known: oauth.AuthorizationServer | undefined;

async function server(): Promise<oauth.AuthorizationServer> {
  const issuer = new URL(configNow().issuer);
  try {
    known ??= await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, insecure()));
  } catch (thrown) {
    throw noAnswer(thrown, "");
  }
  return known;
}

export interface Wish {
  readonly organization: string;
  readonly returnTo: string;
  /** Shows no page: the platform answers from its own session, or that there is none. */
  readonly silent?: boolean;
}

/** Makes an authorization request, and stores it in this tab until its answer comes. */
export async function authorizationUrl({ organization, returnTo, silent = false }: Wish): Promise<string> {
  const { authorization_endpoint: endpoint = "" } = await server();
  const pending: Pending = {
    state: oauth.generateRandomState(),
    verifier: oauth.generateRandomCodeVerifier(),
    organization,
    returnTo,
  };
  sessionStorage.setItem(PENDING, JSON.stringify(pending));
  const { platform, clientId } = configNow();
  const url = new URL(endpoint);
  for (const [name, value] of Object.entries({
    response_type: "code",
    client_id: clientId,
    redirect_uri: REDIRECT_URI,
    // Names no other scope, so the token has all scopes that the person's roles allow here.
    scope: `${platform}.org=${organization}`,
    state: pending.state,
    code_challenge: await oauth.calculatePKCECodeChallenge(pending.verifier),
    code_challenge_method: "S256",
    ui_locales: document.documentElement.lang,
    ...(silent && { prompt: "none" }),
  }))
    url.searchParams.set(name, value);
  return url.href;
}

/** True if this tab sent the person to the platform. */
export const hasAsked = (): boolean => sessionStorage.getItem(PENDING) !== null;

/** True if this tab waits for this answer. */
export function isAwaited(answer: URLSearchParams): boolean {
  const text = sessionStorage.getItem(PENDING);
  return text !== null && (JSON.parse(text) as Pending).state === answer.get("state");
}

export const forgetAsked = (): void => sessionStorage.removeItem(PENDING);

export interface Landed {
  readonly tokens: Tokens;
  readonly returnTo: string;
  readonly organization: string;
}

/** The platform's refusal of an authorization request. */
export class SignInError extends Error {
  readonly code: string;
  readonly returnTo: string;
  constructor(code: string, message: string, returnTo: string) {
    super(message);
    this.code = code;
    this.returnTo = returnTo;
  }
}

/** Redeems the code that the platform sent back. */
export async function redeem(answer: URLSearchParams): Promise<Landed> {
  const text = sessionStorage.getItem(PENDING);
  sessionStorage.removeItem(PENDING);
  if (text === null) throw new SignInError("lost", "", "/");
  const { state, verifier, organization, returnTo } = JSON.parse(text) as Pending;
  if (answer.get("state") !== state) throw new SignInError("lost", "", returnTo);
  try {
    const at = await server();
    const checked = oauth.validateAuthResponse(at, client(), answer, state);
    const sent = await oauth.authorizationCodeGrantRequest(
      at,
      client(),
      oauth.None(),
      checked,
      REDIRECT_URI,
      verifier,
      insecure(),
    );
    const body = await oauth.processAuthorizationCodeResponse(at, client(), sent);
    return { tokens: tokensOf(body, undefined), returnTo, organization };
  } catch (thrown) {
    if (thrown instanceof oauth.AuthorizationResponseError)
      throw new SignInError(thrown.error, thrown.error_description ?? "", returnTo);
    if (thrown instanceof oauth.ResponseBodyError)
      throw new SignInError(thrown.error, thrown.error_description ?? "", returnTo);
    throw new SignInError("unreachable", "", returnTo);
  }
}

/**
 * Gets new tokens by the refresh token. Undefined if the platform refused it: the session is over. Throws a
 * `PlinthError` if the platform does not answer, or not now.
 */
export async function renew(tokens: Tokens): Promise<Tokens | undefined> {
  if (tokens.refreshToken === undefined) return undefined;
  try {
    const at = await server();
    const sent = await oauth.refreshTokenGrantRequest(at, client(), oauth.None(), tokens.refreshToken, insecure());
    return tokensOf(await oauth.processRefreshTokenResponse(at, client(), sent), tokens);
  } catch (thrown) {
    if (!(thrown instanceof oauth.ResponseBodyError)) throw noAnswer(thrown, "");
    const { error: type, status, error_description: message = "" } = thrown;
    if (type === "invalid_grant") return undefined;
    throw new PlinthError({ status, type, message });
  }
}

/** The address that ends the session at the platform too, and returns to the sign-in page. */
export async function endSessionUrl(): Promise<string> {
  const { end_session_endpoint: endpoint = "" } = await server();
  const url = new URL(endpoint);
  url.searchParams.set("client_id", configNow().clientId);
  url.searchParams.set("post_logout_redirect_uri", `${location.origin}${CONSOLE_PATH}/sign-in`);
  return url.href;
}

function tokensOf(body: oauth.TokenEndpointResponse, before: Tokens | undefined): Tokens {
  return {
    accessToken: body.access_token,
    refreshToken: body.refresh_token ?? before?.refreshToken,
    endsMs: Date.now() + (body.expires_in ?? 300) * 1_000,
  };
}

/** The user and the scopes of a token. */
export async function holderOf({ accessToken }: Tokens): Promise<{ user: string; scopes: readonly string[] }> {
  const answer = await fetch(`${configNow().issuer}/tokeninfo?${new URLSearchParams({ access_token: accessToken })}`);
  if (!answer.ok) throw new Error(`tokeninfo: ${answer.status}`);
  const { user = "", scopes } = (await answer.json()) as { user?: string; scopes: readonly string[] };
  return { user, scopes };
}
