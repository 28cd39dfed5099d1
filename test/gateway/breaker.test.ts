import { describe, expect, it } from "vitest";
import {
  admit,
  BREAKER,
  CLOSED,
  createBreakers,
  settle,
  type BreakerState,
  type Outcome,
  type Ticket,
} from "../../src/gateway/breaker.ts";

/** A breaker as requests see it, one after the other. */
function play(state: BreakerState, outcome: Outcome, nowMs: number): BreakerState {
  const admission = admit(state, nowMs);
  if (!admission.admitted) return state;
  return settle(admission.state, admission.ticket, outcome, nowMs);
}

const failing = (state: BreakerState, nowMs: number, times = 3): BreakerState =>
  Array.from({ length: times }).reduce<BreakerState>((now) => play(now, "failed", nowMs), state);

describe("the rules", () => {
  it.each<[readonly Outcome[], BreakerState["kind"]]>([
    [["failed", "failed"], "closed"],
    [["failed", "failed", "failed"], "open"],
    [["failed", "failed", "answered", "failed", "failed"], "closed"],
    [["failed", "failed", "broken off", "failed"], "open"],
    [["broken off", "broken off", "broken off", "broken off"], "closed"],
    [["failed", "answered", "failed", "failed", "failed"], "open"],
  ])("%j leads to %s", (outcomes, kind) => {
    expect(outcomes.reduce((state, outcome) => play(state, outcome, 1000), CLOSED).kind).toBe(kind);
  });

  it("refuses for the first wait to the millisecond and says how long, then lets one pass", () => {
    const open = failing(CLOSED, 1000);
    expect(admit(open, 1000)).toEqual({ admitted: false, retryAfterMs: BREAKER.firstWaitMs });
    expect(admit(open, 1000 + BREAKER.firstWaitMs - 1)).toEqual({ admitted: false, retryAfterMs: 1 });
    const probe = admit(open, 1000 + BREAKER.firstWaitMs);
    expect(probe).toMatchObject({ admitted: true, state: { kind: "probing" } });
    if (!probe.admitted) throw new Error("refused");
    expect(admit(probe.state, 1000 + BREAKER.firstWaitMs).admitted).toBe(false);
  });

  it("waits twice as long after each failed probe, up to a minute, and from the beginning after an answer", () => {
    let state = failing(CLOSED, 0);
    const waits: number[] = [];
    let nowMs = 0;
    for (let times = 0; times < 6; times++) {
      if (state.kind !== "open") throw new Error(state.kind);
      waits.push(state.waitMs);
      nowMs = state.untilMs;
      state = play(state, "failed", nowMs);
    }
    expect(waits).toEqual([5_000, 10_000, 20_000, 40_000, 60_000, 60_000]);
    if (state.kind !== "open") throw new Error(state.kind);
    const closed = play(state, "answered", state.untilMs);
    expect(closed).toMatchObject({ kind: "closed", failures: 0 });
    expect(failing(closed, 0)).toMatchObject({ kind: "open", waitMs: BREAKER.firstWaitMs });
  });

  it("lets the next one probe where the caller broke the probe off", () => {
    const state = play(failing(CLOSED, 0), "broken off", BREAKER.firstWaitMs);
    expect(state).toMatchObject({ kind: "open", waitMs: BREAKER.firstWaitMs });
    expect(admit(state, BREAKER.firstWaitMs).admitted).toBe(true);
  });

  it("takes a probe for lost after a minute, and what it says later for nothing", () => {
    const first = admit(failing(CLOSED, 0), BREAKER.firstWaitMs);
    if (!first.admitted) throw new Error("refused");
    const lostMs = BREAKER.firstWaitMs + BREAKER.probeMs;
    expect(admit(first.state, lostMs - 1).admitted).toBe(false);
    const second = admit(first.state, lostMs);
    if (!second.admitted) throw new Error("refused");
    expect(settle(second.state, first.ticket, "answered", lostMs)).toBe(second.state);
    expect(settle(second.state, second.ticket, "answered", lostMs).kind).toBe("closed");
  });

  it("does not wait longer because the clock was set back", () => {
    expect(admit(failing(CLOSED, 1_000_000), 10).admitted).toBe(true);
  });
});

describe("many requests at once", () => {
  it("count each failure once, and those that began before it opened do not matter to it", () => {
    const breakers = createBreakers();
    const tickets = Array.from({ length: 10 }, () => {
      const admission = breakers.admit("s", 0);
      if (!admission.admitted) throw new Error("refused");
      return admission.ticket;
    });
    const changes = tickets.slice(0, 8).map((ticket) => breakers.settle("s", ticket, "failed", 0).changed);
    expect(changes.filter(Boolean)).toEqual(["opened"]);
    expect(breakers.settle("s", tickets[8]!, "answered", 1).changed).toBeUndefined();
    expect(breakers.admit("s", 1).admitted).toBe(false);
    expect(breakers.admit("another", 1).admitted).toBe(true);
  });

  /** Any order of coming, ending and waiting: what holds in every state. */
  it.each(Array.from({ length: 40 }, (_, seed) => seed + 1))("hold the rules in any order (seed %i)", (seed) => {
    let random = seed * 2_654_435_761;
    const below = (limit: number): number => {
      random = (Math.imul(random, 1_103_515_245) + 12_345) >>> 0;
      return Math.floor((random / 2 ** 32) * limit);
    };
    let state: BreakerState = CLOSED;
    let nowMs = 0;
    const running: Ticket[] = [];
    for (let step = 0; step < 400; step++) {
      const before: BreakerState = state;
      const choice = below(4);
      if (choice === 0) nowMs += below(20_000);
      else if (choice === 1 || running.length === 0) {
        const admission = admit(state, nowMs);
        if (admission.admitted) {
          state = admission.state;
          running.push(admission.ticket);
          // One probe at a time: whoever passes an opened breaker is the only one of its number.
          const alike = running.filter(({ number }) => number === state.number);
          if (state.kind === "probing") expect(alike).toHaveLength(1);
        } else {
          expect(state.kind).not.toBe("closed");
          expect(admission.retryAfterMs).toBeGreaterThan(0);
          expect(admission.retryAfterMs).toBeLessThanOrEqual(60_000);
        }
      } else {
        const [ticket] = running.splice(below(running.length), 1);
        const outcome = (["answered", "failed", "broken off"] as const)[below(3)]!;
        state = settle(state, ticket!, outcome, nowMs);
        if (ticket!.number !== before.number) expect(state).toBe(before);
        // Open ends by a probe alone.
        if (before.kind === "open") expect(state).toBe(before);
        if (before.kind !== "closed" && state.kind === "closed")
          expect([before.kind, outcome]).toEqual(["probing", "answered"]);
      }
      expect(state.number).toBeGreaterThanOrEqual(before.number);
    }
  });
});
