import { isDeepStrictEqual } from "node:util";
import { paint } from "../lib/terminal.ts";
import { UserError } from "../lib/user-error.ts";

/** Something is not as it should be; the message says what was expected and what came. */
export class TourError extends UserError {
  override name = "TourError";
}

export interface Call {
  readonly token?: string;
  readonly headers?: Record<string, string>;
  readonly json?: unknown;
  readonly form?: Record<string, string>;
  readonly bytes?: Uint8Array;
  /** Said behind the row. */
  readonly note?: string;
  /** Does not print a row: one of many alike. */
  readonly quiet?: boolean;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Buffer;
  /** The body as JSON; a body that is none fails the tour. */
  json(): any;
  header(name: string): string;
}

export interface Session {
  /** The platform's address with its path prefix. */
  readonly base: string;
  readonly platform: string;
  chapter(title: string): void;
  /** Says something that is neither a request nor a comparison. */
  note(text: string): void;
  /** One request that must be answered with `status`. Redirects are not followed. */
  call(status: number, method: string, address: string, call?: Call): Promise<Answer>;
  /** One request whose status the caller judges. */
  ask(method: string, address: string, call?: Call): Promise<Answer>;
  row(method: string, address: string, status: number | string, tookMs: number, note?: string): void;
  /** A comparison that was made: said when it held, the end of the tour when it did not. */
  same(what: string, actual: unknown, expected: unknown): void;
  holds(what: string, condition: boolean, detail?: unknown): void;
  readonly counts: { requests: number; checks: number };
}

const REQUEST_TIMEOUT_MS = 30_000;
/** Of the column of addresses, in characters. */
const WIDTH = 66;

/**
 * A conversation with the platform, told line by line. Links that name another origin than `origin` (PUBLIC_URL) are
 * asked at `origin` where `stayHome` is set: a local platform is reached by its port. Presigned links are S3's.
 */
export function createSession(origin: string, pathPrefix: string, platform: string, stayHome: boolean): Session {
  const base = `${origin}${pathPrefix}`;
  const counts = { requests: 0, checks: 0 };
  let chapters = 0;

  const locate = (address: string): URL => {
    if (address.startsWith("/")) return new URL(`${base}${address}`);
    const url = new URL(address);
    return stayHome && !url.searchParams.has("X-Amz-Signature") ? new URL(`${url.pathname}${url.search}`, origin) : url;
  };
  const row: Session["row"] = (method, address, status, tookMs, note = "") => {
    const place = shorten(address.replace(base, "") || "/");
    const ok = typeof status === "number" && status < 400;
    const shown = (ok ? paint.green : paint.yellow)(String(status).padEnd(5));
    const time = paint.dim(`${tookMs.toFixed(tookMs < 10 ? 1 : 0)} ms`.padStart(8));
    console.log(`  ${method.padEnd(6)} ${place.padEnd(WIDTH)} ${shown} ${time}  ${paint.dim(note)}`.trimEnd());
  };
  const ask: Session["ask"] = async (method, address, call = {}) => {
    const url = locate(address);
    const startedMs = performance.now();
    const answer = await send(method, url, call);
    counts.requests++;
    if (call.quiet !== true) row(method, url.href, answer.status, performance.now() - startedMs, call.note);
    return answer;
  };
  const holds: Session["holds"] = (what, condition, detail) => {
    if (!condition)
      throw new TourError(`expected: ${what}${detail === undefined ? "" : `\n     got: ${show(detail)}`}`);
    counts.checks++;
    console.log(`  ${paint.green("✓")} ${what}`);
  };

  return {
    base,
    platform,
    counts,
    row,
    ask,
    holds,
    chapter: (title) => console.log(`\n${paint.bold(`${++chapters}. ${title}`)}`),
    note: (text) => console.log(`  ${paint.dim(text)}`),
    async call(status, method, address, call) {
      const answer = await ask(method, address, call);
      if (answer.status === status) return answer;
      throw new TourError(
        `expected: ${method} ${address} answers ${status}\n     got: ${answer.status} ${answer.bytes.toString("utf8").slice(0, 1_000)}`,
      );
    },
    same(what, actual, expected) {
      if (!isDeepStrictEqual(actual, expected))
        throw new TourError(`expected: ${what}: ${show(expected)}\n     got: ${show(actual)}`);
      holds(what, true);
    },
  };
}

async function send(method: string, url: URL, call: Call): Promise<Answer> {
  const headers = new Headers(call.headers);
  if (call.token !== undefined) headers.set("authorization", `Bearer ${call.token}`);
  if (call.json !== undefined) headers.set("content-type", "application/json");
  const body = call.json === undefined ? (call.bytes ?? formOf(call)) : JSON.stringify(call.json);
  const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS);
  let response: Response;
  let bytes: Buffer;
  try {
    response = await fetch(url, { method, headers, body, redirect: "manual", signal });
    bytes = Buffer.from(await response.arrayBuffer());
  } catch (error) {
    const { cause } = error as { cause?: { code?: string } };
    const why =
      cause?.code === "ECONNREFUSED" ? "nothing listens there. Start it first: npm start" : String(cause ?? error);
    throw new TourError(`expected: an answer of ${url.origin}\n     got: ${why}`);
  }
  const text = (): string => bytes.toString("utf8");
  return {
    status: response.status,
    headers: response.headers,
    bytes,
    json() {
      try {
        return JSON.parse(text());
      } catch {
        throw new TourError(`expected: ${method} ${url.pathname} answers JSON\n     got: ${text().slice(0, 300)}`);
      }
    },
    header(name) {
      const value = response.headers.get(name);
      if (value === null) throw new TourError(`expected: ${method} ${url.pathname} answers a header ${name}`);
      return value;
    },
  };
}

const formOf = (call: Call): URLSearchParams | undefined =>
  call.form === undefined ? undefined : new URLSearchParams(call.form);

/** Tokens and signatures are not for a terminal that someone may share. */
const shorten = (address: string): string => {
  const plain = address.replace(/\b(access_token|token|sig|signature)=[^&]*/g, "$1=…");
  return plain.length <= WIDTH ? plain : `${plain.slice(0, WIDTH - 25)}…${plain.slice(-24)}`;
};

function show(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text === undefined ? "nothing" : text.length > 1_000 ? `${text.slice(0, 1_000)}…` : text;
}
