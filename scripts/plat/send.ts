import { UserError } from "../lib/user-error.ts";

/** One HTTP exchange of the command line, read to its end. */
export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  /** undefined: no body, or one that is not JSON. */
  readonly json: unknown;
}

/**
 * No answer came. `refused`: nothing listens there, so nothing was done. `lost`: the connection ended, or the answer
 * did not come in time; the request may have been carried out. `wrong`: the address cannot be reached at all.
 */
export class Unreachable extends UserError {
  override name = "Unreachable";
  readonly kind: "refused" | "lost" | "wrong";
  readonly reason: string;

  constructor(kind: Unreachable["kind"], url: string, reason: string) {
    super(`No answer from ${new URL(url).origin}: ${reason}.`);
    this.kind = kind;
    this.reason = reason;
  }
}

const LOST =
  /^(ECONNRESET|EPIPE|ETIMEDOUT|EAI_AGAIN|UND_ERR_(SOCKET|CONNECT_TIMEOUT|HEADERS_TIMEOUT|BODY_TIMEOUT|INFO))$/;

/** Redirects are not followed: they would take the token along. */
export async function send(url: string, request: RequestInit, timeoutMs: number): Promise<Reply> {
  try {
    const signal = AbortSignal.timeout(timeoutMs);
    const response = await fetch(url, { ...request, redirect: "manual", signal });
    const text = await response.text();
    return { status: response.status, headers: response.headers, json: parse(text) };
  } catch (error) {
    throw toUnreachable(error, url, timeoutMs);
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function toUnreachable(error: unknown, url: string, timeoutMs: number): unknown {
  if (!(error instanceof Error)) return error;
  if (error.name === "TimeoutError") return new Unreachable("lost", url, `nothing came within ${timeoutMs / 1000} s`);
  const { cause } = error as { cause?: { code?: string; message?: string } };
  const code = cause?.code ?? "";
  if (code === "ECONNREFUSED") return new Unreachable("refused", url, "nothing listens there");
  if (LOST.test(code)) return new Unreachable("lost", url, `the connection was lost (${code})`);
  if (error.name === "TypeError" || cause !== undefined) {
    const why = code === "ENOTFOUND" ? "there is no such host" : (cause?.message ?? error.message);
    return new Unreachable("wrong", url, why);
  }
  return error;
}
