import { readJson } from "./answer.ts";
import { checkAddress, errorFrom, noAnswer, PlinthError, UnauthorizedError } from "./errors.ts";
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
/** The shortest time between two renewals that failed. */
const AGAIN_MS = 5_000;
const ATTEMPTS = 4;
/** The longest pause. After a longer `Retry-After`, the error goes to the caller. */
const MAX_WAIT_MS = 60_000;
/** A request that takes longer may never end, so another caller begins one too. */
const SLOW_MS = 5_000;
/** What a step may take beyond its time before it counts as one that will never end. */
const GRACE_MS = 500;
/** How often a caller that waits looks whether another one should begin anew, or whether a late answer has come. */
const LOOK_MS = 250;

interface TokenSettings {
  readonly fetch: typeof globalThis.fetch;
  /** The longest wait for one answer. */
  readonly timeoutMs: number;
}

export const scopesOf = ({ scope = [] }: ClientCredentials): readonly string[] =>
  (typeof scope === "string" ? scope.split(" ") : scope).filter(Boolean);

export function tokenSource(credentials: Credentials, tokenUrl: string, settings: TokenSettings): TokenSource {
  if (typeof credentials === "function") return fromFunction(credentials);
  return fromClient(credentials, tokenUrl, settings);
}

function fromFunction(credentials: TokenFunction): TokenSource {
  let refused: string | undefined;
  return {
    async get(signal) {
      const asked = credentials(refused);
      refused = undefined;
      const token = await unlessAborted(Promise.resolve(asked), signal);
      if (typeof token === "string" && token.trim() !== "") return token;
      const message = "The function for tokens returned none. Is the person still signed in?";
      throw new UnauthorizedError({ status: 401, type: "insufficient_credentials", message });
    },
    refuse: (token) => void (refused = token),
  };
}

interface Kept {
  readonly token: string;
  readonly endsMs: number;
  readonly renewMs: number;
}

/** A request of a token that all callers wait for. */
interface Fetching {
  readonly token: Promise<string>;
  /** It renews a token that is still valid, so nobody waits for it and it is tried once. */
  readonly isRenewal: boolean;
  /**
   * The end of its present step. In a Worker, a request of a token ends without a word together with the request that
   * began it. Then another one begins it anew.
   */
  dueMs: number;
}

/**
 * Shares one token among all requests. The first request fetches it, and one near its end renews it beside. Concurrent
 * requests share one fetch. If a renewal fails, the old token is used until it ends.
 */
function fromClient(
  credentials: ClientCredentials,
  tokenUrl: string,
  { fetch, timeoutMs }: TokenSettings,
): TokenSource {
  const { clientId, clientSecret } = credentials;
  const scopes = scopesOf(credentials);
  let kept: Kept | undefined;
  let fetching: Fetching | undefined;

  async function ask(): Promise<Kept | PlinthError> {
    for (const [name, value] of Object.entries({ clientId, clientSecret }))
      if (typeof value !== "string" || value === "")
        throw new TypeError(`credentials.${name} is missing. Is its environment variable set?`);
    const body = new URLSearchParams({ grant_type: "client_credentials" });
    if (scopes.length > 0) body.set("scope", scopes.join(" "));
    const pair = [clientId, clientSecret].map(formEncode).join(":");
    const answer = await fetch(tokenUrl, {
      method: "POST",
      headers: { authorization: `Basic ${btoa(pair)}`, accept: "application/json" },
      body,
      signal: AbortSignal.timeout(timeoutMs),
    })
      .then(readJson)
      .catch((thrown: unknown) => {
        checkAddress(tokenUrl);
        return noAnswer(thrown, `${tokenUrl} does not answer.`);
      });
    if (answer instanceof PlinthError) return answer;
    if (answer.status >= 300) return errorFrom(answer);
    return tokenIn(answer.body) ?? noAnswer(undefined, `${tokenUrl} gave no token.`);
  }

  async function request(attempts: number, step: (ms: number) => void): Promise<string> {
    for (let attempt = 1; ; attempt++) {
      step(Math.min(timeoutMs, SLOW_MS));
      const answer = await ask();
      if (!(answer instanceof PlinthError)) {
        kept = answer;
        return answer.token;
      }
      const isPassing = answer.status === 0 || answer.status === 429 || answer.status >= 500;
      const waitMs = Math.max(answer.retryAfterMs ?? 0, backoffMs(attempt, 250, 5_000));
      if (!isPassing || attempt >= attempts || waitMs > MAX_WAIT_MS) throw answer;
      step(waitMs);
      await wait(waitMs);
    }
  }

  /** The request that is on its way, or a new one. */
  function share(isRenewal: boolean): Fetching {
    if (fetching !== undefined && Date.now() < fetching.dueMs) return fetching;
    const step = (ms: number): void => void (begun.dueMs = Date.now() + ms + GRACE_MS);
    const begun: Fetching = {
      isRenewal,
      dueMs: Infinity,
      // Begins after this, so that its first step finds it.
      token: Promise.resolve()
        .then(() => request(isRenewal ? 1 : ATTEMPTS, step))
        .finally(() => {
          if (fetching === begun) fetching = undefined;
        }),
    };
    step(SLOW_MS);
    return (fetching = begun);
  }

  async function renewed(signal: AbortSignal | undefined): Promise<string> {
    for (;;) {
      if (kept !== undefined && Date.now() < kept.endsMs) return kept.token;
      const shared = share(false);
      const done = new AbortController();
      const either = signal === undefined ? done.signal : AbortSignal.any([done.signal, signal]);
      try {
        const token = await Promise.race([shared.token, wait(LOOK_MS, either)]);
        if (token !== undefined) return token;
      } catch (thrown) {
        // A renewal is tried once; now it must succeed.
        if (!shared.isRenewal || signal?.aborted === true) throw thrown;
      } finally {
        done.abort();
      }
    }
  }

  function renewBeside(old: Kept): void {
    const notBefore = (ms: number): void => {
      if (kept?.token === old.token) kept = { ...old, renewMs: Date.now() + Math.max(AGAIN_MS, ms) };
    };
    notBefore(0);
    share(true).token.catch((thrown: unknown) => notBefore((thrown as PlinthError).retryAfterMs ?? 0));
  }

  return {
    async get(signal) {
      const nowMs = Date.now();
      if (kept === undefined || nowMs >= kept.endsMs) return renewed(signal);
      const { token } = kept;
      if (nowMs >= kept.renewMs) renewBeside(kept);
      return token;
    },
    refuse(token) {
      if (kept?.token === token) kept = undefined;
    },
  };
}

/** The token of an answer, if it is one. */
function tokenIn(body: unknown): Kept | undefined {
  const { access_token: token, expires_in: seconds } = (body ?? {}) as Record<string, unknown>;
  const lifeMs = Number(seconds ?? Number.NaN) * 1_000;
  if (typeof token !== "string" || token === "" || Number.isNaN(lifeMs)) return undefined;
  const nowMs = Date.now();
  return { token, endsMs: nowMs + lifeMs, renewMs: nowMs + Math.max(lifeMs - EARLY_MS, lifeMs / 2) };
}

/** Waits for work that goes on for others; an aborted signal ends the wait with its reason. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

/** Encodes a text as a form does (RFC 6749 2.3.1), in characters that `btoa` takes. */
const formEncode = (text: string): string => new URLSearchParams({ "": text }).toString().slice(1);
