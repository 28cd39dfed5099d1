/**
 * When a service that does not answer is left alone (contract section 6). One breaker for each service, in the memory of
 * an isolate.
 *
 *   closed ──three failures in a row──▶ open ──its wait is over, a request comes──▶ probing
 *     ▲ a success forgets the failures   ▲                                          │ │
 *     │                                  └──── the probe failed: twice the wait ────┘ │
 *     └───────────────────────────── the probe was answered ──────────────────────────┘
 *
 * - A failure is: no connection, or no headers in time. An answer is a success whatever its status, since somebody is there.
 *   What the caller broke off is neither, nor a connection that is lost under the caller's body: who is refused while
 *   they send much would shut the service to everybody.
 * - Open, every request is refused at once. Probing, every request but the one that probes.
 * - A state has a number. What a request found out counts only in the state that let it pass: one that began before
 *   the breaker opened neither closes it nor opens it longer.
 * - A probe whose end nobody hears of (the runtime drops a request when its caller goes) is over after `probeMs`.
 */
export const BREAKER = { failures: 3, firstWaitMs: 5_000, maxWaitMs: 60_000, probeMs: 60_000 } as const;

export type BreakerState = { readonly number: number } & (
  | { readonly kind: "closed"; readonly failures: number }
  | { readonly kind: "open"; readonly waitMs: number; readonly untilMs: number }
  | { readonly kind: "probing"; readonly waitMs: number; readonly untilMs: number }
);

/** A request that was let pass; `number` is the state's that did. */
export interface Ticket {
  readonly number: number;
}

export type Outcome = "answered" | "failed" | "broken off";

export type Admission =
  | { readonly admitted: true; readonly state: BreakerState; readonly ticket: Ticket }
  | { readonly admitted: false; readonly retryAfterMs: number };

export const CLOSED: BreakerState = { number: 0, kind: "closed", failures: 0 };

export function admit(state: BreakerState, nowMs: number): Admission {
  if (state.kind === "closed") return { admitted: true, state, ticket: { number: state.number } };
  const leftMs = state.untilMs - nowMs;
  const longestMs = state.kind === "open" ? state.waitMs : BREAKER.probeMs;
  // The second half: a clock that was set back is no reason to wait longer.
  if (leftMs > 0 && leftMs <= longestMs) return { admitted: false, retryAfterMs: leftMs };
  const number = state.number + 1;
  const probing = { kind: "probing", number, waitMs: state.waitMs, untilMs: nowMs + BREAKER.probeMs } as const;
  return { admitted: true, state: probing, ticket: { number } };
}

/** The state after a request that had passed came to its end. */
export function settle(state: BreakerState, ticket: Ticket, outcome: Outcome, nowMs: number): BreakerState {
  if (ticket.number !== state.number) return state;
  const number = state.number + 1;
  const open = (waitMs: number, untilMs: number): BreakerState => ({ kind: "open", number, waitMs, untilMs });
  switch (state.kind) {
    case "closed": {
      if (outcome === "broken off") return state;
      const failures = outcome === "answered" ? 0 : state.failures + 1;
      if (failures >= BREAKER.failures) return open(BREAKER.firstWaitMs, nowMs + BREAKER.firstWaitMs);
      return failures === state.failures ? state : { ...state, failures };
    }
    case "probing": {
      if (outcome === "answered") return { kind: "closed", number, failures: 0 };
      // Nothing was found out, so the next request may.
      if (outcome === "broken off") return open(state.waitMs, nowMs);
      const waitMs = Math.min(2 * state.waitMs, BREAKER.maxWaitMs);
      return open(waitMs, nowMs + waitMs);
    }
    case "open":
      return state;
  }
}

/** The breakers of an isolate; the caller makes a key that changes when the service's address does. */
export interface Breakers {
  admit(key: string, nowMs: number): Admission;
  /** `changed`: the breaker opened or closed by this. */
  settle(key: string, ticket: Ticket, outcome: Outcome, nowMs: number): { readonly changed?: "opened" | "closed" };
}

const MAX_BREAKERS = 10_000;

export function createBreakers(): Breakers {
  /** None for a service that is well. */
  const states = new Map<string, BreakerState>();
  const keep = (key: string, state: BreakerState): void => {
    states.delete(key);
    states.set(key, state);
    const [oldest] = states.keys();
    if (states.size > MAX_BREAKERS && oldest !== undefined) states.delete(oldest);
  };
  return {
    admit(key, nowMs) {
      const admission = admit(states.get(key) ?? CLOSED, nowMs);
      if (admission.admitted && admission.state.kind !== "closed") keep(key, admission.state);
      return admission;
    },
    settle(key, ticket, outcome, nowMs) {
      const before = states.get(key) ?? CLOSED;
      const after = settle(before, ticket, outcome, nowMs);
      if (after === before) return {};
      keep(key, after);
      if (after.kind === "open" && before.kind === "closed") return { changed: "opened" };
      return after.kind === "closed" && before.kind === "probing" ? { changed: "closed" } : {};
    },
  };
}
