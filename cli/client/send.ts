import { UserError } from "../../scripts/lib/user-error.ts";

/**
 * No answer came. `refused`: nothing listens there, so nothing was done. `lost`: the connection broke or timed out, so
 * the request may have been carried out. `wrong`: the address cannot be reached at all.
 */
export class Unreachable extends UserError {
  override name = "Unreachable";
  readonly kind: "refused" | "lost" | "wrong";
  readonly reason: string;

  /** `what`: the beginning of the message, which says what got no answer. */
  constructor(kind: Unreachable["kind"], what: string, reason: string) {
    super(`${what}: ${reason}.`);
    this.kind = kind;
    this.reason = reason;
  }
}

const LOST =
  /^(ECONNRESET|EPIPE|ETIMEDOUT|EAI_AGAIN|UND_ERR_(SOCKET|CONNECT_TIMEOUT|HEADERS_TIMEOUT|BODY_TIMEOUT|INFO))$/;

/**
 * Sends one request and reads the whole answer, so that a lost connection shows here. Sets the content type to JSON if
 * the body is JSON, whatever a proxy says. Does not follow redirects, which would take the token along. Throws the
 * reason of the request's own signal.
 */
export async function send(url: string, request: RequestInit, timeoutMs: number): Promise<Response> {
  try {
    const late = AbortSignal.timeout(timeoutMs);
    const signal = request.signal ? AbortSignal.any([late, request.signal]) : late;
    const response = await fetch(url, { ...request, redirect: "manual", signal });
    const text = await response.text();
    const headers = new Headers(response.headers);
    headers.set("content-type", isJson(text) ? JSON_TYPE : "text/plain");
    return new Response(text === "" ? null : text, { status: response.status, headers });
  } catch (error) {
    throw toUnreachable(error, unanswered(url), timeoutMs);
  }
}

/** Adapts a function to the type of `fetch`; the generated functions call it with an address as text. */
export const asFetch =
  (answer: (url: string, request: RequestInit) => Promise<Response>): typeof fetch =>
  (url, request) =>
    answer(url as string, { ...request });

const JSON_TYPE = "application/json";

/** Tells whether an answer of `send` is JSON, as a platform's is. */
export const hasJson = ({ headers }: Response): boolean => headers.get("content-type") === JSON_TYPE;

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const unanswered = (url: string): string => `No answer from ${new URL(url).origin}`;

/**
 * `fetch` for the SDK, which repeats by itself. If one attempt was lost, a later one that is refused counts as lost too,
 * because the first may have been carried out.
 */
export function fetchThatTellsLoss(inner: typeof globalThis.fetch): typeof globalThis.fetch {
  let lost: Unreachable | undefined;
  return async (input, init) => {
    try {
      const response = await inner(input, init);
      lost = undefined;
      return response;
    } catch (error) {
      const found = toUnreachable(error, unanswered(input instanceof Request ? input.url : String(input)));
      if (!(found instanceof Unreachable)) throw found;
      if (found.kind === "lost") lost = found;
      throw lost ?? found;
    }
  };
}

/** The error itself if it is not about a missing answer. */
export function toUnreachable(error: unknown, what: string, timeoutMs?: number): unknown {
  if (!(error instanceof Error)) return error;
  if (error.name === "TimeoutError") {
    const within = timeoutMs === undefined ? "in time" : `within ${timeoutMs / 1000} s`;
    return new Unreachable("lost", what, `nothing came ${within}`);
  }
  const { cause } = error as { cause?: { code?: string; message?: string } };
  const code = cause?.code ?? "";
  if (code === "ECONNREFUSED") return new Unreachable("refused", what, "nothing listens there");
  if (LOST.test(code)) return new Unreachable("lost", what, `the connection was lost (${code})`);
  if (error.name === "TypeError" || cause !== undefined) {
    const why = code === "ENOTFOUND" ? "there is no such host" : (cause?.message ?? error.message);
    return new Unreachable("wrong", what, why);
  }
  return error;
}
