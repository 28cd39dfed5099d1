import * as fc from "fast-check";
import { Webhook } from "standardwebhooks";
import { describe, expect, it } from "vitest";
import { idOf } from "../../../src/events/log/segments.ts";
import { DELIVERY } from "../../../src/events/model/limits.ts";
import {
  answered,
  askedToWait,
  pausedUntilMs,
  withoutPause,
  unanswered,
  windowSize,
} from "../../../src/platform/delivery/endpoint-health.ts";
import { healthy, type Health } from "../../../src/events/push/endpoint-health.ts";
import { EventTexts } from "../../../src/events/push/ingest.ts";
import { signWebhook } from "../../../src/events/push/request.ts";
import {
  errorOf,
  judge,
  readRetryAfter,
  wasReached,
  type EndpointResponse,
  type Verdict,
} from "../../../src/platform/delivery/response.ts";
import { afterAttempt, type AfterAttempt } from "../../../src/platform/delivery/retry-schedule.ts";
import { toBase64, utf8 } from "../../../src/platform/text/encoding.ts";
import { runs } from "../../support/model-runs.ts";
import { anyText } from "../../support/any-text.ts";
import { HOUR_MS } from "../../../src/platform/runtime/clock.ts";

const NOW = Date.UTC(2026, 10, 20, 12);
const answer = (status: number, retryAfter: string | null = null): EndpointResponse => ({
  kind: "answered",
  status,
  retryAfter,
});

describe("the meaning of a response", () => {
  const verdictOf = (given: EndpointResponse): string => {
    const verdict = judge(given, NOW);
    return verdict.kind === "later" ? `later ${verdict.atMs - NOW}` : verdict.kind;
  };

  it.each<[EndpointResponse, string, string | undefined]>([
    [answer(200), "delivered", undefined],
    [answer(299, "9"), "delivered", undefined],
    [answer(301), "failed", "redirect"],
    [answer(304), "failed", "redirect"],
    [answer(400), "failed", "status"],
    [answer(410), "unwanted", "status"],
    [answer(410, "5"), "unwanted", "status"],
    [answer(429), "failed", "status"],
    [answer(429, "30"), "later 30000", "status"],
    [answer(503, "30"), "later 30000", "status"],
    [answer(503, "soon"), "failed", "status"],
    [answer(500, "30"), "failed", "status"],
    [answer(404, "30"), "failed", "status"],
    [answer(520), "failed", "unreachable"],
    [answer(522), "failed", "timeout"],
    [answer(524), "failed", "timeout"],
    [answer(526), "failed", "unreachable"],
    [answer(530), "failed", "unreachable"],
    [answer(529), "failed", "status"],
    [{ kind: "timeout" }, "failed", "timeout"],
    [{ kind: "unreachable" }, "failed", "unreachable"],
    [{ kind: "refused" }, "failed", "refused"],
  ])("is right for %o", (given, verdict, error) => {
    expect(verdictOf(given)).toBe(verdict);
    expect(errorOf(given)).toBe(error);
  });

  it("delivers for 2xx alone", () => {
    fc.assert(
      fc.property(fc.integer({ min: 200, max: 599 }), fc.option(fc.string()), (status, retryAfter) => {
        const delivered = judge(answer(status, retryAfter), NOW).kind === "delivered";
        expect(delivered).toBe(status < 300);
        expect(errorOf(answer(status, retryAfter)) === undefined).toBe(delivered);
        expect(wasReached(answer(status, retryAfter))).toBe(
          status < 520 || status === 528 || status === 529 || status > 530,
        );
      }),
    );
  });
});

describe("Retry-After", () => {
  it.each<[string | null, number | undefined]>([
    [null, undefined],
    ["", undefined],
    ["0", 1000],
    ["1", 1000],
    [" 120 ", 120_000],
    ["86401", 86_400_000],
    ["9".repeat(400), 86_400_000],
    ["-1", undefined],
    ["1.5", undefined],
    ["1e3", undefined],
    ["5, 10", undefined],
    ["Fri, 20 Nov 2026 12:01:00 GMT", 60_000],
    ["Friday, 20-Nov-26 12:01:00 GMT", 60_000],
    ["Fri Nov 20 12:01:00 2026", 60_000],
    ["Thu Nov  5 12:01:00 2026", 1000],
    ["Fri, 20 Nov 2026 11:00:00 GMT", 1000],
    ["Sun, 20 Dec 2026 12:00:00 GMT", 86_400_000],
    ["Friday, 20-Nov-60 12:01:00 GMT", 86_400_000],
    ["Fri, 99 Nov 2026 12:01:00 GMT", undefined],
    ["Tue, 31 Nov 2026 12:01:00 GMT", undefined],
    ["2026-11-20T12:01:00Z", undefined],
    ["tomorrow 5", undefined],
    ["2027", 2_027_000],
  ])("reads %j as %j ms", (text, waitMs) => {
    expect(readRetryAfter(text, NOW)).toBe(waitMs);
  });

  it("stays between a second and a day, whatever the endpoint says", () => {
    const text = fc.oneof(
      fc.string(),
      fc.bigInt().map(String),
      fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
    );
    fc.assert(
      fc.property(text, (given) => {
        const waitMs = readRetryAfter(given, NOW);
        if (waitMs === undefined) return;
        expect(waitMs).toBeGreaterThanOrEqual(1000);
        expect(waitMs).toBeLessThanOrEqual(24 * HOUR_MS);
      }),
    );
  });
});

