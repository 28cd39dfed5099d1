import { errorOf, noAnswer } from "./errors.ts";
import { backoffMs, wait } from "./wait.ts";

/**
 * How the SDK gets access tokens. A service has a client id and a secret. A browser has a function that returns the
 * signed-in person's token, for example of oidc-client-ts.
 */
export type Credentials = ClientCredentials | TokenFunction;

export interface ClientCredentials {
  readonly clientId: string;
  readonly clientSecret: string;
  /** Scopes to ask for; absent: all that the client may have. */
  readonly scope?: string | readonly string[];
}

/** Returns a valid token. `refused`: the token that the platform did not accept, so that another one is needed. */
export type TokenFunction = (refused?: string) => string | Promise<string>;

export interface TokenSource {
  get(signal?: AbortSignal): Promise<string>;
  /** The platform refused this token; the next one is a new one. */
  refuse(token: string): void;
}

/** Renews this much before the end, so that a token outlives the request that it is taken for. */
const EARLY_MS = 60_000;
const ATTEMPTS = 4;

export function tokenSource(
  credentials: Credentials,
  tokenUrl: string,
  fetch: typeof globalThis.fetch,
  extraScopes: readonly string[],
): TokenSource {
  if (typeof credentials === "function") return fromFunction(credentials);
  return fromClient(credentials, tokenUrl, fetch, extraScopes);
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
 * One token for all requests, fetched by the first and renewed by whoever needs it near its end. Requests at the same
 * time share one fetch. If a renewal fails, the old token serves until it ends.
 */
function fromClient(
  { clientId, clientSecret, scope = [] }: ClientCredentials,
  tokenUrl: string,
  fetch: typeof globalThis.fetch,
  extraScopes: readonly string[],
): TokenSource {
  const scopes = [...extraScopes, ...(typeof scope === "string" ? scope.split(" ") : scope)].filter(Boolean);
  let kept: { readonly token: string; readonly endsMs: number; readonly renewMs: number } | undefined;
  let fetching: Promise<string> | undefined;

  async function request(): Promise<string> {
    const body = new URLSearchParams({ grant_type: "client_credentials" });
    if (scopes.length > 0) body.set("scope", scopes.join(" "));
    const pair = [clientId, clientSecret].map(formEncode).join(":");
    for (let attempt = 1; ; attempt++) {
      const response = await fetch(tokenUrl, {
        method: "POST",
        headers: { authorization: `Basic ${btoa(pair)}`, accept: "application/json" },
        body,
      }).catch((thrown: unknown) => noAnswer(thrown, `${tokenUrl} does not answer.`));
      if (response instanceof Response && response.ok) {
        const { access_token: token, expires_in: seconds } = (await response.json()) as Record<string, unknown>;
        const lifeMs = Number(seconds) * 1_000;
        const nowMs = Date.now();
        kept = {
          token: String(token),
          endsMs: nowMs + lifeMs,
          renewMs: nowMs + Math.max(lifeMs - EARLY_MS, lifeMs / 2),
        };
        return kept.token;
      }
      const error = response instanceof Response ? await errorOf(response) : response;
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

/** As in a form, and in bytes that `btoa` takes (RFC 6749 2.3.1). */
const formEncode = (text: string): string => new URLSearchParams({ "": text }).toString().slice(1);
