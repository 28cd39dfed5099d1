/**
 * When a service that does not answer is left alone (contract section 6). There is a breaker for each service, and one for
 * each caller of each service, in the memory of an isolate. A request has to pass both.
 *
 *   closed ──three failures in a row──▶ open ──its wait is over, a request comes──▶ probing
 *     ▲ a success forgets the failures   ▲                                          │ │
 *     │                                  └───── a probe failed: twice the wait ─────┘ │
 *     └───────────────────────────── a probe was answered ────────────────────────────┘
 *
 * - What is nobody's doing counts for the service: there is no connection. What a caller may have brought about counts for
 *   that caller alone: no headers in time, a connection that was lost. So a caller of slow operations shuts a service to
 *   nobody else.
 * - An answer is a success whatever its status, since somebody is there. What the caller broke off is neither, nor a
 *   connection that is lost under the caller's body.
 * - Open, every request is refused at once. Probing, several may try, but one of each caller at a time: a probe that hangs
 *   keeps nobody else from finding out, nor does the caller who failed last.
 * - A state has a number, and a probe its own. What a request found out counts only in the state that let it pass: one
 *   that began before the breaker opened neither closes it nor opens it longer.
 * - A probe whose end nobody hears of (the runtime drops a request when its caller goes) is over after `probeMs`.
 */
export const BREAKER = { failures: 3, firstWaitMs: 5_000, maxWaitMs: 60_000, probeMs: 60_000, probes: 16 } as const;

export type BreakerState = { readonly number: number } & (
  | { readonly kind: "closed"; readonly failures: number }
  | { readonly kind: "open"; readonly waitMs: number; readonly untilMs: number }
  | { readonly kind: "probing"; readonly waitMs: number; readonly begun: number; readonly probes: readonly Probe[] }
);

interface Probe {
  readonly number: number;
  readonly caller: string;
  readonly untilMs: number;
}

/** A request that was let pass: by which state, and as which of its probes. */
export interface Ticket {
  readonly number: number;
  readonly probe: number;
}

export type Outcome = "answered" | "failed" | "broken off";

export type Admission =
  | { readonly admitted: true; readonly state: BreakerState; readonly ticket: Ticket }
  | { readonly admitted: false; readonly retryAfterMs: number };

export const CLOSED: BreakerState = { number: 0, kind: "closed", failures: 0 };

export function admit(state: BreakerState, caller: string, nowMs: number): Admission {
  switch (state.kind) {
    case "closed":
      return { admitted: true, state, ticket: { number: state.number, probe: 0 } };
    case "open": {
      if (isAhead(state.untilMs, state.waitMs, nowMs)) return { admitted: false, retryAfterMs: state.untilMs - nowMs };
      return probe(
        { kind: "probing", number: state.number + 1, waitMs: state.waitMs, begun: 0, probes: [] },
        caller,
        nowMs,
      );
    }
    case "probing":
      return probe(state, caller, nowMs);
  }
}

function probe(state: Extract<BreakerState, { kind: "probing" }>, caller: string, nowMs: number): Admission {
  const live = state.probes.filter(({ untilMs }) => isAhead(untilMs, BREAKER.probeMs, nowMs));
  const own = live.find((one) => one.caller === caller);
  const [first] = live;
  const inTheWay = own ?? (live.length < BREAKER.probes ? undefined : first);
  if (inTheWay !== undefined) return { admitted: false, retryAfterMs: inTheWay.untilMs - nowMs };
  const number = state.begun + 1;
  const probes = [...live, { number, caller, untilMs: nowMs + BREAKER.probeMs }];
  return {
    admitted: true,
    state: { ...state, begun: number, probes },
    ticket: { number: state.number, probe: number },
  };
}

/** The second half: a clock that was set back is no reason to wait longer. */
const isAhead = (untilMs: number, longestMs: number, nowMs: number): boolean =>
  untilMs > nowMs && untilMs - nowMs <= longestMs;

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
      const others = state.probes.filter((one) => one.number !== ticket.probe);
      // It was taken for lost.
      if (others.length === state.probes.length) return state;
      if (outcome === "answered") return { kind: "closed", number, failures: 0 };
      if (outcome === "failed") {
        const waitMs = Math.min(2 * state.waitMs, BREAKER.maxWaitMs);
        return open(waitMs, nowMs + waitMs);
      }
      // Nothing was found out, so the next request may.
      return others.length === 0 ? open(state.waitMs, nowMs) : { ...state, probes: others };
    }
    case "open":
      return state;
  }
}