describe("the schedule", () => {
  const verdict: fc.Arbitrary<Verdict> = fc.oneof(
    { weight: 4, arbitrary: fc.constant<Verdict>({ kind: "failed" }) },
    fc.integer({ min: 1000, max: 86_400_000 }).map((waitMs): Verdict => ({ kind: "later", atMs: NOW + waitMs })),
    fc.constant<Verdict>({ kind: "unwanted" }),
  );

  // shows: events/push-subscriptions/schedule
  it("waits 5 s, 30 s, 5 min, 30 min, 2 h, 5 h, 10 h, 10 h, then is dead", () => {
    const waits: number[] = [];
    for (let step = 0, tries = 0; ; tries++) {
      const after = afterAttempt({ step, tries }, { kind: "failed" }, NOW, 0);
      if (after.state !== "pending") {
        expect(after.state).toBe("dead");
        break;
      }
      waits.push((after.dueAtMs - NOW) / 1000);
      step = after.step;
    }
    expect(waits).toEqual([5, 30, 300, 1800, 7200, 18_000, 36_000, 36_000]);
  });

  it("is never shorter than stated, and at most a fifth longer", () => {
    fc.assert(
      fc.property(fc.nat(7), fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (step, chance) => {
        const after = afterAttempt({ step, tries: step }, { kind: "failed" }, NOW, chance);
        const waitMs = (after as Extract<AfterAttempt, { state: "pending" }>).dueAtMs - NOW;
        expect(waitMs).toBeGreaterThanOrEqual(DELIVERY.retryMs[step]!);
        expect(waitMs).toBeLessThanOrEqual(DELIVERY.retryMs[step]! * 1.2);
      }),
    );
  });

  it("ends with the ninth counted failure; times that the endpoint names count from the eleventh and never shorten it", () => {
    fc.assert(
      fc.property(fc.infiniteStream(verdict), (verdicts) => {
        let step = 0;
        let failures = 0;
        let spared = 0;
        for (let tries = 0; tries < 500; tries++) {
          const given = verdicts.next().value!;
          const counts = given.kind === "failed" || (given.kind === "later" && spared >= 10);
          const after = afterAttempt({ step, tries }, given, NOW, 0.5);
          if (counts) failures += 1;
          else spared += 1;
          if (after.state === "pending") {
            expect(after.step).toBe(failures);
            const scheduledMs = NOW + DELIVERY.retryMs[counts ? step : 0]! * 1.1;
            const namedMs = given.kind === "later" ? given.atMs : 0;
            const expected = counts || namedMs === 0 ? Math.max(scheduledMs, namedMs) : namedMs;
            expect(after.dueAtMs).toBe(expected);
            ({ step } = after);
            continue;
          }
          expect(after.state).toBe("dead");
          expect(failures).toBe(9);
          return;
        }
        expect.unreachable();
      }),
    );
  });

  it("keeps its full length when an endpoint names short times", () => {
    let nowMs = 0;
    for (let step = 0, tries = 0; ; tries++) {
      const after = afterAttempt({ step, tries }, { kind: "later", atMs: nowMs + 1000 }, nowMs, 0);
      if (after.state !== "pending") break;
      nowMs = after.dueAtMs;
      step = after.step;
    }
    expect(nowMs).toBe(10_000 + DELIVERY.retryMs.reduce((sum, waitMs) => sum + waitMs, 0));
    expect(nowMs).toBeGreaterThan(27 * HOUR_MS);
  });

  it("ends with a delivery at any point", () => {
    fc.assert(
      fc.property(fc.nat(8), fc.nat(99), (step, tries) => {
        expect(afterAttempt({ step, tries }, { kind: "delivered" }, NOW, 0)).toEqual({ state: "delivered" });
      }),
    );
  });
});

