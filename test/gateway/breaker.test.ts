import { describe, expect, it } from "vitest";
import {
  admit as admitCaller,
  BREAKER,
  CLOSED,
  settle,
  type Admission,
  type BreakerState,
  type Outcome,
  type Ticket,
} from "../../src/gateway/breaker.ts";
import { createBreakers, MAX_BREAKERS, type Called, type Ending, type Passed } from "../../src/gateway/breakers.ts";

/** By one and the same caller. */
const admit = (state: BreakerState, nowMs: number): Admission => admitCaller(state, "one", nowMs);

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

describe("probing", () => {
  const passOf = (admission: Admission) => {
    if (!admission.admitted) throw new Error("refused");
    return admission;
  };
  const first = passOf(admitCaller(failing(CLOSED, 0), "slow", BREAKER.firstWaitMs));

  it("is open to others while a probe hangs, once for each caller, and to so many", () => {
    expect(admitCaller(first.state, "slow", BREAKER.firstWaitMs).admitted).toBe(false);
    const other = passOf(admitCaller(first.state, "other", BREAKER.firstWaitMs));
    expect(settle(other.state, other.ticket, "answered", BREAKER.firstWaitMs)).toMatchObject({ kind: "closed" });
    let state = first.state;
    for (let callers = 1; callers < BREAKER.probes; callers++)
      state = passOf(admitCaller(state, `caller ${callers}`, BREAKER.firstWaitMs)).state;
    const refused = admitCaller(state, "one more", BREAKER.firstWaitMs + 1);
    expect(refused).toEqual({ admitted: false, retryAfterMs: BREAKER.probeMs - 1 });
  });

  it("ends for all at the first failure, and goes on where one was broken off", () => {
    const other = passOf(admitCaller(first.state, "other", BREAKER.firstWaitMs));
    const failed = settle(other.state, first.ticket, "failed", BREAKER.firstWaitMs);
    expect(failed).toMatchObject({ kind: "open", waitMs: 2 * BREAKER.firstWaitMs });
    expect(settle(failed, other.ticket, "answered", BREAKER.firstWaitMs)).toBe(failed);
    const left = settle(other.state, first.ticket, "broken off", BREAKER.firstWaitMs);
    expect(left).toMatchObject({ kind: "probing", probes: [{ caller: "other" }] });
    expect(admitCaller(left, "slow", BREAKER.firstWaitMs).admitted).toBe(true);
    expect(settle(left, other.ticket, "answered", BREAKER.firstWaitMs).kind).toBe("closed");
  });
});

