import { keepResponse, readJson, type Answer, type JsonAnswer } from "./answer.ts";
import type { TokenSource } from "./credentials.ts";
import { checkAddress, errorFrom, InvalidRequestError, isAddress, noAnswer, PlinthError } from "./errors.ts";
import { backoffMs, timeLimit, wait } from "./wait.ts";

export interface TransportOptions {
  /** The platform's address, with its path prefix. */
  readonly url: string;
  readonly tokens: TokenSource;
  readonly fetch: typeof globalThis.fetch;
  /** How often a request that may be repeated is sent; 5 by default. */
  readonly attempts: number;
  /** The longest wait for one answer, with its body unless that is a stream; 30 s by default. */
  readonly timeoutMs: number;
  /** Waits before a request is sent again. */
  readonly pause?: typeof wait;
}

export interface Ask {
  readonly query?: Readonly<Record<string, QueryValue>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly json?: unknown;
  readonly signal?: AbortSignal | undefined;
  /** True if sending the request twice does no harm, for example because of an idempotency key. */
  readonly repeatable?: boolean;
  /** Time that the platform may take beyond `timeoutMs`. */
  readonly extraMs?: number;
}

/** A request that can be sent again. */
interface Sent extends Omit<RequestInit, "signal" | "method"> {
  readonly method: string;
  readonly signal?: AbortSignal | undefined;
  readonly extraMs?: number | undefined;
}

export type QueryValue = string | number | boolean | readonly string[] | undefined;

export type Transport = ReturnType<typeof createTransport>;

/** Methods that may be repeated as they are (RFC 9110 9.2.2). */
const REPEATABLE: ReadonlySet<string> = new Set(["GET", "HEAD", "PUT", "DELETE"]);
const MAX_BACKOFF_MS = 10_000;
/** The longest pause. After a longer `Retry-After`, the error goes to the caller. */
const MAX_WAIT_MS = 60_000;

/**
 * Sends requests with a token, and repeats them:
 *
 *   401                once, with a new token
 *   429                after `Retry-After`; nothing was done
 *   503, 502, 504,     after `Retry-After` or a growing random wait, if the request may be repeated
 *   no whole answer
 *
 * An answer whose body breaks off, or does not end in time, is no answer: nobody knows what it would have said.
 */
