import { readJson } from "./answer.ts";
import { errorFrom, noAnswer, PlinthError } from "./errors.ts";
import { backoffMs, wait } from "./wait.ts";

/**
 * The source of access tokens. A service gives a client id and a secret. A browser gives a function that returns the
 * token of the signed-in person, for example from oidc-client-ts.
 */
export type Credentials = ClientCredentials | TokenFunction;

export interface ClientCredentials {
  readonly clientId: string;
  readonly clientSecret: string;
  /** Scopes to ask for; absent: all that the client may have. */
  readonly scope?: string | readonly string[];
}

/** Returns a valid token. `refused`: a token that the platform did not accept, and that must not be returned again. */
export type TokenFunction = (refused?: string) => string | Promise<string>;

export interface TokenSource {
  get(signal?: AbortSignal): Promise<string>;
  /** Notes that the platform refused this token, so that the next one is new. */
  refuse(token: string): void;
}

/** A token is renewed this long before its end, so that it does not expire during a request. */
const EARLY_MS = 60_000;
const ATTEMPTS = 4;

interface TokenSettings {
  readonly fetch: typeof globalThis.fetch;
  /** The longest wait for one answer. */
  readonly timeoutMs: number;
  /** Scopes beside those of the credentials. */
  readonly scopes: readonly string[];
}

export function tokenSource(credentials: Credentials, tokenUrl: string, settings: TokenSettings): TokenSource {
  if (typeof credentials === "function") return fromFunction(credentials);
  return fromClient(credentials, tokenUrl, settings);
}

function fromFunction(credentials: TokenFunction): TokenSource {
  let refused: string | undefined;
  return {
    async get() {
      const token = await credentials(refused);
      refused = undefined;
      return token;
    },
    refuse: (token) => void (refused = token),
  };
}

/**
 * Shares one token among all requests. The first request fetches it, and a request near its end renews it. Concurrent
 * requests share one fetch. If a renewal fails, the old token is used until it ends.
 */
function fromClient(
  { clientId, clientSecret, scope = [] }: ClientCredentials,
  tokenUrl: string,
  { fetch, timeoutMs, scopes: extraScopes }: TokenSettings,
): TokenSource {
  const scopes = [...extraScopes, ...(typeof scope === "string" ? scope.split(" ") : scope)].filter(Boolean);
  let kept: { readonly token: string; readonly endsMs: number; readonly renewMs: number } | undefined;
  let fetching: Promise<string> | undefined;

  async function request(): Promise<string> {
    const body = new URLSearchParams({ grant_type: "client_credentials" });
    if (scopes.length > 0) body.set("scope", scopes.join(" "));
    const pair = [clientId, clientSecret].map(formEncode).join(":");
    for (let attempt = 1; ; attempt++) {
      const answer = await fetch(tokenUrl, {
        method: "POST",
        headers: { authorization: `Basic ${btoa(pair)}`, accept: "application/json" },
        body,
        signal: AbortSignal.timeout(timeoutMs),
      })
        .then(readJson)
        .catch((thrown: unknown) => noAnswer(thrown, `${tokenUrl} does not answer.`));
      if (!(answer instanceof PlinthError) && answer.status < 300) {
        const { access_token: token, expires_in: seconds } = answer.body as Record<string, unknown>;
        const lifeMs = Number(seconds) * 1_000;
        const nowMs = Date.now();
        kept = {
          token: String(token),
          endsMs: nowMs + lifeMs,
          renewMs: nowMs + Math.max(lifeMs - EARLY_MS, lifeMs / 2),
        };
        return kept.token;
      }
      const error = answer instanceof PlinthError ? answer : errorFrom(answer);
      const isPassing = error.status === 0 || error.status === 429 || error.status >= 500;
      if (!isPassing || attempt === ATTEMPTS) throw error;
      await wait(Math.max(error.retryAfterMs ?? 0, backoffMs(attempt, 250, 5_000)));
    }
  }

  return {
    async get() {
      const nowMs = Date.now();
      if (kept !== undefined && nowMs < kept.renewMs) return kept.token;
      fetching ??= request().finally(() => (fetching = undefined));
      const old = kept;
      try {
        return await fetching;
      } catch (thrown) {
        if (old !== undefined && old === kept && Date.now() < old.endsMs) return old.token;
        throw thrown;
      }
    },
    refuse(token) {
      if (kept?.token === token) kept = undefined;
    },
  };
}

/** Encodes a text as a form does (RFC 6749 2.3.1), in characters that `btoa` takes. */
const formEncode = (text: string): string => new URLSearchParams({ "": text }).toString().slice(1);