describe("many requests at once", () => {
  const one: Called = { service: "s", caller: "one" };
  const pass = (breakers: ReturnType<typeof createBreakers>, called: Called, nowMs: number): Passed => {
    const admission = breakers.admit(called, nowMs);
    if (!("passed" in admission)) throw new Error(`refused to ${admission.felt}`);
    return admission.passed;
  };
  const passes = (breakers: ReturnType<typeof createBreakers>, called: Called, nowMs: number): boolean =>
    "passed" in breakers.admit(called, nowMs);

  it("count each failure once, and those that began before it opened do not matter to it", () => {
    const breakers = createBreakers();
    const passed = Array.from({ length: 10 }, () => pass(breakers, one, 0));
    const changes = passed.slice(0, 8).flatMap((ticket) => breakers.settle(one, ticket, "failed", 0));
    expect(changes).toEqual([{ felt: "the caller", now: "opened" }]);
    expect(breakers.settle(one, passed[8]!, "answered", 1)).toEqual([]);
    expect(passes(breakers, one, 1)).toBe(false);
    expect(passes(breakers, { ...one, service: "another" }, 1)).toBe(true);
    expect(passes(breakers, { ...one, caller: "another" }, 1)).toBe(true);
  });

  it("open it for everybody where there is no connection, and one answer of anybody closes it", () => {
    const breakers = createBreakers();
    const changes = ["a", "b", "c"].flatMap((caller) => {
      const called = { service: "s", caller };
      return breakers.settle(called, pass(breakers, called, 0), "unreached", 0);
    });
    expect(changes).toEqual([{ felt: "everybody", now: "opened" }]);
    expect(breakers.admit({ service: "s", caller: "d" }, 0)).toEqual({
      felt: "everybody",
      retryAfterMs: BREAKER.firstWaitMs,
    });
    const [hanging, other] = ["a", "d"].map((caller) => ({ service: "s", caller }));
    pass(breakers, hanging!, BREAKER.firstWaitMs);
    const probe = pass(breakers, other!, BREAKER.firstWaitMs);
    expect(breakers.settle(other!, probe, "answered", BREAKER.firstWaitMs)).toEqual([
      { felt: "everybody", now: "closed" },
    ]);
    expect(passes(breakers, { service: "s", caller: "e" }, BREAKER.firstWaitMs)).toBe(true);
  });

  it("is open for one caller after three failures of either kind", () => {
    for (const endings of [
      ["unreached", "failed", "unreached"],
      ["unreached", "unreached", "unreached"],
    ] as const) {
      const breakers = createBreakers();
      for (const ending of endings) breakers.settle(one, pass(breakers, one, 0), ending, 0);
      expect(passes(breakers, one, 1)).toBe(false);
    }
  });

  it("keep no more callers than so many, and a service's own breaker whoever makes them up", () => {
    const breakers = createBreakers();
    for (let times = 0; times < 3; times++) breakers.settle(one, pass(breakers, one, 0), "unreached", 0);
    for (let callers = 0; callers < MAX_BREAKERS + 10; callers++) {
      const called = { service: "slow", caller: `${callers}` };
      breakers.settle(called, pass(breakers, called, 0), "failed", 0);
    }
    expect(passes(breakers, { service: "s", caller: "another" }, 1)).toBe(false);
  });

  /** The attack of the review: three requests at a time that hang until they are given up, again and again. */
  it("shut a service to nobody but their caller, whatever that one keeps hanging: an hour of it", () => {
    const breakers = createBreakers();
    const attacker = { service: "s", caller: "attacker" };
    const victims = ["of another tenant", "without a token"].map((caller) => ({ service: "s", caller }));
    const waitMs = 30_000;
    let hanging: { readonly passed: Passed; readonly endMs: number }[] = [];
    let attempts = 0;
    let letThrough = 0;
    for (let nowMs = 0; nowMs < 3_600_000; nowMs += 100) {
      for (const { passed, endMs } of hanging) if (endMs <= nowMs) breakers.settle(attacker, passed, "failed", nowMs);
      hanging = hanging.filter(({ endMs }) => endMs > nowMs);
      while (hanging.length < 3) {
        attempts += 1;
        const admission = breakers.admit(attacker, nowMs);
        if (!("passed" in admission)) break;
        letThrough += 1;
        hanging.push({ passed: admission.passed, endMs: nowMs + waitMs });
      }
      if (nowMs % 1_000 === 0)
        for (const victim of victims) {
          const passed = pass(breakers, victim, nowMs);
          breakers.settle(victim, passed, "answered", nowMs);
        }
    }
    expect(attempts).toBeGreaterThan(1_000);
    // Three, and then a probe that takes its time, and a wait, in turn.
    expect(letThrough).toBeLessThan(3 + 3_600_000 / (waitMs + BREAKER.firstWaitMs));
  });

  /** Any order of coming, ending and waiting: what holds in every state. */
  it.each(Array.from({ length: 40 }, (_, seed) => seed + 1))("hold the rules in any order (seed %i)", (seed) => {
    const below = randomOf(seed);
    let state: BreakerState = CLOSED;
    let nowMs = 0;
    const running: { readonly ticket: Ticket; readonly caller: string }[] = [];
    for (let step = 0; step < 400; step++) {
      const before: BreakerState = state;
      const choice = below(4);
      if (choice === 0) nowMs += below(20_000);
      else if (choice === 1 || running.length === 0) {
        const caller = `caller ${below(4)}`;
        const admission = admitCaller(state, caller, nowMs);
        if (admission.admitted) {
          state = admission.state;
          running.push({ ticket: admission.ticket, caller });
          if (state.kind === "probing") {
            const callers = state.probes.map((each) => each.caller);
            expect(new Set(callers).size).toBe(callers.length);
          }
        } else {
          expect(state.kind).not.toBe("closed");
          // Nobody waits for another's probe.
          if (state.kind === "probing") expect(state.probes.map((each) => each.caller)).toContain(caller);
          expect(admission.retryAfterMs).toBeGreaterThan(0);
          expect(admission.retryAfterMs).toBeLessThanOrEqual(60_000);
        }
      } else {
        const { ticket } = running.splice(below(running.length), 1)[0]!;
        const outcome = (["answered", "failed", "broken off"] as const)[below(3)]!;
        state = settle(state, ticket, outcome, nowMs);
        if (ticket.number !== before.number) expect(state).toBe(before);
        // Open ends by a probe alone.
        if (before.kind === "open") expect(state).toBe(before);
        if (before.kind !== "closed" && state.kind === "closed")
          expect([before.kind, outcome]).toEqual(["probing", "answered"]);
      }
      expect(state.number).toBeGreaterThanOrEqual(before.number);
    }
  });

  /** Whatever some callers bring about at the service, by slow, broken and dropped requests: who is answered always is. */
  it.each(Array.from({ length: 20 }, (_, seed) => seed + 1))("never stand in the way of another (seed %i)", (seed) => {
    const below = randomOf(seed);
    const breakers = createBreakers();
    const running: { readonly called: Called; readonly passed: Passed }[] = [];
    const endings: readonly Ending[] = ["failed", "failed", "answered", "broken off"];
    for (let step = 0, nowMs = 0; step < 400; step++) {
      nowMs += below(5_000);
      const called = { service: "s", caller: `attacker ${below(5)}` };
      const admission = breakers.admit(called, nowMs);
      if ("passed" in admission) running.push({ called, passed: admission.passed });
      else expect(admission.felt).toBe("the caller");
      if (running.length > 3) {
        const [ended] = running.splice(below(running.length), 1);
        breakers.settle(ended!.called, ended!.passed, endings[below(endings.length)]!, nowMs);
      }
      const victim = { service: "s", caller: "victim" };
      breakers.settle(victim, pass(breakers, victim, nowMs), "answered", nowMs);
    }
  });

  function randomOf(seed: number): (limit: number) => number {
    let random = seed * 2_654_435_761;
    return (limit) => {
      random = (Math.imul(random, 1_103_515_245) + 12_345) >>> 0;
      return Math.floor((random / 2 ** 32) * limit);
    };
  }
});
