import { areIndependent, type Caller } from "./caller.ts";

/**
 * Circuit breaker: stops requests to a service that does not answer. Each isolate has, in its memory, one breaker for
 * each service and one for each caller of each service. A request must pass both.
 *
 *   closed ──enough failures in a row──▶ open ──the wait is over, a request comes──▶ probing
 *     ▲ a success resets the failures     ▲                                           │ │
 *     │                                   └──── enough probes failed: double the wait ┘ │
 *     └──────────────────────────── a probe was answered ───────────────────────────────┘
 *
 * - A connection that cannot be opened counts for the service. A failure that the caller may have caused counts only
 *   for that caller: no headers in time, or a lost connection. So a caller of slow operations blocks only itself.
 * - Some services let a caller choose the status, even one that means "no connection". So a service's breaker opens
 *   only on failures of two independent callers (caller.ts). A caller's own breaker needs no second caller.
 * - A response of any status is a success. A request that the caller aborted counts neither way, nor does a connection
 *   that is lost while the caller's body is sent.
 * - An open breaker refuses every request. While probing, several callers may try: one probe per caller at a time, and
 *   a limited share for one tenant and for callers without a token. A probe keeps its place for at most `probeMs`, so
 *   that a hanging one does not delay the others longer. A failed probe keeps its place too, so that the next probe is
 *   another caller's.
 * - Each state has a number. A result counts only in the state that admitted the request: a request from before the
 *   breaker opened neither closes it nor extends the wait.
 */
export const BREAKER = {
  failures: 3,
  firstWaitMs: 5_000,
  maxWaitMs: 60_000,
  /** Maximum time that a probe keeps its place. In a caller's own breaker, no other caller waits for the place. */
  probeMs: { everybody: 5_000, "the caller": 60_000 },
  /** Number of places for probes. */
  probes: { all: 16, ofTenant: 4, ofAnonymous: 8 },
} as const;

/** The callers that a breaker stops: all callers of the service, or one. */
export type BreakerScope = "everybody" | "the caller";

export type BreakerState = { readonly number: number } & (
  | { readonly kind: "closed"; readonly failures: Failures }
  | { readonly kind: "open"; readonly waitMs: number; readonly untilMs: number }
  | {
      readonly kind: "probing";
      readonly waitMs: number;
      readonly begun: number;
      readonly probes: readonly Probe[];
      readonly failures: Failures;
    }
);

/** Failures in a row. */
interface Failures {
  readonly count: number;
  /** The first caller with traits. */
  readonly first: Caller | undefined;
  /** True if a later failure was of a caller that is independent of the first. */
  readonly hasTwoCallers: boolean;
}

interface Probe {
  readonly number: number;
  readonly caller: Caller;
  readonly untilMs: number;
}

/** An admitted request: its caller, the number of the state, and of the probe if it is one. */
export interface Ticket {
  readonly caller: Caller;
  readonly number: number;
  readonly probe: number;
}

export type Outcome = "answered" | "failed" | "broken off";

export type Admission =
  | { readonly admitted: true; readonly state: BreakerState; readonly ticket: Ticket }
  | { readonly admitted: false; readonly retryAfterMs: number };

const NONE: Failures = { count: 0, first: undefined, hasTwoCallers: false };
export const CLOSED: BreakerState = { number: 0, kind: "closed", failures: NONE };

export function admit(state: BreakerState, caller: Caller, nowMs: number, scope: BreakerScope): Admission {
  switch (state.kind) {
    case "closed":
      return { admitted: true, state, ticket: { caller, number: state.number, probe: 0 } };
    case "open": {
      const { number, waitMs, untilMs } = state;
      if (isAhead(untilMs, waitMs, nowMs)) return { admitted: false, retryAfterMs: untilMs - nowMs };
      const probing = { kind: "probing", number: number + 1, waitMs, begun: 0, probes: [], failures: NONE } as const;
      return probe(probing, caller, nowMs, scope);
    }
    case "probing":
      return probe(state, caller, nowMs, scope);
  }
}

function probe(
  state: Extract<BreakerState, { kind: "probing" }>,
  caller: Caller,
  nowMs: number,
  scope: BreakerScope,
): Admission {
  const probeMs = BREAKER.probeMs[scope];
  const held = state.probes.filter(({ untilMs }) => isAhead(untilMs, probeMs, nowMs));
  const blocking = held.find((one) => one.caller.id === caller.id) ?? placeTaken(held, caller);
  if (blocking !== undefined) return { admitted: false, retryAfterMs: blocking.untilMs - nowMs };
  const number = state.begun + 1;
  const probes = [...held, { number, caller, untilMs: nowMs + probeMs }];
  return {
    admitted: true,
    state: { ...state, begun: number, probes },
    ticket: { caller, number: state.number, probe: number },
  };
}

/** The oldest probe, if the caller's tenant or all callers together have no place left. */
function placeTaken(held: readonly Probe[], { tenant }: Caller): Probe | undefined {
  const { all, ofTenant, ofAnonymous } = BREAKER.probes;
  const share = held.filter((one) => one.caller.tenant === tenant);
  if (share.length >= (tenant === undefined ? ofAnonymous : ofTenant)) return share[0];
  return held.length >= all ? held[0] : undefined;
}

/** A time further away than `longestMs` means that the clock was set back: do not wait for it. */
const isAhead = (untilMs: number, longestMs: number, nowMs: number): boolean =>
  untilMs > nowMs && untilMs - nowMs <= longestMs;

/** The state after an admitted request has ended. */
export function settle(
  state: BreakerState,
  ticket: Ticket,
  outcome: Outcome,
  nowMs: number,
  scope: BreakerScope,
): BreakerState {
  if (ticket.number !== state.number || state.kind === "open") return state;
  const number = state.number + 1;
  const open = (waitMs: number): BreakerState => ({ kind: "open", number, waitMs, untilMs: nowMs + waitMs });
  switch (outcome) {
    case "answered":
      if (state.kind === "probing") return { kind: "closed", number, failures: NONE };
      return state.failures === NONE ? state : { ...state, failures: NONE };
    case "failed": {
      const failures = addFailure(ticket.caller, state.failures);
      const isConfirmed = scope === "the caller" || failures.hasTwoCallers;
      if (isConfirmed && state.kind === "probing") return open(Math.min(2 * state.waitMs, BREAKER.maxWaitMs));
      if (isConfirmed && failures.count >= BREAKER.failures) return open(BREAKER.firstWaitMs);
      return { ...state, failures };
    }
    case "broken off": {
      if (state.kind === "closed") return state;
      // The probe has no result, so free its place.
      const probes = state.probes.filter((one) => one.number !== ticket.probe);
      return probes.length === state.probes.length ? state : { ...state, probes };
    }
  }
}

function addFailure(caller: Caller, { count, first, hasTwoCallers: areOfTwo }: Failures): Failures {
  if (first === undefined)
    return { count: count + 1, first: caller.traits.length > 0 ? caller : undefined, hasTwoCallers: areOfTwo };
  return { count: count + 1, first, hasTwoCallers: areOfTwo || areIndependent(first, caller) };
}