export function createTransport({ url, tokens, fetch, attempts, timeoutMs, pause = wait }: TransportOptions) {
  /** Sends a request once. `read` reads what must have come before the answer counts. */
  async function once<A extends Answer>(
    address: string,
    { extraMs = 0, signal, ...init }: Sent,
    token: string,
    read: (response: Response) => Promise<A>,
  ): Promise<A | PlinthError> {
    const headers = new Headers(init.headers);
    headers.set("authorization", `Bearer ${token}`);
    const limit = timeLimit(timeoutMs + extraMs, signal);
    try {
      return await read(await fetch(address, { ...init, headers, signal: limit.signal, redirect: "manual" }));
    } catch (thrown) {
      if (signal?.aborted === true) throw thrown;
      return noAnswer(thrown, `${init.method} ${new URL(address).pathname} got no answer.`);
    } finally {
      // A stream that comes after the answer may take longer.
      limit.end();
    }
  }

  /** The first success or redirect, or the result of the last attempt. */
  async function repeat<A extends Answer>(
    address: string,
    sent: Sent,
    mayRepeat: boolean,
    read: (response: Response) => Promise<A>,
  ): Promise<A | PlinthError> {
    const { signal } = sent;
    let renewed = false;
    for (let attempt = 1; ; attempt++) {
      const token = await tokens.get(signal);
      const answer = await once(address, sent, token, read);
      if (!(answer instanceof PlinthError) && answer.status < 400) return answer;
      const error = answer instanceof PlinthError ? answer : errorFrom(answer);
      if (error.status === 401 && !renewed) {
        renewed = true;
        attempt -= 1;
        tokens.refuse(token);
        continue;
      }
      const waitMs = Math.max(error.retryAfterMs ?? 0, backoffMs(attempt, 250, MAX_BACKOFF_MS));
      const passes = error.status === 429 || (mayRepeat && isPassing(error));
      if (!passes || attempt >= attempts || waitMs > MAX_WAIT_MS) return answer;
      await pause(waitMs, signal);
    }
  }

  /** The whole answer, if it is a success or a redirect; throws a `PlinthError` otherwise. */
  async function send(method: string, path: string, ask: Ask = {}): Promise<JsonAnswer> {
    const headers: Record<string, string> = { ...ask.headers };
    if (ask.json !== undefined) headers["content-type"] = "application/json";
    const body = ask.json === undefined ? null : JSON.stringify(ask.json);
    const sent = { method: method.toUpperCase(), headers, body, signal: ask.signal, extraMs: ask.extraMs };
    const mayRepeat = ask.repeatable ?? REPEATABLE.has(sent.method);
    const answer = await repeat(addressOf(url, path, ask.query), sent, mayRepeat, readJson);
    if (answer instanceof PlinthError) throw answer;
    if (answer.status >= 400) throw errorFrom(answer);
    return answer;
  }

  /**
   * `fetch` with a token, repeated by the same rules. Returns a refusal as it is; throws without an answer. JSON has
   * come to its end; any other body comes as it is read, without a limit of time.
   */
  async function fetchWithToken(input: string | URL | Request, init: RequestInit = {}): Promise<Response> {
    if (input instanceof Request) throw new TypeError("Give the address and its options, not a Request.");
    // The bytes of a stream are gone after the first attempt.
    if (init.body instanceof ReadableStream) throw new TypeError("A stream cannot be sent again.");
    const { method = "GET", signal, ...rest } = init;
    const sent = { ...rest, method: method.toUpperCase(), signal: signal ?? undefined };
    const mayRepeat = REPEATABLE.has(sent.method) || new Headers(init.headers).has("idempotency-key");
    const answer = await repeat(addressOf(url, String(input)), sent, mayRepeat, keepResponse);
    if (answer instanceof PlinthError) throw answer;
    return answer.response;
  }

  return {
    send,
    fetch: fetchWithToken,
    /** The JSON of the answer; undefined without a body. */
    async json<T>(method: string, path: string, ask: Ask = {}): Promise<T> {
      const { body } = await send(method, path, ask);
      return body as T;
    },
    /** The entries of a list. A page is requested when its entries are needed. */
    async *pages<T>(path: string, ask: Ask = {}): AsyncGenerator<T, void, undefined> {
      let next: string | undefined = addressOf(url, path, ask.query);
      while (next !== undefined) {
        const { query: _, ...rest } = ask;
        const { body, headers }: JsonAnswer = await send("GET", next, rest);
        yield* body as T[];
        next = nextOf(headers.get("link") ?? "");
      }
    },
  };
}

const isPassing = ({ status }: PlinthError): boolean =>
  status === 0 || status === 502 || status === 503 || status === 504;

function addressOf(url: string, path: string, query: Ask["query"] = {}): string {
  checkAddress(url);
  if (!path.startsWith("/") && !isAddress(path)) throw new TypeError(`${path} is no path: it must begin with /.`);
  const address = new URL(path.startsWith("/") ? `${url}${path}` : path);
  // Sends the token only to the platform, even if a link leads elsewhere.
  if (address.origin !== new URL(url).origin) throw new TypeError(`${address.origin} is not the platform.`);
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || (Array.isArray(value) && value.length === 0)) continue;
    address.searchParams.set(name, Array.isArray(value) ? value.join(",") : String(value));
  }
  return address.href;
}

/**
 * One name in a path. Throws for what would lead elsewhere, such as an empty one: a missing file counts as deleted, and
 * a missing topic too.
 */
export function segment(what: string, name: string): string {
  if (typeof name === "string" && !/^\.{0,2}$/.test(name)) return encodeURIComponent(name);
  const message = `${JSON.stringify(name)} is no ${what}.`;
  throw new InvalidRequestError({ status: 400, type: "validation_violation", message });
}

/** The link to the next page (RFC 8288). */
export function nextOf(header: string): string | undefined {
  for (const [, address, parameters = ""] of header.matchAll(/<([^>]*)>([^<]*)/g))
    if (/;\s*rel="?next"?/i.test(parameters)) return address;
  return undefined;
}
