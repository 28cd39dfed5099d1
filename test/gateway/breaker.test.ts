import { describe, expect, it } from "vitest";
import {
  admit as admitCaller,
  BREAKER,
  CLOSED,
  settle as settleFelt,
  type Admission,
  type BreakerState,
  type BreakerScope,
  type Outcome,
  type Ticket,
} from "../../src/gateway/breaker/breaker.ts";
import {
  createBreakers,
  MAX_BREAKERS,
  type BreakerCall,
  type CallOutcome,
  type Tickets,
} from "../../src/gateway/breaker/breakers.ts";
import { callerOf, type Caller } from "../../src/gateway/breaker/caller.ts";

/** A client with its own tenant and address. */
const callerNamed = (name: string): Caller => clientOf(name, { tenant: `tenant of ${name}`, network: `at ${name}` });
const clientOf = (clientId: string, { tenant, network }: { tenant: string; network: string }): Caller =>
  callerOf({ tenant, clientId, user: "" } as never, new Map([["cf-connecting-ip", network]]));
const stranger = (network: string): Caller => callerOf(undefined, new Map([["cf-connecting-ip", network]]));

/** The outcome in the caller's own breaker. */
const admit = (state: BreakerState, nowMs: number): Admission =>
  admitCaller(state, callerNamed("one"), nowMs, "the caller");
const settle = (state: BreakerState, ticket: Ticket, outcome: Outcome, nowMs: number): BreakerState =>
  settleFelt(state, ticket, outcome, nowMs, "the caller");

/** Runs requests one after the other. */
function play(state: BreakerState, outcome: Outcome, nowMs: number): BreakerState {
  const admission = admit(state, nowMs);
  if (!admission.admitted) return state;
  return settle(admission.state, admission.ticket, outcome, nowMs);
}

const failing = (state: BreakerState, nowMs: number): BreakerState =>
  Array.from({ length: 3 }).reduce<BreakerState>((now) => play(now, "failed", nowMs), state);

describe("the rules of a breaker", () => {
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

  // shows: gateway/who-may-call/three-failures-in-a-row
  it("refuses for exactly the first wait and says how long, then admits one request", () => {
    const open = failing(CLOSED, 1000);
    expect(admit(open, 1000)).toEqual({ admitted: false, retryAfterMs: BREAKER.firstWaitMs });
    expect(admit(open, 1000 + BREAKER.firstWaitMs - 1)).toEqual({ admitted: false, retryAfterMs: 1 });
    const probe = admit(open, 1000 + BREAKER.firstWaitMs);
    expect(probe).toMatchObject({ admitted: true, state: { kind: "probing" } });
    if (!probe.admitted) throw new Error("refused");
    expect(admit(probe.state, 1000 + BREAKER.firstWaitMs).admitted).toBe(false);
  });

  it("doubles the wait after each failed probe, up to a minute, and resets it after an answer", () => {
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
    expect(closed).toMatchObject({ kind: "closed", failures: { count: 0 } });
    expect(failing(closed, 0)).toMatchObject({ kind: "open", waitMs: BREAKER.firstWaitMs });
  });

  it("admits the next probe if the caller broke off the last one", () => {
    const state = play(failing(CLOSED, 0), "broken off", BREAKER.firstWaitMs);
    expect(state).toMatchObject({ kind: "probing", waitMs: BREAKER.firstWaitMs, probes: [] });
    expect(admit(state, BREAKER.firstWaitMs).admitted).toBe(true);
  });

  it.each<[BreakerScope, number]>([
    ["everybody", 5_000],
    ["the caller", 60_000],
  ])("waits a limited time for a probe, and still counts its later answer (breaker of %s)", (scope, placeMs) => {
    const one = callerNamed("one");
    const open: BreakerState = { kind: "open", number: 1, waitMs: BREAKER.firstWaitMs, untilMs: 1_000 };
    const first = admitCaller(open, one, 1_000, scope);
    if (!first.admitted) throw new Error("refused");
    const lostMs = 1_000 + placeMs;
    expect(admitCaller(first.state, one, lostMs - 1, scope)).toEqual({ admitted: false, retryAfterMs: 1 });
    const second = admitCaller(first.state, one, lostMs, scope);
    if (!second.admitted) throw new Error("refused");
    expect(settleFelt(second.state, first.ticket, "broken off", lostMs, scope)).toBe(second.state);
    expect(settleFelt(second.state, first.ticket, "answered", lostMs, scope).kind).toBe("closed");
    expect(settleFelt(second.state, second.ticket, "answered", lostMs, scope).kind).toBe("closed");
  });

  it("does not wait longer if the clock was set back", () => {
    expect(admit(failing(CLOSED, 1_000_000), 10).admitted).toBe(true);
  });
});