describe("the endpoint as a whole", () => {
  // shows: events/push-subscriptions/an-endpoint-that-only-times-out
  it("is tried ever more rarely, by one attempt alone, from the sixth silence on", () => {
    let health = healthy(1);
    let nowMs = NOW;
    const pauses: number[] = [];
    for (let attempt = 1; attempt <= 20; attempt++) {
      health = unanswered(health, nowMs);
      expect(windowSize(health)).toBe(Math.max(1, 6 - attempt));
      const pauseMs = Math.max(0, pausedUntilMs(health, nowMs) - nowMs);
      pauses.push(pauseMs / 1000);
      nowMs += pauseMs;
    }
    expect(pauses).toEqual([0, 0, 0, 0, 0, 5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600, 3600, 3600, 3600]);
    expect(answered(health)).toEqual(healthy(1));
  });

  type Step = {
    readonly do: "silence" | "answer" | "wait" | "probe" | "retry after" | "clock back";
    readonly ms: number;
  };
  const step: fc.Arbitrary<Step> = fc.record({
    do: fc.constantFrom(
      "silence",
      "silence",
      "silence",
      "answer",
      "wait",
      "wait",
      "probe",
      "retry after",
      "clock back",
    ),
    ms: fc.nat(2 * HOUR_MS),
  });

  it("leaves a silence with any answer but never by Retry-After, and pauses at most an hour, even if the clock is set back", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        let health: Health = healthy(3);
        let nowMs = NOW;
        let silences = 0;
        for (const next of steps) {
          const before = health;
          switch (next.do) {
            case "silence":
              silences += 1;
              health = unanswered(health, nowMs);
              break;
            case "answer":
              silences = 0;
              health = answered(health);
              expect(pausedUntilMs(health, nowMs)).toBe(
                before.retryAfterUntilMs > nowMs + HOUR_MS ? 0 : before.retryAfterUntilMs,
              );
              break;
            case "probe":
              health = withoutPause(health);
              expect(pausedUntilMs(health, nowMs)).toBe(0);
              break;
            case "retry after":
              health = askedToWait(health, nowMs + next.ms, nowMs);
              expect(pausedUntilMs(health, nowMs)).toBeGreaterThanOrEqual(nowMs + Math.min(next.ms, HOUR_MS));
              break;
            case "clock back":
              nowMs -= next.ms;
              break;
            case "wait":
              nowMs += next.ms;
          }
          expect(health.silent).toBe(silences);
          expect(windowSize(health)).toBe(Math.max(1, 6 - silences));
          expect(pausedUntilMs(health, nowMs) - nowMs).toBeLessThanOrEqual(HOUR_MS);
        }
      }),
    );
  });
});

describe("the signature", () => {
  it("matches the Standard Webhooks library, for any key and body", () => {
    const key = fc.uint8Array({ minLength: 24, maxLength: 24 });
    fc.assert(
      fc.property(key, anyText(), (bytes, payload) => {
        const secret = `whsec_${toBase64(bytes)}`;
        const text = JSON.stringify({ payload });
        const atSec = Math.floor(Date.now() / 1000);
        const headers = {
          "webhook-id": "id-1",
          "webhook-timestamp": String(atSec),
          "webhook-signature": signWebhook(secret, "id-1", atSec, utf8(text)),
        };
        expect(new Webhook(secret).verify(text, headers)).toEqual({ payload });
        const other = `whsec_${toBase64(bytes.map((byte) => byte ^ 1))}`;
        expect(() => new Webhook(other).verify(text, headers)).toThrow();
      }),
      { numRuns: runs(3) },
    );
  });

  it.each(["", "whsec_", "whsec_*", "AAAA"])("there is none with %j as secret", (secret) => {
    expect(() => signWebhook(secret, "id", 1, utf8("x"))).toThrow("the signing secret is not valid");
  });
});

describe("texts in memory", () => {
  it("are bounded, and the newest is kept", () => {
    const put = fc.record({ id: fc.nat(9), chars: fc.nat(60) });
    fc.assert(
      fc.property(fc.array(put), fc.array(fc.nat(9)), (puts, deletes) => {
        const texts = new EventTexts(100);
        for (const { id, chars } of puts) {
          texts.put(`${id}`, { text: "x".repeat(chars) });
          expect(texts.get(`${id}`)?.text).toBe("x".repeat(chars));
          const held = Array.from({ length: 10 }, (_, at) => texts.get(`${at}`)?.text.length ?? 0);
          expect(held.reduce((sum, length) => sum + length, 0)).toBeLessThanOrEqual(100);
        }
        for (const id of deletes) texts.delete(`${id}`);
        for (const id of deletes) expect(texts.get(`${id}`)).toBeUndefined();
      }),
    );
  });

  it("identify their event by its beginning", () => {
    expect(idOf('{"id":"0123456789abcdef-g","createdAt":1,"payload":"\\"id\\":"}')).toBe("0123456789abcdef-g");
  });
});
