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
 * The operator service as the command line speaks to it: by the functions of `api/plinth.ts`, which take these `opts`,
 * as in `ok(getTenant("acme", client.opts))`. They answer with what was asked for. A refusal is an `AdminRefusal`, no
 * answer an `Unreachable`.
 *
 * A call that leaves the same state however often it arrives (GET, PUT, DELETE) is repeated after a lost connection,
 * after an answer that did not come in time, and after 429, 502, 503 and 504. A POST is sent once: what became of one whose
 * answer was lost is for the person to look up. A token that ended is replaced and the call sent again, whatever it is:
 * with a 401 nothing was done. A DELETE whose repetition finds nothing any more is done.
 */
export interface AdminClient {
  /** The platform's address with its path prefix, without a slash at the end. */
  readonly base: string;
  /** The platform's own prefix, `plat`: of scopes and headers. */
  readonly platform: string;
  readonly opts: RequestOpts;
}

/** The operator, who can also call as another client, whose secret it has. */
export interface OperatorClient extends AdminClient {
  as(who: Identity): AdminClient;
}

/** Who calls: a client, its secret, and the scopes of its tokens. */
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
const SUCCESSES: readonly number[] = SUCCESS_CODES;

interface Token {
  readonly value: string;
  /** By the process's own clock, which nobody sets. */
  readonly goodUntilMs: number;
}

export function createAdminClient(options: AdminClientOptions, who?: Identity): OperatorClient {
  const { base, platform } = options;
  const { id, secret, scope } = who ?? {
    id: `${platform}.operator`,
    secret: options.secret,
    scope: `${platform}.admin`,
  };
  const timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
  const wait = options.wait ?? ((ms: number) => new Promise<void>((done) => setTimeout(done, ms)));
  let token: Token | undefined;
  let asked: Promise<Token> | undefined;
  let hasAnswered = false;

  /** One request, repeated while that can help. `repeated` says that an earlier attempt may have been carried out. */
  async function attempt(
    url: string,
    request: RequestInit,
    isSafe: boolean,
  ): Promise<{ response: Response; repeated: boolean }> {
    for (let count = 1, repeated = false; ; count++) {
      let pauseMs = FIRST_PAUSE_MS * 2 ** (count - 1) * (0.75 + Math.random() / 2);
      try {
        const response = await send(url, request, timeoutMs);
        hasAnswered = true;
        if (!PASSING.includes(response.status) || !isSafe || count >= ATTEMPTS) return { response, repeated };
        const askedMs = Number(response.headers.get("retry-after") ?? "0") * 1000;
        if (!(askedMs <= LONGEST_PAUSE_MS)) return { response, repeated };
        pauseMs = Math.max(pauseMs, askedMs);
        options.onRepeat?.(`answered ${response.status}; asking again in ${(pauseMs / 1000).toFixed(1)} s`);
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
    const credentials = [id, secret].map(encodeURIComponent).join(":");
    const { status, data } = await getToken(
      { grant_type: "client_credentials", scope },
      {},
      {
        baseUrl: base,
        headers: { authorization: `Basic ${btoa(credentials)}` },
        // Unlike other POSTs: a token more does no harm.
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
    // Whatever listens there may answer with anything.
    const answer = data as Partial<TokenResponse & OAuthError> | undefined;
    if (status !== 200 || typeof answer?.access_token !== "string") {
      const said = answer?.error_description;
      const why = typeof said === "string" ? said : "is this the address of a platform, with its path prefix?";
      throw new AdminRefusal(status, "", `No token from ${base}: it answered ${status}; ${why}`);
    }
    const livesMs = (answer.expires_in ?? 3600) * 1000;
    return { value: answer.access_token, goodUntilMs: startedMs + livesMs - Math.min(RENEW_BEFORE_MS, livesMs / 2) };
  }

  /** The same token for all calls at once, another one than `refused`. */
  async function currentToken(refused?: string): Promise<string> {
    if (token !== undefined && token.value !== refused && performance.now() < token.goodUntilMs) return token.value;
    asked ??= fetchToken().finally(() => (asked = undefined));
    token = await asked;
    return token.value;
  }

  /** What the generated functions call for `fetch`. */
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
    // Something in between answered: the platform's own answers are JSON, or 202 or 204 with nothing in them.
    const isEmpty = status === 204 || (status === 202 && response.body === null);
    const isStrange = !isEmpty && !hasJson(response);
    if (!SUCCESSES.includes(status) || isStrange) throw await refusalOf(response, platform, url);
    return response;
  }

  return {
    base,
    platform,
    opts: { baseUrl: base, fetch: asFetch(fetchAnswer) },
    as: (other) => createAdminClient(options, other),
  };
}

/** Dots alone would lead out of the resource that is meant, however they are written. */
function checkPath(pathAndQuery: string): void {
  const [path = ""] = pathAndQuery.split("?");
  const name = path
    .slice(1)
    .split("/")
    .find((segment) => /^\.*$/.test(segment));
  if (name !== undefined) throw new UsageError(`${name === "" ? "An empty text" : name} is the name of nothing.`);
}

/** The answer about what may not be there: undefined. */
export async function find<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof AdminRefusal && error.status === 404 && error.type !== "") return undefined;
    throw error;
  }
}

/** What operations that answer in pages take. */
export interface Page {
  readonly pageNumber?: number;
  readonly pageSize?: number;
  readonly cursor?: string;
}
type Answer = WithHeaders<ApiResponse>;

/** Page after page by the Link header, from that of `first` on. A page is asked for when it is wanted. */
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

/** Every row of a collection, page after page. */
export async function* rowsOf<T extends Answer, Query extends Page>(
  ask: (query: Query) => Promise<T>,
  first: Query,
): AsyncGenerator<RowOf<T>> {
  for await (const page of pagesOf(ask, first)) yield* page as RowOf<T>[];
}

/** The same in one list, by pages as large as there are. */
export async function allRows<T extends Answer>(ask: (query: Page) => Promise<T>): Promise<RowOf<T>[]> {
  const rows: RowOf<T>[] = [];
  for await (const row of rowsOf(ask, { pageSize: 1000 })) rows.push(row);
  return rows;
}
type RowOf<T extends Answer> = SuccessResponse<T> extends readonly (infer Row)[] ? Row : never;

/** The query of the `next` link, whose origin and path are PUBLIC_URL's and need not be those that were asked. */
function nextQuery(headers: Headers): Page | undefined {
  const [, target] = /<([^>]*)>\s*;[^,]*\brel="?next"?/.exec(headers.get("link") ?? "") ?? [];
  return target === undefined ? undefined : Object.fromEntries(new URL(target, "http://any").searchParams);
}

async function refusalOf(response: Response, platform: string, url: string): Promise<AdminRefusal> {
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
  );
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