describe("a service's own breaker", () => {
  const passOf = (admission: Admission) => {
    if (!admission.admitted) throw new Error("refused");
    return admission;
  };
  const atMs: number = BREAKER.firstWaitMs;
  const open: BreakerState = { kind: "open", number: 1, waitMs: BREAKER.firstWaitMs, untilMs: atMs };
  const attempt = (state: BreakerState, caller: Caller, nowMs = atMs): Admission =>
    admitCaller(state, caller, nowMs, "everybody");
  const end = (state: BreakerState, ticket: Ticket, outcome: Outcome): BreakerState =>
    settleFelt(state, ticket, outcome, atMs, "everybody");
  const failingOf = (callers: readonly Caller[]): BreakerState =>
    callers.reduce((state, caller) => end(state, passOf(attempt(state, caller)).ticket, "failed"), CLOSED);

  const acme = (clientId: string, network: string) => clientOf(clientId, { tenant: "acme", network });
  const person = (tenant: string, network: string) =>
    callerOf(
      { tenant, clientId: "browser", user: "eve@example.org" } as never,
      new Map([["cf-connecting-ip", network]]),
    );
  const [home, office] = ["198.51.100.1", "203.0.113.1"];

  it.each<[string, BreakerState["kind"], readonly Caller[]]>([
    ["one caller", "closed", [acme("a", home), acme("a", home), acme("a", home), acme("a", office)]],
    ["two clients of one tenant", "closed", [acme("a", home), acme("b", office), acme("c", "192.0.2.1")]],
    [
      "two tenants in one network",
      "closed",
      [acme("a", home), clientOf("b", { tenant: "other", network: home }), acme("a", home)],
    ],
    ["one network, with a token and without", "closed", [acme("a", home), stranger(home), stranger(home)]],
    ["one /56", "closed", [stranger("2001:db8::1"), stranger("2001:db8::2"), stranger("2001:db8:0:1::3")]],
    ["one person in two tenants", "closed", [person("acme", home), person("other", office), person("acme", home)]],
    [
      "one client for two tenants",
      "closed",
      [acme("a", home), clientOf("a", { tenant: "other", network: office }), acme("a", home)],
    ],
    [
      "tokens without a tenant",
      "closed",
      [
        acme("a", home),
        clientOf("b", { tenant: "", network: office }),
        clientOf("c", { tenant: "", network: "192.0.2.1" }),
      ],
    ],
    ["addresses that nobody knows", "closed", [stranger(""), stranger(""), acme("a", "")]],
    ["two of others", "closed", [acme("a", home), callerNamed("b")]],
    ["two tenants", "open", [acme("a", home), acme("a", home), callerNamed("b")]],
    ["two tenants, one of them at last", "open", [acme("a", home), acme("a", home), acme("a", home), callerNamed("b")]],
    [
      "two tenants whose addresses nobody knows",
      "open",
      [acme("a", ""), acme("a", ""), clientOf("b", { tenant: "other", network: "" })],
    ],
    ["two networks", "open", [stranger(home), stranger(office), stranger(home)]],
    ["a tenant, and somebody elsewhere", "open", [stranger(home), acme("a", office), stranger(home)]],
  ])("after failures of %s: is %s", (_, kind, callers) => {
    expect(failingOf(callers).kind).toBe(kind);
  });

  const first = passOf(attempt(open, callerNamed("slow")));

  it("admits probes while one hangs: one per caller, a share for each tenant, and a limited number in all", () => {
    expect(attempt(first.state, callerNamed("slow")).admitted).toBe(false);
    const other = passOf(attempt(first.state, callerNamed("other")));
    expect(end(other.state, other.ticket, "answered")).toMatchObject({ kind: "closed" });

    const { all, ofTenant, ofAnonymous } = BREAKER.probes;
    let { state } = first;
    const fill = (count: number, callerAt: (index: number) => Caller): void => {
      for (let index = 0; index < count; index++) state = passOf(attempt(state, callerAt(index))).state;
      expect(attempt(state, callerAt(count), atMs + 1)).toEqual({
        admitted: false,
        retryAfterMs: BREAKER.probeMs.everybody - 1,
      });
    };
    fill(ofTenant, (index) => acme(`client ${index}`, `192.0.2.${index}`));
    fill(ofAnonymous, (index) => stranger(`198.51.100.${index}`));
    // Made-up callers leave a place for others.
    expect(attempt(state, callerNamed("victim")).admitted).toBe(true);
    fill(all - 1 - ofTenant - ofAnonymous, (index) => callerNamed(`${index}`));
    expect(attempt(state, callerNamed("victim"), atMs + BREAKER.probeMs.everybody).admitted).toBe(true);
  });

  it("opens again after failed probes of two callers, and keeps probing if one was broken off", () => {
    const other = passOf(attempt(first.state, callerNamed("other")));
    const failed = end(other.state, first.ticket, "failed");
    expect(failed.kind).toBe("probing");
    // Only the caller whose probe failed waits.
    expect(attempt(failed, callerNamed("slow")).admitted).toBe(false);
    expect(attempt(failed, callerNamed("third")).admitted).toBe(true);
    expect(end(failed, other.ticket, "answered").kind).toBe("closed");
    const again = end(failed, other.ticket, "failed");
    expect(again).toMatchObject({ kind: "open", waitMs: 2 * BREAKER.firstWaitMs });
    expect(end(again, other.ticket, "answered")).toBe(again);

    const left = end(other.state, first.ticket, "broken off");
    expect(left).toMatchObject({ kind: "probing", probes: [{ caller: callerNamed("other") }] });
    expect(attempt(left, callerNamed("slow")).admitted).toBe(true);
    expect(end(left, other.ticket, "answered").kind).toBe("closed");
  });
});

