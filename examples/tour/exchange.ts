import { UserError } from "../../scripts/lib/user-error.ts";

/** A wrong result, with the expected and the actual one. */
export class TourError extends UserError {
  override name = "TourError";

  constructor(expected: string, got?: unknown) {
    super(`expected: ${expected}${got === undefined ? "" : `\n     got: ${show(got)}`}`);
  }
}

export interface Request {
  readonly method: string;
  readonly headers: Headers;
  readonly body?: string | Uint8Array | URLSearchParams;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Buffer;
  /** The body as JSON; another body fails the tour. */
  json(): unknown;
  /** A required header. */
  header(name: string): string;
}

const TIMEOUT_MS = 30_000;

/** Sends one request and reads the whole answer. A redirect is an answer. */
export async function exchange(url: URL, { method, headers, body }: Request): Promise<Answer> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  let response: Response;
  let bytes: Buffer;
  try {
    response = await fetch(url, { method, headers, body, redirect: "manual", signal });
    bytes = Buffer.from(await response.arrayBuffer());
  } catch (error) {
    const { cause } = error as { cause?: { code?: string } };
    const why =
      cause?.code === "ECONNREFUSED" ? "nothing listens there. Start it first: npm start" : String(cause ?? error);
    throw new TourError(`an answer of ${url.origin}`, why);
  }
  return {
    status: response.status,
    headers: response.headers,
    bytes,
    json() {
      const text = bytes.toString("utf8");
      try {
        return JSON.parse(text);
      } catch {
        throw new TourError(`${method} ${url.pathname} answers JSON`, text);
      }
    },
    header(name) {
      const value = response.headers.get(name);
      if (value === null) throw new TourError(`${method} ${url.pathname} answers a header ${name}`);
      return value;
    },
  };
}

/** Shortens a text. */
const SHOWN = 1_000;

export function show(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text === undefined ? "nothing" : text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
}
