import {
  ok,
  SUCCESS_CODES,
  type ApiResponse,
  type RequestOpts,
  type SuccessResponse,
  type WithHeaders,
} from "@oazapfts/runtime";
import { getToken, type OAuthError, type TokenResponse } from "../../api/plinth.ts";
import { UserError } from "../../scripts/lib/user-error.ts";
import { UsageError } from "../terminal/usage-error.ts";
import { asFetch, hasJson, send, Unreachable } from "./send.ts";

/**
 * Calls the operator service through the functions of `api/plinth.ts`, which take `opts`: `ok(getTenant("acme",
 * client.opts))`. A refusal throws an `AdminRefusal`, a missing answer an `Unreachable`.
 *
 * GET, PUT and DELETE are retried after a lost connection, a timeout, and 429, 502, 503 and 504, because repeating
 * them does no harm. A POST is sent once: after a lost answer, the person must check what happened. After a 401, which
 * did nothing, the token is replaced and the call sent again, whatever its method. A repeated DELETE that answers 404
 * counts as done. A repeated PUT with a condition may answer 412 because an earlier attempt was carried out.
 */
export interface AdminClient {
  /** The platform's address with its path prefix, without a trailing slash. */
  readonly base: string;
  /** The platform's name, `plat`: the prefix of scopes and headers. */
  readonly platform: string;
  readonly opts: RequestOpts;
}

/** The operator, who can also call as another client if it has that client's secret. */
export interface OperatorClient extends AdminClient {
  /** An access token, for a call that handles refusals itself. */
  bearer(): Promise<string>;
  as(who: Identity): AdminClient;
}

/** The caller: a client, its secret, and the scopes of its tokens. */
export interface Identity {
  readonly id: string;
  readonly secret: string;
  readonly scope: string;
}

export interface RefusalDetail {
  readonly type: string;
  readonly field: string;
  readonly message: string;
}

/** The service refused the call. */
export class AdminRefusal extends UserError {
  override name = "AdminRefusal";
  readonly status: number;
  /** The problem's type, `validation_violation`; empty if the answer did not come from a platform. */
  readonly type: string;
  readonly details: readonly RefusalDetail[];
  /** Identifies the log line. */
  readonly requestId: string;
  /** An earlier attempt of the same call had no answer, so it may have been carried out. */
  readonly isRepeated: boolean;

  constructor(
    status: number,
    type: string,
    message: string,
    details: readonly RefusalDetail[] = [],
    requestId = "",
    isRepeated = false,
  ) {
    super(message);
    this.status = status;
    this.type = type;
    this.details = details;
    this.requestId = requestId;
    this.isRepeated = isRepeated;
  }
}

/** The record is not, or no longer, as the condition of the call says. */
export const isOtherwise = (error: unknown): error is AdminRefusal =>
  error instanceof AdminRefusal && error.status === 412;

export interface AdminClientOptions {
  readonly base: string;
  readonly platform: string;
  /** The operator client's secret. */
  readonly secret?: string;
  /** Instead of a secret: tokens of a person who may operate the platform or an organization. */
  readonly token?: (refused?: string) => Promise<string>;
  /** Limit of one attempt, in milliseconds; 30 s by default. */
  readonly timeoutMs?: number;
  /** Called before a retry, and if an answer takes long, with a sentence for the person at the terminal. */
  onRepeat?(why: string): void;
  /** Pauses between attempts. */
  wait?(ms: number): Promise<void>;
}

const ATTEMPTS = 4;
const FIRST_PAUSE_MS = 250;
/** The longest pause that the client waits by itself. After a longer `Retry-After`, the person decides. */
const LONGEST_PAUSE_MS = 20_000;
const TIMEOUT_MS = 30_000;
/** An answer is late after this part of the limit: 5 s. */
const LATE_PART = 6;
/** Replaces tokens early, so that none expires during a long call. */
const RENEW_BEFORE_MS = 60_000;
const PASSING: readonly number[] = [429, 502, 503, 504];
const SUCCESSES: readonly number[] = SUCCESS_CODES;

interface Token {
  readonly value: string;
  /** By the monotonic clock of the process. */
  readonly goodUntilMs: number;
}