describe("requests at the same time", () => {
  const one: BreakerCall = { service: "s", caller: callerNamed("one") };
  const pass = (breakers: ReturnType<typeof createBreakers>, called: BreakerCall, nowMs: number): Tickets => {
    const admission = breakers.admit(called, nowMs);
    if (!("tickets" in admission)) throw new Error(`refused to ${admission.scope}`);
    return admission.tickets;
  };
  const passes = (breakers: ReturnType<typeof createBreakers>, called: BreakerCall, nowMs: number): boolean =>
    "tickets" in breakers.admit(called, nowMs);

  it("count each failure once, and do not count if they began before the breaker opened", () => {
    const breakers = createBreakers();
    const passed = Array.from({ length: 10 }, () => pass(breakers, one, 0));
    const changes = passed.slice(0, 8).flatMap((ticket) => breakers.settle(one, ticket, "failed", 0));
    expect(changes).toEqual([{ scope: "the caller", change: "opened" }]);
    expect(breakers.settle(one, passed[8]!, "answered", 1)).toEqual([]);
    expect(passes(breakers, one, 1)).toBe(false);
    expect(passes(breakers, { ...one, service: "another" }, 1)).toBe(true);
    expect(passes(breakers, { ...one, caller: callerNamed("another") }, 1)).toBe(true);
  });

  // shows: gateway/who-may-call/three-failures-in-a-row
  it("open the breaker for everybody if there is no connection; one answer to any caller closes it", () => {
    const breakers = createBreakers();
    const changes = ["a", "b", "c"].flatMap((caller) => {
      const called = { service: "s", caller: callerNamed(caller) };
      return breakers.settle(called, pass(breakers, called, 0), "unreached", 0);
    });
    expect(changes).toEqual([{ scope: "everybody", change: "opened" }]);
    expect(breakers.admit({ service: "s", caller: callerNamed("d") }, 0)).toEqual({
      scope: "everybody",
      retryAfterMs: BREAKER.firstWaitMs,
    });
    const [hanging, other] = ["a", "d"].map((name) => ({ service: "s", caller: callerNamed(name) }));
    pass(breakers, hanging!, BREAKER.firstWaitMs);
    const probe = pass(breakers, other!, BREAKER.firstWaitMs);
    expect(breakers.settle(other!, probe, "answered", BREAKER.firstWaitMs)).toEqual([
      { scope: "everybody", change: "closed" },
    ]);
    expect(passes(breakers, { service: "s", caller: callerNamed("e") }, BREAKER.firstWaitMs)).toBe(true);
  });

  it("open the breaker for one caller after three failures of either kind", () => {
    for (const endings of [
      ["unreached", "failed", "unreached"],
      ["unreached", "unreached", "unreached"],
    ] as const) {
      const breakers = createBreakers();
      for (const ending of endings) breakers.settle(one, pass(breakers, one, 0), ending, 0);
      expect(passes(breakers, one, 1)).toBe(false);
    }
  });

  it("keep a limited number of callers, and the service's own breaker, even if callers are made up", () => {
    const breakers = createBreakers();
    for (const caller of ["a", "b", "c"].map(callerNamed))
      breakers.settle({ ...one, caller }, pass(breakers, { ...one, caller }, 0), "unreached", 0);
    for (let callers = 0; callers < MAX_BREAKERS + 10; callers++) {
      const called = { service: "slow", caller: callerNamed(`${callers}`) };
      breakers.settle(called, pass(breakers, called, 0), "failed", 0);
    }
    expect(passes(breakers, { service: "s", caller: callerNamed("another") }, 1)).toBe(false);
  });

  /** An attack: three requests at a time that hang until they time out, again and again. */
  // shows: gateway/who-may-call/three-failures-in-a-row
  it("block a service only for the caller who keeps requests hanging for an hour", () => {
    const breakers = createBreakers();
    const attacker = { service: "s", caller: callerNamed("attacker") };
    const victims = [callerNamed("of another tenant"), stranger("192.0.2.1")].map((caller) => ({
      service: "s",
      caller,
    }));
    const waitMs = 30_000;
    let hanging: { readonly tickets: Tickets; readonly endMs: number }[] = [];
    let attempts = 0;
    let letThrough = 0;
    for (let nowMs = 0; nowMs < 3_600_000; nowMs += 100) {
      for (const { tickets, endMs } of hanging) if (endMs <= nowMs) breakers.settle(attacker, tickets, "failed", nowMs);
      hanging = hanging.filter(({ endMs }) => endMs > nowMs);
      while (hanging.length < 3) {
        attempts += 1;
        const admission = breakers.admit(attacker, nowMs);
        if (!("tickets" in admission)) break;
        letThrough += 1;
        hanging.push({ tickets: admission.tickets, endMs: nowMs + waitMs });
      }
      if (nowMs % 1_000 === 0)
        for (const victim of victims) {
          const passed = pass(breakers, victim, nowMs);
          breakers.settle(victim, passed, "answered", nowMs);
        }
    }
    expect(attempts).toBeGreaterThan(1_000);
    // In turn: three requests, a slow probe, a wait.
    expect(letThrough).toBeLessThan(3 + 3_600_000 / (waitMs + BREAKER.firstWaitMs));
  });

  /** One tenant's attack on a service that was down: hang, choose "no connection", drop, with many accounts. */
  it("let the next caller reach a recovered service, whatever one tenant's callers do with their probes", () => {
    const breakers = createBreakers();
    const settleAs = (caller: Caller, ending: CallOutcome, nowMs: number) => {
      const called = { service: "s", caller };
      const admission = breakers.admit(called, nowMs);
      return "tickets" in admission ? breakers.settle(called, admission.tickets, ending, nowMs) : undefined;
    };
    const attackers = Array.from({ length: 40 }, (_, index) =>
      clientOf(`attacker ${index}`, { tenant: "evil", network: `192.0.2.${index}` }),
    );
    for (let round = 0; round < 5; round++) {
      const awayMs = round * 1_000_000;
      const away = ["a", "b", "a"].flatMap((name) => settleAs(callerNamed(`${name} ${round}`), "unreached", awayMs));
      expect(away).toEqual([{ scope: "everybody", change: "opened" }]);
      const backMs = awayMs + BREAKER.firstWaitMs;
      for (const attacker of attackers) {
        if (round % 2 === 0) settleAs(attacker, "unreached", backMs);
        else breakers.admit({ service: "s", caller: attacker }, backMs);
      }
      expect(settleAs(callerNamed("victim"), "answered", backMs)).toEqual([{ scope: "everybody", change: "closed" }]);
    }
  });

  /** Requests arrive, end and wait in any order; the rules hold in every state. */
  // shows: gateway/who-may-call/three-failures-in-a-row
  it.each(Array.from({ length: 40 }, (_, seed) => seed + 1))("follow the rules in any order (seed %i)", (seed) => {
    const below = randomOf(seed);
    const scope: BreakerScope = seed % 2 === 0 ? "everybody" : "the caller";
    let state: BreakerState = CLOSED;
    let nowMs = 0;
    const running: Ticket[] = [];
    for (let step = 0; step < 400; step++) {
      const before: BreakerState = state;
      const choice = below(4);
      if (choice === 0) nowMs += below(20_000);
      else if (choice === 1 || running.length === 0) {
        const caller = callerNamed(`caller ${below(4)}`);
        const admission = admitCaller(state, caller, nowMs, scope);
        if (admission.admitted) {
          state = admission.state;
          running.push(admission.ticket);
          if (state.kind === "probing") {
            const callers = state.probes.map((each) => each.caller.id);
            expect(new Set(callers).size).toBe(callers.length);
          }
        } else {
          expect(state.kind).not.toBe("closed");
          // No caller waits for another's probe.
          if (state.kind === "probing") expect(state.probes.map((each) => each.caller.id)).toContain(caller.id);
          expect(admission.retryAfterMs).toBeGreaterThan(0);
          expect(admission.retryAfterMs).toBeLessThanOrEqual(60_000);
        }
      } else {
        const [ticket] = running.splice(below(running.length), 1);
        const outcome = (["answered", "failed", "broken off"] as const)[below(3)]!;
        state = settleFelt(state, ticket!, outcome, nowMs, scope);
        if (ticket!.number !== before.number) expect(state).toBe(before);
        // Only a probe ends the state open.
        if (before.kind === "open") expect(state).toBe(before);
        if (before.kind !== "closed" && state.kind === "closed")
          expect([before.kind, outcome]).toEqual(["probing", "answered"]);
      }
      expect(state.number).toBeGreaterThanOrEqual(before.number);
    }
  });

  /** Callers of one tenant choose any outcome; a caller who is answered is always admitted. */
  it.each(Array.from({ length: 20 }, (_, seed) => seed + 1))("never block another caller (seed %i)", (seed) => {
    const below = randomOf(seed);
    const breakers = createBreakers();
    const running: { readonly called: BreakerCall; readonly tickets: Tickets }[] = [];
    const endings: readonly CallOutcome[] = ["failed", "unreached", "answered", "broken off"];
    const attackers = Array.from({ length: 5 }, (_, index) =>
      clientOf(`attacker ${index}`, { tenant: "evil", network: `192.0.2.${index}` }),
    );
    const victim = { service: "s", caller: callerNamed("victim") };
    for (let step = 0, nowMs = 0; step < 400; step++) {
      nowMs += below(5_000);
      const called = { service: "s", caller: attackers[below(attackers.length)]! };
      const admission = breakers.admit(called, nowMs);
      if ("tickets" in admission) running.push({ called, tickets: admission.tickets });
      else expect(admission.scope).toBe("the caller");
      if (running.length > 3) {
        const [ended] = running.splice(below(running.length), 1);
        breakers.settle(ended!.called, ended!.tickets, endings[below(endings.length)]!, nowMs);
      }
      // Not after each step, so that others' failures come in a row.
      if (step % 5 === 4) breakers.settle(victim, pass(breakers, victim, nowMs), "answered", nowMs);
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
