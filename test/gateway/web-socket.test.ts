import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { LIMITS } from "../../src/gateway/model/limits.ts";
import { relayWebSocket, type Closing } from "../../src/gateway/forward/web-socket.ts";
import { systemClock } from "../../src/platform/runtime/clock.ts";

const whyEnd = vi.fn<() => Promise<Closing | undefined>>();

/** The runtime's sockets: the caller's end and the service's end. */
function open(livesMs = 3_600_000) {
  const { 0: service, 1: far } = new WebSocketPair();
  far.accept();
  const expiresAtMs = systemClock.nowMs() + livesMs;
  const caller = relayWebSocket(service, { clock: systemClock, expiresAtMs, findClosing: whyEnd });
  caller.accept();
  for (const side of [caller, far]) side.binaryType = "arraybuffer";
  return { caller, far };
}

const next = <T extends "message" | "close">(side: WebSocket, what: T): Promise<WebSocketEventMap[T]> =>
  new Promise((resolve) => side.addEventListener(what, resolve, { once: true }));

const closeOf = async (side: WebSocket): Promise<readonly [number, string]> => {
  const { code, reason } = await next(side, "close");
  return [code, reason];
};

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date", "setTimeout", "setInterval", "clearTimeout", "clearInterval"] });
  whyEnd.mockReset().mockResolvedValue(undefined);
});
afterEach(() => void vi.useRealTimers());

describe("a WebSocket opened with a token", () => {
  it("relays text and bytes unchanged and in order, both ways", async () => {
    const { caller, far } = open();
    for (const [from, to] of [
      [caller, far],
      [far, caller],
    ] as const) {
      for (const sent of ["hello", "", "長崎", "x".repeat(300_000)]) {
        const came = next(to, "message");
        from.send(sent);
        expect((await came).data).toBe(sent);
      }
      const bytes = next(to, "message");
      from.send(new Uint8Array([0, 255]));
      expect(new Uint8Array((await bytes).data as ArrayBuffer)).toEqual(new Uint8Array([0, 255]));
    }
  });

  it.each<[string, (pair: ReturnType<typeof open>) => readonly [WebSocket, WebSocket]]>([
    ["the caller", ({ caller, far }) => [caller, far]],
    ["the service", ({ caller, far }) => [far, caller]],
  ])("is closed by %s with its code, and leaves no timer", async (_, sidesOf) => {
    for (const [code, reason, heard] of [
      [4001, "bye", [4001, "bye"]],
      [1000, "", [1000, ""]],
      [undefined, undefined, [1005, ""]],
    ] as const) {
      const [from, to] = sidesOf(open());
      const closed = closeOf(to);
      from.close(code, reason);
      expect(await closed).toEqual(heard);
      expect(vi.getTimerCount()).toBe(0);
    }
  });

  // shows: gateway/who-may-call/websockets
  it("ends with the token for both sides, and relays nothing more", async () => {
    const { caller, far } = open(90_000);
    const closed = Promise.all([closeOf(caller), closeOf(far)]);
    vi.advanceTimersByTime(89_999);
    const came = next(far, "message");
    caller.send("in time");
    expect((await came).data).toBe("in time");
    const late = vi.fn<() => void>();
    far.addEventListener("message", late);
    vi.advanceTimersByTime(1);
    expect(await closed).toEqual([
      [1008, "the access token has expired"],
      [1008, "the access token has expired"],
    ]);
    expect([late.mock.calls.length, vi.getTimerCount()]).toEqual([0, 0]);
  });

  // shows: gateway/who-may-call/websockets
  it("ends when the token is found invalid, but not when the check fails", async () => {
    const { caller, far } = open();
    const closed = Promise.all([closeOf(caller), closeOf(far)]);
    whyEnd.mockRejectedValueOnce(new Error("no database"));
    await vi.advanceTimersByTimeAsync(LIMITS.webSocketCheckMs);
    await vi.advanceTimersByTimeAsync(LIMITS.webSocketCheckMs);
    expect(whyEnd).toHaveBeenCalledTimes(2);
    const came = next(caller, "message");
    far.send("still there");
    expect((await came).data).toBe("still there");
    whyEnd.mockResolvedValue({ code: 1008, reason: "revoked" });
    await vi.advanceTimersByTimeAsync(LIMITS.webSocketCheckMs);
    expect(await closed).toEqual([
      [1008, "revoked"],
      [1008, "revoked"],
    ]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("is closed if a side sends more than a burst, but not if it keeps to the rate", async () => {
    const { caller, far } = open();
    const piece = new Uint8Array(LIMITS.webSocketBytesPerSec);
    const took: Promise<unknown>[] = [];
    for (let pieces = 0; pieces < 20; pieces++) {
      vi.setSystemTime(Date.now() + 1_001);
      took.push(next(far, "message"));
      caller.send(piece);
      await took.at(-1);
    }
    const closed = Promise.all([closeOf(caller), closeOf(far)]);
    for (let sentBytes = 0; sentBytes <= LIMITS.webSocketBurstBytes; sentBytes += piece.length) caller.send(piece);
    expect((await closed).map(([code]) => code)).toEqual([1008, 1008]);
  });

  it("counts bytes of a text, not characters", async () => {
    const { caller, far } = open();
    const closed = Promise.all([closeOf(caller), closeOf(far)]);
    const text = "長".repeat(LIMITS.webSocketBurstBytes / 3 / 4);
    const came: unknown[] = [];
    far.addEventListener("message", ({ data }) => came.push(data));
    for (let times = 0; times < 5; times++) caller.send(text);
    expect((await closed).map(([code]) => code)).toEqual([1008, 1008]);
    expect(came).toHaveLength(3);
  });
});