export function createAdminClient(options: AdminClientOptions, who?: Identity): OperatorClient {
  const { base, platform } = options;
  const { id, secret, scope } = who ?? {
    id: `${platform}.operator`,
    secret: options.secret ?? "",
    scope: `${platform}.admin`,
  };
  const timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
  const wait = options.wait ?? ((ms: number) => new Promise<void>((done) => setTimeout(done, ms)));
  let token: Token | undefined;
  let asked: Promise<Token> | undefined;
  let hasAnswered = false;

  /** Says that an answer takes long: a terminal that shows nothing for half a minute seems to hang. */
  function telling(answer: Promise<Response>): Promise<Response> {
    const tell = (): void => options.onRepeat?.(`no answer yet; waiting ${timeoutMs / 1000} s for it`);
    const late = setTimeout(tell, timeoutMs / LATE_PART);
    return answer.finally(() => clearTimeout(late));
  }

  /** Sends one request and retries it while that can help. `repeated`: an earlier attempt may have been carried out. */
  async function attempt(
    url: string,
    request: RequestInit,
    isSafe: boolean,
  ): Promise<{ response: Response; repeated: boolean }> {
    let lost: Unreachable | undefined;
    for (let count = 1, repeated = false; ; count++) {
      let pauseMs = FIRST_PAUSE_MS * 2 ** (count - 1) * (0.75 + Math.random() / 2);
      try {
        const response = await telling(send(url, request, timeoutMs));
        hasAnswered = true;
        if (!PASSING.includes(response.status) || !isSafe || count >= ATTEMPTS) return { response, repeated };
        const askedMs = Number(response.headers.get("retry-after") ?? "0") * 1000;
        if (!(askedMs <= LONGEST_PAUSE_MS)) return { response, repeated };
        pauseMs = Math.max(pauseMs, askedMs);
        options.onRepeat?.(`answered ${response.status}; asking again in ${(pauseMs / 1000).toFixed(1)} s`);
      } catch (error) {
        if (!(error instanceof Unreachable)) throw error;
        // Retrying does not help a platform that never answered: it is not running.
        const canPass = error.kind === "lost" || (error.kind === "refused" && hasAnswered);
        // An earlier attempt may have been carried out, even if nothing listens now.
        if (error.kind === "lost") lost = error;
        if (!canPass || !isSafe || count >= ATTEMPTS) throw lost ?? error;
        options.onRepeat?.(`${error.reason}; asking again in ${(pauseMs / 1000).toFixed(1)} s`);
      }
      repeated = true;
      await wait(pauseMs);
    }
  }

  async function fetchToken(): Promise<Token> {
    const startedMs = performance.now();
    const credentials = [id, secret].map(encodeURIComponent).join(":");
    const { status, data } = await getToken(
      { grant_type: "client_credentials", scope },
      {},
      {
        baseUrl: base,
        headers: { authorization: `Basic ${btoa(credentials)}` },
        // Unlike other POSTs, this one is safe to repeat: a second token does no harm.
        fetch: asFetch(async (url, request) => (await attempt(url, request, true)).response),
      },
    );
    if (status === 401)
      throw new AdminRefusal(
        401,
        "invalid_client",
        who === undefined
          ? `${base} does not take this secret of ${id}: OPERATOR_CLIENT_SECRET must be the one that it was started with, ` +
              "and PLATFORM too."
          : `${base} does not take this secret of ${id}.`,
      );
    // The server at this address may not be a platform.
    const answer = data as Partial<TokenResponse & OAuthError> | undefined;
    if (status !== 200 || typeof answer?.access_token !== "string") {
      const said = answer?.error_description;
      const why = typeof said === "string" ? said : "is this the address of a platform, with its path prefix?";
      throw new AdminRefusal(status, "", `No token from ${base}: it answered ${status}; ${why}`);
    }
    const livesMs = (answer.expires_in ?? 3600) * 1000;
    return { value: answer.access_token, goodUntilMs: startedMs + livesMs - Math.min(RENEW_BEFORE_MS, livesMs / 2) };
  }

  /** Shares one token among concurrent calls; never returns `refused`. */
  async function currentToken(refused?: string): Promise<string> {
    if (options.token !== undefined && who === undefined) return options.token(refused);
    if (token !== undefined && token.value !== refused && performance.now() < token.goodUntilMs) return token.value;
    asked ??= fetchToken().finally(() => (asked = undefined));
    token = await asked;
    return token.value;
  }

  /** Stands in for `fetch` in the generated functions. */
  async function fetchAnswer(url: string, request: RequestInit): Promise<Response> {
    checkPath(url.slice(base.length));
    const { method = "GET", headers } = request;
    const attemptBy = (bearer: string) => {
      const authorized = new Headers(headers);
      authorized.set("authorization", `Bearer ${bearer}`);
      return attempt(url, { ...request, headers: authorized }, method !== "POST");
    };
    const bearer = await currentToken();
    let { response, repeated } = await attemptBy(bearer);
    if (response.status === 401) {
      const second = await attemptBy(await currentToken(bearer));
      response = second.response;
      repeated ||= second.repeated;
    }
    const { status } = response;
    if (status === 404 && method === "DELETE" && repeated) return new Response(null, { status: 204 });
    // A platform answers with JSON, or with an empty 202 or 204. Anything else comes from a proxy.
    const isEmpty = status === 204 || (status === 202 && response.body === null);
    const isStrange = !isEmpty && !hasJson(response);
    if (!SUCCESSES.includes(status) || isStrange) throw await refusalOf(response, platform, url, repeated);
    return response;
  }

  return {
    base,
    platform,
    opts: { baseUrl: base, fetch: asFetch(fetchAnswer) },
    bearer: () => currentToken(),
    as: (other) => createAdminClient(options, other),
  };
}

