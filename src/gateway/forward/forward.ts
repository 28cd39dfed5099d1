import { carryBody, type BodyFault } from "./request-body.ts";
import { LIMITS } from "../model/limits.ts";
import type { MadeHeaders } from "../model/headers.ts";
import { watchdog, type Watchdog } from "../model/watchdog.ts";

/** One call of a service. */
export interface Forwarding {
  readonly target: string;
  readonly method: string;
  readonly headers: MadeHeaders;
  readonly body: ReadableStream<Uint8Array> | null;
  /** Of the body as declared; undefined for one that comes in chunks. */
  readonly lengthBytes: number | undefined;
  /** How long the service may take to its headers, and to take a piece of the body. */
  readonly timeoutMs: number;
}

export type Forwarded = {
  /** To be awaited before the answer ends, where the service had not taken the whole body (request-body.ts). */
  readonly rest?: (() => Promise<void>) | undefined;
} & (
  | {
      readonly kind: "answered";
      readonly response: Response;
      /** Breaks the call off where the service is waited for too long. */
      readonly patience: Watchdog;
    }
  /** There was no connection to the service, or the service itself says so (breaker/breaker.ts). */
  | { readonly kind: "unreached"; readonly why: string }
  /** It came to nothing after that, or may have. */
  | { readonly kind: "failed"; readonly why: string }
  /** The connection was lost under the body. The service may have answered; the runtime keeps that to itself. */
  | { readonly kind: "cut short"; readonly why: string }
  | { readonly kind: "caller's fault"; readonly fault: BodyFault }
);

/**
 * What Cloudflare answers in the place of an origin: the call gives an answer, and yet there was no service. It could not
 * reach it: refused, too late, no route, TLS, DNS. Or, 520, it could not make sense of what came. The runtime's own errors
 * do not tell a connection that was refused from one that was lost. A service may answer with these statuses too.
 */
const UNREACHED: ReadonlySet<number> = new Set([521, 522, 523, 525, 526, 530]);
const NOT_UNDERSTOOD = 520;

/**
 * Sends a request on, once, and waits for the headers of the answer; redirects are answers like others. The time runs
 * while the service is waited for, and not while the caller's body is: a slow caller is no fault of the service.
 */
export async function forward(sent: Forwarding): Promise<Forwarded> {
  const controller = new AbortController();
  const patience = watchdog(sent.timeoutMs, () => controller.abort(new Error(`nothing for ${sent.timeoutMs} ms`)));
  let isOver = false;
  patience.begin();
  const carried =
    sent.body === null
      ? undefined
      : carryBody(sent.body, sent.lengthBytes, {
          maxBytes: LIMITS.requestBodyBytes,
          callerIdleMs: LIMITS.callerIdleMs,
          waitsFor(whom) {
            if (isOver) return;
            if (whom === "service") patience.begin();
            else patience.end();
          },
          abort: () => controller.abort(),
        });
  try {
    const response = await fetch(sent.target, {
      method: sent.method,
      headers: sent.headers,
      body: carried?.stream ?? null,
      redirect: "manual",
      signal: controller.signal,
      // Kept by nobody on the way, as `cache: "no-store"` has it, which would send a `Cache-Control` of its own along.
      cf: { cacheTtl: -1 },
    });
    const { status } = response;
    if (!UNREACHED.has(status) && status !== NOT_UNDERSTOOD)
      return { kind: "answered", response, patience, rest: carried?.isTaken() === false ? carried.rest : undefined };
    response.body?.cancel().catch(() => undefined);
    carried?.giveUp();
    const kind = status === NOT_UNDERSTOOD ? "failed" : "unreached";
    return { kind, why: `status ${status} in the service's place`, rest: carried?.rest };
  } catch (thrown) {
    carried?.giveUp();
    const rest = carried?.rest;
    const fault = carried?.fault();
    if (fault !== undefined) return { kind: "caller's fault", fault, rest };
    if (controller.signal.aborted) return { kind: "failed", why: `no headers in ${sent.timeoutMs} ms`, rest };
    return { kind: carried?.isTaken() === false ? "cut short" : "failed", why: String(thrown), rest };
  } finally {
    isOver = true;
    patience.end();
  }
}
