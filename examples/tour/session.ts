import { isDeepStrictEqual } from "node:util";
import type { ApiResponse, RequestOpts, WithHeaders } from "@oazapfts/runtime";
import { paint } from "../../scripts/lib/terminal.ts";
import { UserError } from "../../scripts/lib/user-error.ts";
import { exchange, show, TourError, type Answer, type Request } from "./exchange.ts";

/** Options of a request. */
export interface With {
  readonly token?: string;
  readonly headers?: Record<string, string>;
  /** A remark at the end of the row. */
  readonly note?: string;
  /** Prints no row: it is one of many equal ones. */
  readonly quiet?: boolean;
}

export interface Call extends With {
  readonly json?: unknown;
  readonly form?: Record<string, string>;
  readonly bytes?: Uint8Array;
}

/** An answer of the typed client: one of those in the interface document, selected by its status. */
type Answered = WithHeaders<ApiResponse>;

/** Answers with one of the statuses. Pages and redirects are unknown to the client, so those are all alike. */
type OfStatus<R extends Answered, S> = R extends unknown
  ? number extends R["status"]
    ? R
    : Extract<R, { status: S }>
  : never;

export interface Session {
  /** The platform's address with its path prefix. */
  readonly base: string;
  readonly platform: string;
  chapter(title: string): void;
  /** Prints a line that is neither a request nor a comparison. */
  note(text: string): void;
  /**
   * Calls an operation by the typed client and expects the status, or one of several. The result has the type of the
   * interface document: `expect(200, (to) => api.getTenant("demo", to), { token })`.
   */
  expect<R extends Answered, const S extends R["status"]>(
    status: S | readonly S[],
    operation: (to: RequestOpts) => Promise<R>,
    more?: With,
  ): Promise<OfStatus<R, S> & Pick<Answer, "header">>;
  /** Sends a request outside the document, such as a link, and expects `status`. */
  call(status: number, method: string, address: string, call?: Call): Promise<Answer>;
  /** The same, but the caller checks the status. */
  ask(method: string, address: string, call?: Call): Promise<Answer>;
  row(method: string, address: string, status: number | string, tookMs: number, note?: string): void;
  /** Notes a comparison: prints it if it holds, ends the tour if not. */
  same(what: string, actual: unknown, expected: unknown): void;
  holds(what: string, condition: boolean, detail?: unknown): void;
  /** Requires a value that an answer may lack. */
  given<T>(what: string, value: T | null | undefined): T;
  readonly counts: { requests: number; checks: number };
  /** Makes the next request end the tour, with the reason. */
  stop(why: string): void;
}

/** Width of the column of addresses, in characters. */
const WIDTH = 66;

/**
 * Talks to the platform and prints each line. With `stayHome`, links with another origin (PUBLIC_URL) are followed at
 * `origin`, because a local platform is reached by its port. Presigned links are S3's own.
 */
export function createSession(origin: string, pathPrefix: string, platform: string, stayHome: boolean): Session {
  const base = `${origin}${pathPrefix}`;
  const counts = { requests: 0, checks: 0 };
  let chapters = 0;
  let stopped: string | undefined;

  const locate = (address: string): URL => {
    if (address.startsWith("/")) return new URL(`${base}${address}`);
    const url = new URL(address);
    return stayHome && !url.searchParams.has("X-Amz-Signature") ? new URL(`${url.pathname}${url.search}`, origin) : url;
  };
  const placeOf = (address: string): string => harmless(address.replace(base, "") || "/").replaceAll("%40", "@");
  const unexpected = (method: string, address: string, statuses: readonly number[], { status, bytes }: Answer) =>
    new TourError(
      `${method} ${placeOf(address)} answers ${statuses.join(" or ")}`,
      `${status} ${bytes.toString("utf8")}`.trimEnd(),
    );
  const row: Session["row"] = (method, address, status, tookMs, note = "") => {
    const place = shorten(placeOf(address));
    const ok = typeof status === "number" && status < 400;
    const shown = (ok ? paint.green : paint.yellow)(String(status).padEnd(5));
    const time = paint.dim(`${tookMs.toFixed(tookMs < 10 ? 1 : 0)} ms`.padStart(8));
    console.log(`  ${method.padEnd(6)} ${place.padEnd(WIDTH)} ${shown} ${time}  ${paint.dim(note)}`.trimEnd());
  };
  const tell = async (url: URL, request: Request, { quiet, note }: With): Promise<Answer> => {
    if (stopped !== undefined) throw new UserError(stopped);
    const startedMs = performance.now();
    const answer = await exchange(url, request);
    counts.requests++;
    if (quiet !== true) row(request.method, url.href, answer.status, performance.now() - startedMs, note);
    return answer;
  };
  const holds: Session["holds"] = (what, condition, detail) => {
    if (!condition) throw new TourError(what, detail);
    counts.checks++;
    console.log(`  ${paint.green("✓")} ${what}`);
  };
  const session: Session = {
    base,
    platform,
    counts,
    row,
    holds,
    chapter: (title) => console.log(`\n${paint.bold(`${++chapters}. ${title}`)}`),
    stop: (why) => void (stopped = why),
    note: (text) => console.log(`  ${paint.dim(text)}`),
    async expect(status, operation, more = {}) {
      const statuses: readonly number[] = [status].flat();
      let header: Answer["header"] | undefined;
      // Checked here, with the raw body at hand: the client's message for a body without JSON says too little.
      const told: typeof fetch = async (address, { method = "GET", headers, body } = {}) => {
        const url = new URL(address as string);
        const request = { method, headers: new Headers(headers), body: body as Request["body"] };
        const answer = await tell(url, request, more);
        if (!statuses.includes(answer.status)) throw unexpected(method, url.href, statuses, answer);
        if (answer.headers.get("content-type")?.includes("json")) answer.json();
        ({ header } = answer);
        return new Response(answer.bytes.length === 0 ? null : answer.bytes, answer);
      };
      const answered = await operation({ baseUrl: base, headers: headersOf(more), fetch: told });
      return { ...answered, header } as never;
    },
    async ask(method, address, call = {}) {
      const request = { method, headers: headersOf(call), body: bodyOf(call) };
      const answer = await tell(locate(address), request, call);
      // Content has an origin of its own (CONTENT_URL).
      return answer.status === 308 ? tell(new URL(answer.header("location")), request, call) : answer;
    },
    async call(status, method, address, call) {
      const answer = await session.ask(method, address, call);
      if (answer.status !== status) throw unexpected(method, address, [status], answer);
      return answer;
    },
    same(what, actual, expected) {
      if (!isDeepStrictEqual(actual, expected)) throw new TourError(`${what}: ${show(expected)}`, show(actual));
      holds(what, true);
    },
    given(what, value) {
      if (value === null || value === undefined) throw new TourError(what, "nothing");
      return value;
    },
  };
  return session;
}

function headersOf({ token, headers, json }: Call): Headers {
  const all = new Headers(headers);
  if (token !== undefined) all.set("authorization", `Bearer ${token}`);
  if (json !== undefined) all.set("content-type", "application/json");
  return all;
}

const bodyOf = ({ json, form, bytes }: Call): Request["body"] =>
  json === undefined ? (bytes ?? (form && new URLSearchParams(form))) : JSON.stringify(json);

/** Hides tokens and signatures, because a terminal may be shared. */
const harmless = (address: string): string => address.replace(/\b(access_token|token|sig|signature)=[^&]*/g, "$1=…");

const shorten = (place: string): string =>
  place.length <= WIDTH ? place : `${place.slice(0, WIDTH - 25)}…${place.slice(-24)}`;
