import { UserError } from "../lib/user-error.ts";
import { send, Unreachable, type Reply } from "./send.ts";

/**
 * The operator service (`/admin/v1`) as the command line speaks to it.
 *
 * A call that leaves the same state however often it arrives (GET, PUT, DELETE) is repeated after a lost connection,
 * after an answer that did not come in time, and after 429, 502, 503 and 504. A POST is sent once: what became of one whose
 * answer was lost is for the person to look up. A token that ended is replaced and the call sent again, whatever it is:
 * with a 401 nothing was done.
 */
export interface AdminClient {
  /** The platform's address with its path prefix, without a slash at the end. */
  readonly base: string;
  /** The platform's own prefix, `plat`: of scopes and headers. */
  readonly platform: string;
  /**
   * One call of `path` (`/tenants/acme`, below `/admin/v1`). A refusal is an `AdminRefusal`, no answer an `Unreachable`.
   * `body` is sent as JSON; an answer without one has `undefined`. The status of a DELETE whose repetition found
   * nothing any more is 204.
   */
  call<T = unknown>(method: Method, path: string, body?: unknown): Promise<AdminAnswer<T>>;
  /** GET of what may not be there: undefined. */
  find<T = unknown>(path: string): Promise<T | undefined>;
  /** Every row of a collection, page after page by its Link header. A page is asked for when its first row is. */
  list<T = unknown>(path: string): AsyncIterable<T>;
}

export type Method = "GET" | "PUT" | "POST" | "DELETE";

export interface AdminAnswer<T> {
  readonly status: number;
  readonly body: T;
  readonly headers: Headers;
}

export interface RefusalDetail {
  readonly type: string;
  readonly field: string;
  readonly message: string;
}

/** The service's answer was a refusal (contract 1.2). */
export class AdminRefusal extends UserError {
  override name = "AdminRefusal";
  readonly status: number;
  /** `validation_violation`; empty where the answer was not the platform's. */
  readonly type: string;
  readonly details: readonly RefusalDetail[];
  /** Finds the log line. */
  readonly requestId: string;

  constructor(status: number, type: string, message: string, details: readonly RefusalDetail[] = [], requestId = "") {
    super(message);
    this.status = status;
    this.type = type;
    this.details = details;
    this.requestId = requestId;
  }
}

export interface AdminClientOptions {
  readonly base: string;
  readonly platform: string;
  /** Of the operator client. */
  readonly secret: string;
  /** Of one attempt, in milliseconds; 30 s. */
  readonly timeoutMs?: number;
  /** Told before a call is repeated, in words for the person at the terminal. */
  onRepeat?(why: string): void;
  /** The pause between attempts. */
  wait?(ms: number): Promise<void>;
}

const ATTEMPTS = 4;
const FIRST_PAUSE_MS = 250;
/** A longer wait is the person's decision. */
const LONGEST_PAUSE_MS = 20_000;
const TIMEOUT_MS = 30_000;
/** Before its end a token is not good for a call that is under way for long. */
const RENEW_BEFORE_MS = 60_000;
const PASSING: readonly number[] = [429, 502, 503, 504];

interface Token {
  readonly value: string;
  /** By the process's own clock, which nobody sets. */
  readonly goodUntilMs: number;
}

