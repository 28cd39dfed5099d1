import type { OutgoingHeaders } from "../model/headers.ts";
import { LIMITS } from "../model/limits.ts";
import { watchdog, type Watchdog } from "../model/watchdog.ts";
import { relayBody, type BodyFault } from "./request-body.ts";

/** A call to a service. */
export interface ForwardRequest {
  readonly target: string;
  readonly method: string;
  readonly headers: OutgoingHeaders;
  readonly body: ReadableStream<Uint8Array> | null;
  /** The declared length of the body; undefined for a chunked one. */
  readonly lengthBytes: number | undefined;
  /** Maximum wait for the service's headers, and for the service to take a piece of the body. */
  readonly timeoutMs: number;
}

export type ForwardResult = {
  /** Await it before the response ends, since the caller may still be sending its body (request-body.ts). */
  readonly settled?: (() => Promise<void>) | undefined;
} & (
  | {
      readonly kind: "answered";
      readonly response: Response;
      /** Aborts the call if the service takes too long. */
      readonly deadline: Watchdog;
      /** True once the caller broke off its body, which aborts the call. */
      readonly isCallersFault: () => boolean;
    }
  /** No connection to the service, or a response of the service that says so (breaker.ts). */
  | { readonly kind: "unreached"; readonly reason: string }
  /** The call failed, and the connection may have been open. */
  | { readonly kind: "failed"; readonly reason: string }
  /** The connection was lost while the body was sent. The service may have answered; the runtime does not report it. */
  | { readonly kind: "cut short"; readonly reason: string }
  | { readonly kind: "caller's fault"; readonly fault: BodyFault }
);

/**
 * Cloudflare's statuses for an origin that it cannot reach: connection refused or timed out, no route, TLS, DNS. 520 is
 * for a response that it cannot read. `fetch` returns a response with the status. The errors that it throws do not tell
 * a refused connection from a lost one. A service may send these statuses too.
 */
const UNREACHED: ReadonlySet<number> = new Set([521, 522, 523, 525, 526, 530]);
const UNREADABLE = 520;

/**
 * Sends a request once and waits for the headers of the response; a redirect is a response like any other. Only the
 * time of waiting for the service counts: a slow caller is not the service's fault.
 */
export async function forward(request: ForwardRequest): Promise<ForwardResult> {
  const { timeoutMs } = request;
  const controller = new AbortController();
  const deadline = watchdog(timeoutMs, () => controller.abort(new Error(`nothing for ${timeoutMs} ms`)));
  let isOver = false;
  deadline.begin();
  const body =
    request.body === null
      ? undefined
      : relayBody(request.body, request.lengthBytes, {
          maxBytes: LIMITS.requestBodyBytes,
          callerIdleMs: LIMITS.callerIdleMs,
          onWaitFor(side) {
            if (isOver) return;
            if (side === "service") deadline.begin();
            else deadline.end();
          },
          abort: () => controller.abort(),
        });
  const settled = body?.settled;
  try {
    const response = await fetch(request.target, {
      method: request.method,
      headers: request.headers,
      body: body?.stream ?? null,
      redirect: "manual",
      signal: controller.signal,
      // Bypasses the cache. `cache: "no-store"` would too, but sends a `Cache-Control` header to the service.
      cf: { cacheTtl: -1 },
    });
    const { status } = response;
    if (!UNREACHED.has(status) && status !== UNREADABLE) {
      const isCallersFault = (): boolean => body?.fault() !== undefined;
      const wait = body?.isSent() === false ? settled : undefined;
      return { kind: "answered", response, deadline, isCallersFault, settled: wait };
    }
    response.body?.cancel().catch(() => undefined);
    body?.abandon();
    const reason = `status ${status} in the service's place`;
    return { kind: status === UNREADABLE ? "failed" : "unreached", reason, settled };
  } catch (thrown) {
    body?.abandon();
    const fault = body?.fault();
    if (fault !== undefined) return { kind: "caller's fault", fault, settled };
    if (controller.signal.aborted) return { kind: "failed", reason: `no headers in ${timeoutMs} ms`, settled };
    return { kind: body?.isSent() === false ? "cut short" : "failed", reason: String(thrown), settled };
  } finally {
    isOver = true;
    deadline.end();
  }
}