/** Refuses segments of dots alone, which would lead to another resource. */
function checkPath(pathAndQuery: string): void {
  const [path = ""] = pathAndQuery.split("?");
  const name = path
    .slice(1)
    .split("/")
    .find((segment) => /^\.*$/.test(segment));
  if (name !== undefined) throw new UsageError(`${name === "" ? "An empty text" : name} is the name of nothing.`);
}

/** The platform does not answer at the moment, and will later: after a deployment, for example. */
export const isOutage = (error: unknown): error is Error =>
  (error instanceof Unreachable && error.kind !== "wrong") ||
  (error instanceof AdminRefusal && PASSING.includes(error.status));

/** Turns a 404 into undefined. */
export async function find<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof AdminRefusal && error.status === 404 && error.type !== "") return undefined;
    throw error;
  }
}

/** The query of operations that answer in pages. */
export interface Page {
  readonly pageNumber?: number;
  readonly pageSize?: number;
  readonly cursor?: string;
}
type Answer = WithHeaders<ApiResponse>;

/** Follows the Link header page by page. A page is requested only when the caller wants it. */
export async function* pagesOf<T extends Answer, Query extends Page>(
  ask: (query: Query) => Promise<T>,
  first: Query,
): AsyncGenerator<SuccessResponse<T>> {
  for (let query: Query | undefined = first; query !== undefined;) {
    const answer: Promise<T> = ask(query);
    yield await ok(answer);
    query = nextQuery((await answer).headers) as Query | undefined;
  }
}

/** All rows of a collection, page by page. */
export async function* rowsOf<T extends Answer, Query extends Page>(
  ask: (query: Query) => Promise<T>,
  first: Query,
): AsyncGenerator<RowOf<T>> {
  for await (const page of pagesOf(ask, first)) yield* page as RowOf<T>[];
}

/** All rows as one list, with the largest pages. */
export async function allRows<T extends Answer>(ask: (query: Page) => Promise<T>): Promise<RowOf<T>[]> {
  const rows: RowOf<T>[] = [];
  for await (const row of rowsOf(ask, { pageSize: 1000 })) rows.push(row);
  return rows;
}
type RowOf<T extends Answer> = SuccessResponse<T> extends readonly (infer Row)[] ? Row : never;

/**
 * Reads the query of the `next` link. Its origin and path are those of PUBLIC_URL, which may not be the address that
 * was called.
 */
function nextQuery(headers: Headers): Page | undefined {
  const [, target] = /<([^>]*)>\s*;[^,]*\brel="?next"?/.exec(headers.get("link") ?? "") ?? [];
  return target === undefined ? undefined : Object.fromEntries(new URL(target, "http://any").searchParams);
}

async function refusalOf(
  response: Response,
  platform: string,
  url: string,
  isRepeated: boolean,
): Promise<AdminRefusal> {
  const { status, headers } = response;
  const error = hasJson(response) ? ((await response.json()) as Partial<Record<string, unknown>> | null) : null;
  if (typeof error?.["type"] !== "string") {
    const target = headers.get("location");
    const where = target === null ? "" : ` and points to ${target}`;
    return new AdminRefusal(status, "", `${url} answered ${status}${where}, and not as a platform does: is it one?`);
  }
  const details = Array.isArray(error["details"]) ? (error["details"] as Partial<RefusalDetail>[]) : [];
  return new AdminRefusal(
    status,
    error["type"],
    textOf(error["message"]),
    details.map((one) => ({ type: textOf(one.type), field: textOf(one.field), message: textOf(one.message) })),
    headers.get(`${platform}-request-id`) ?? "",
    isRepeated,
  );
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