export function createAdminClient(options: AdminClientOptions): AdminClient {
  const { base, platform, secret } = options;
  const timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
  const wait = options.wait ?? ((ms: number) => new Promise<void>((done) => setTimeout(done, ms)));
  let token: Token | undefined;
  let asked: Promise<Token> | undefined;
  let hasAnswered = false;

  /** One request, repeated while that can help. `repeated` says that an earlier attempt may have been carried out. */
  async function attempt(
    url: string,
    request: () => Promise<RequestInit>,
    isSafe: boolean,
  ): Promise<Reply & { repeated: boolean }> {
    for (let count = 1, repeated = false; ; count++) {
      let pauseMs = FIRST_PAUSE_MS * 2 ** (count - 1) * (0.75 + Math.random() / 2);
      try {
        const reply = await send(url, await request(), timeoutMs);
        hasAnswered = true;
        if (!PASSING.includes(reply.status) || !isSafe || count >= ATTEMPTS) return { ...reply, repeated };
        const askedMs = Number(reply.headers.get("retry-after") ?? "0") * 1000;
        if (!(askedMs <= LONGEST_PAUSE_MS)) return { ...reply, repeated };
        pauseMs = Math.max(pauseMs, askedMs);
        options.onRepeat?.(`answered ${reply.status}; asking again in ${(pauseMs / 1000).toFixed(1)} s`);
      } catch (error) {
        if (!(error instanceof Unreachable)) throw error;
        // Where nothing ever answered nothing is started by waiting for it.
        const canPass = error.kind === "lost" || (error.kind === "refused" && hasAnswered);
        if (!canPass || !isSafe || count >= ATTEMPTS) throw error;
        options.onRepeat?.(`${error.reason}; asking again in ${(pauseMs / 1000).toFixed(1)} s`);
      }
      repeated = true;
      await wait(pauseMs);
    }
  }

  async function fetchToken(): Promise<Token> {
    const startedMs = performance.now();
    const credentials = [`${platform}.operator`, secret].map(encodeURIComponent).join(":");
    const reply = await attempt(
      `${base}/oauth2/v1/token`,
      async () => ({
        method: "POST",
        headers: { authorization: `Basic ${btoa(credentials)}`, "content-type": "application/x-www-form-urlencoded" },
        body: `grant_type=client_credentials&scope=${platform}.admin`,
      }),
      // Unlike other POSTs: a token more does no harm.
      true,
    );
    const answer = reply.json as
      | { access_token?: unknown; expires_in?: unknown; error_description?: unknown }
      | undefined;
    if (reply.status === 401)
      throw new AdminRefusal(
        401,
        "invalid_client",
        `${base} does not take this secret of ${platform}.operator: OPERATOR_CLIENT_SECRET must be the one that it was ` +
          "started with, and PLATFORM too.",
      );
    if (reply.status !== 200 || typeof answer?.access_token !== "string") {
      const said = answer?.error_description;
      const why = typeof said === "string" ? said : "is this the address of a platform, with its path prefix?";
      throw new AdminRefusal(reply.status, "", `No token from ${base}: it answered ${reply.status}; ${why}`);
    }
    const livesMs = Number(answer.expires_in ?? 3600) * 1000;
    return { value: answer.access_token, goodUntilMs: startedMs + livesMs - Math.min(RENEW_BEFORE_MS, livesMs / 2) };
  }

  /** The same token for all calls at once, another one than `refused`. */
  async function currentToken(refused?: string): Promise<string> {
    if (token !== undefined && token.value !== refused && performance.now() < token.goodUntilMs) return token.value;
    asked ??= fetchToken().finally(() => (asked = undefined));
    token = await asked;
    return token.value;
  }

  async function call<T>(method: Method, path: string, body?: unknown): Promise<AdminAnswer<T>> {
    const url = `${base}/admin/v1${path}`;
    let bearer = await currentToken();
    const request = async (): Promise<RequestInit> => ({
      method,
      headers: {
        authorization: `Bearer ${bearer}`,
        accept: "application/json",
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const isSafe = method !== "POST";
    let reply = await attempt(url, request, isSafe);
    let { repeated } = reply;
    if (reply.status === 401) {
      bearer = await currentToken(bearer);
      reply = await attempt(url, request, isSafe);
      repeated ||= reply.repeated;
    }
    const { status, headers, json } = reply;
    if (status === 404 && method === "DELETE" && repeated) return { status: 204, body: undefined as T, headers };
    // Something in between answered: the platform's own answers are JSON or 204.
    const isStrange = json === undefined && status !== 204;
    if (status < 200 || status > 299 || isStrange) throw refusalOf(reply, platform, url);
    return { status, headers, body: json as T };
  }

  return {
    base,
    platform,
    call,
    async find<T>(path: string) {
      try {
        return (await call<T>("GET", path)).body;
      } catch (error) {
        if (error instanceof AdminRefusal && error.status === 404 && error.type !== "") return undefined;
        throw error;
      }
    },
    async *list<T>(path: string) {
      for (let next: string | undefined = path; next !== undefined;) {
        const { body, headers }: AdminAnswer<readonly T[]> = await call("GET", next);
        yield* body;
        next = nextPage(next, headers);
      }
    },
  };
}

/** The same path with the query of the `next` link: its origin is PUBLIC_URL's, which need not be the one asked. */
export function nextPage(path: string, headers: Headers): string | undefined {
  const [, target] = /<([^>]*)>\s*;[^,]*\brel="?next"?/.exec(headers.get("link") ?? "") ?? [];
  return target === undefined ? undefined : `${path.split("?")[0]}${new URL(target, "http://any").search}`;
}

function refusalOf({ status, headers, json }: Reply, platform: string, url: string): AdminRefusal {
  const error = json as { type?: unknown; message?: unknown; details?: unknown } | undefined;
  if (typeof error?.type !== "string") {
    const target = headers.get("location");
    const where = target === null ? "" : ` and points to ${target}`;
    return new AdminRefusal(status, "", `${url} answered ${status}${where}, and not as a platform does: is it one?`);
  }
  const details = Array.isArray(error.details) ? (error.details as Partial<RefusalDetail>[]) : [];
  return new AdminRefusal(
    status,
    error.type,
    textOf(error.message),
    details.map((one) => ({ type: textOf(one.type), field: textOf(one.field), message: textOf(one.message) })),
    headers.get(`${platform}-request-id`) ?? "",
  );
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
