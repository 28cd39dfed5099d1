import type { Clock } from "../../platform/clock.ts";
import { LIMITS } from "../model/limits.ts";

/** How a WebSocket is closed, as both of its ends are told (RFC 6455 section 7.4). */
export interface Closing {
  readonly code: number;
  readonly reason: string;
}

export const CLOSINGS = {
  expired: { code: 1008, reason: "the access token has expired" },
  ended: { code: 1008, reason: "the access token is not valid any more" },
  gone: { code: 1001, reason: "the service is not here any more" },
  unknown: { code: 1013, reason: "the access token cannot be checked at the moment" },
  tooMuch: { code: 1008, reason: "more than the gateway passes on in so short a time" },
  lost: { code: 1011, reason: "the other side broke off" },
} as const satisfies Record<string, Closing>;

export interface WebSocketWatch {
  readonly clock: Clock;
  readonly expiresAtMs: number;
  /** Asked again and again: why it has to end now, before that. */
  whyEnd(): Promise<Closing | undefined>;
}

/** What a `close` event says where no code came. */
const WITHOUT_CODE = 1005;
/** Codes that may be sent: with any other one nothing can be closed. They come all the same, 1006 where a side was lost. */
const isCode = (code: number): boolean =>
  (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) || (code >= 3000 && code <= 4999);

/**
 * A WebSocket that ends when the token does by which it was opened. The runtime would carry one by itself, and nobody could
 * end it then; so its messages pass through here, and both sides are closed at the token's end, or when it is found to be
 * worth nothing any more.
 *
 *   caller ◀──▶ what is returned │ `own` ◀── here ──▶ `service`
 *
 * What a side does not take waits in the runtime, which does not say how much that is. So each side may send a burst, and
 * then so much a second: what can wait has a limit per second, and none that a fast reader would notice.
 */
export function carryWebSocket(service: WebSocket, watch: WebSocketWatch): WebSocket {
  const { 0: callers, 1: own } = new WebSocketPair();
  let isOver = false;
  let timers: readonly ReturnType<typeof setTimeout>[] = [];

  const close = (side: WebSocket, { code, reason }: Closing): void => {
    try {
      if (code === WITHOUT_CODE) side.close();
      else side.close(code, reason);
    } catch {
      // It is closed already.
    }
  };
  const over = (): boolean => {
    const was = isOver;
    isOver = true;
    timers.forEach(clearTimeout);
    return was;
  };
  const end = (closing: Closing): void => {
    if (over()) return;
    close(own, closing);
    close(service, closing);
  };
  const carry = (from: WebSocket, to: WebSocket): void => {
    const allows = allowance(watch.clock);
    from.binaryType = "arraybuffer";
    from.addEventListener("message", (event) => {
      const data = event.data as string | ArrayBuffer;
      if (isOver) return;
      if (!allows(bytesOf(data))) return end(CLOSINGS.tooMuch);
      try {
        to.send(data);
      } catch {
        // It is being closed, which says so by itself.
      }
    });
    from.addEventListener("close", ({ code, reason }) => {
      if (!over()) close(to, isCode(code) || code === WITHOUT_CODE ? { code, reason } : CLOSINGS.lost);
    });
    from.addEventListener("error", () => end(CLOSINGS.lost));
    from.accept();
  };
  carry(own, service);
  carry(service, own);

  const look = async (): Promise<void> => {
    // What cannot be found out ends nothing: the next look may.
    const why = await watch.whyEnd().catch(() => undefined);
    if (why !== undefined) end(why);
  };
  timers = [
    setTimeout(() => end(CLOSINGS.expired), Math.max(0, watch.expiresAtMs - watch.clock.nowMs())),
    setInterval(() => void look(), LIMITS.webSocketLookMs),
  ];
  return callers;
}

const encoder = new TextEncoder();
const bytesOf = (data: string | ArrayBuffer): number =>
  (typeof data === "string" ? encoder.encode(data) : data).byteLength;

/** A message costs its bytes, and something for itself. */
const MESSAGE_BYTES = 64;

/** Whether one more message of this size may pass, of a side that is refilled with time. */
function allowance(clock: Clock): (sizeBytes: number) => boolean {
  let leftBytes: number = LIMITS.webSocketBurstBytes;
  let atMs = clock.nowMs();
  return (sizeBytes) => {
    const nowMs = clock.nowMs();
    const refilled = leftBytes + (Math.max(0, nowMs - atMs) * LIMITS.webSocketBytesPerSec) / 1000;
    atMs = nowMs;
    leftBytes = Math.min(LIMITS.webSocketBurstBytes, refilled) - sizeBytes - MESSAGE_BYTES;
    return leftBytes >= 0;
  };
}
