import type { Clock } from "../../platform/runtime/clock.ts";
import { LIMITS } from "../model/limits.ts";

/** Code and reason of a close frame, the same for both ends (RFC 6455 section 7.4). */
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

export interface RelayDeps {
  readonly clock: Clock;
  readonly expiresAtMs: number;
  /** The reason to close before the token expires, if any. Called at intervals. */
  findClosing(): Promise<Closing | undefined>;
}

/** Code of a `close` event if the other side sent none. */
const WITHOUT_CODE = 1005;
/** True for a code that may be sent. Others may be received, such as 1006 for a lost connection. */
const isCode = (code: number): boolean =>
  (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) || (code >= 3000 && code <= 4999);

/**
 * Relays a WebSocket until the token that opened it expires or is revoked. The runtime could relay it alone, but then
 * the gateway could not close it.
 *
 *   caller ◀──▶ returned end │ `own` ◀── relay ──▶ `service`
 *
 * Messages that a side does not read wait in the memory of the runtime, which does not report how many. So each side
 * may send a burst, and then a limited number of bytes a second. A side that sends more ends the WebSocket.
 */
export function relayWebSocket(service: WebSocket, deps: RelayDeps): WebSocket {
  const { 0: callerEnd, 1: own } = new WebSocketPair();
  let isOver = false;
  let timers: readonly ReturnType<typeof setTimeout>[] = [];

  const close = (side: WebSocket, { code, reason }: Closing): void => {
    try {
      if (code === WITHOUT_CODE) side.close();
      else side.close(code, reason);
    } catch {
      // The side is closed already.
    }
  };
  /** Ends the relay. Returns true if it had ended before. */
  const finish = (): boolean => {
    const was = isOver;
    isOver = true;
    timers.forEach(clearTimeout);
    return was;
  };
  const end = (closing: Closing): void => {
    if (finish()) return;
    close(own, closing);
    close(service, closing);
  };
  const relay = (from: WebSocket, to: WebSocket): void => {
    const allows = tokenBucket(deps.clock);
    from.binaryType = "arraybuffer";
    from.addEventListener("message", (event) => {
      const data = event.data as string | ArrayBuffer;
      if (isOver) return;
      if (!allows(bytesOf(data))) return end(CLOSINGS.tooMuch);
      try {
        to.send(data);
      } catch {
        // The socket is closing: its `close` event follows.
      }
    });
    from.addEventListener("close", ({ code, reason }) => {
      if (!finish()) close(to, isCode(code) || code === WITHOUT_CODE ? { code, reason } : CLOSINGS.lost);
    });
    from.addEventListener("error", () => end(CLOSINGS.lost));
    from.accept();
  };
  relay(own, service);
  relay(service, own);

  const check = async (): Promise<void> => {
    // A failed check closes nothing. The next check decides.
    const closing = await deps.findClosing().catch(() => undefined);
    if (closing !== undefined) end(closing);
  };
  timers = [
    setTimeout(() => end(CLOSINGS.expired), Math.max(0, deps.expiresAtMs - deps.clock.nowMs())),
    setInterval(() => void check(), LIMITS.webSocketCheckMs),
  ];
  return callerEnd;
}

const encoder = new TextEncoder();
const bytesOf = (data: string | ArrayBuffer): number =>
  (typeof data === "string" ? encoder.encode(data) : data).byteLength;

/** Cost of each message in addition to its bytes. */
const MESSAGE_BYTES = 64;

/** A token bucket. The function returns whether one more message of this size may pass. */
function tokenBucket(clock: Clock): (sizeBytes: number) => boolean {
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
