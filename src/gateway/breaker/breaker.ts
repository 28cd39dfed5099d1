import { areApart, type Caller } from "./caller.ts";

/**
 * When a service that does not answer is left alone (contract section 6). There is a breaker for each service, and one for
 * each caller of each service, in the memory of an isolate. A request has to pass both.
 *
 *   closed ──enough failures in a row──▶ open ──its wait is over, a request comes──▶ probing
 *     ▲ a success forgets the failures    ▲                                          │ │
 *     │                                   └──── enough probes failed: twice the wait ┘ │
 *     └──────────────────────────── a probe was answered ──────────────────────────────┘
 *
 * - A missing connection counts for the service. What a caller may have brought about counts for that caller alone: no
 *   headers in time, a connection that was lost. So a caller of slow operations shuts a service to nobody else.
 * - Some services let a caller choose the status, one that says "no connection" too. So for the service failures are
 *   enough only where two of them are of callers who cannot be the same one (caller.ts). A caller's own breaker asks for no
 *   second caller.
 * - An answer is a success whatever its status, since somebody is there. What the caller broke off is neither, nor a
 *   connection that is lost under the caller's body.
 * - Open, every request is refused at once. Probing, several may try: one of each caller at a time, and no more of one
 *   tenant, or of those without a token, than their share. A probe keeps its place for `probeMs`, so that one that hangs
 *   keeps nobody else from finding out for longer. One that failed keeps it too: others are next.
 * - A state has a number. What a request found out counts only in the state that let it pass: one that began before the
 *   breaker opened neither closes it nor opens it longer.
 */
export const BREAKER = {
  failures: 3,
  firstWaitMs: 5_000,
  maxWaitMs: 60_000,
  /** How long a probe keeps its place. In a caller's own breaker nobody else waits for it. */
  probeMs: { everybody: 5_000, "the caller": 60_000 },
  /** How many have a place at a time. */
  probes: { all: 16, ofTenant: 4, ofStrangers: 8 },
} as const;

/** By whom a breaker is felt: by all callers of the service, or by one. */
export type Felt = "everybody" | "the caller";

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

/** Those in a row. */
interface Failures {
  readonly count: number;
  /** The first one who can be told apart from others. */
  readonly first: Caller | undefined;
  /** One was of somebody else than the first. */
  readonly areOfTwo: boolean;
}

interface Probe {
  readonly number: number;
  readonly caller: Caller;
  readonly untilMs: number;
}

/** A request that was let pass: whose, by which state, and as which of its probes. */
export interface Ticket {
  readonly caller: Caller;
  readonly number: number;
  readonly probe: number;
}

export type Outcome = "answered" | "failed" | "broken off";

export type Admission =
  | { readonly admitted: true; readonly state: BreakerState; readonly ticket: Ticket }
  | { readonly admitted: false; readonly retryAfterMs: number };

const NONE: Failures = { count: 0, first: undefined, areOfTwo: false };
export const CLOSED: BreakerState = { number: 0, kind: "closed", failures: NONE };

export function admit(state: BreakerState, caller: Caller, nowMs: number, felt: Felt): Admission {
  switch (state.kind) {
    case "closed":
      return { admitted: true, state, ticket: { caller, number: state.number, probe: 0 } };
    case "open": {
      const { number, waitMs, untilMs } = state;
      if (isAhead(untilMs, waitMs, nowMs)) return { admitted: false, retryAfterMs: untilMs - nowMs };
      const probing = { kind: "probing", number: number + 1, waitMs, begun: 0, probes: [], failures: NONE } as const;
      return probe(probing, caller, nowMs, felt);
    }
    case "probing":
      return probe(state, caller, nowMs, felt);
  }
}

function probe(
  state: Extract<BreakerState, { kind: "probing" }>,
  caller: Caller,
  nowMs: number,
  felt: Felt,
): Admission {
  const probeMs = BREAKER.probeMs[felt];
  const held = state.probes.filter(({ untilMs }) => isAhead(untilMs, probeMs, nowMs));
  const inTheWay = held.find((one) => one.caller.id === caller.id) ?? oldestOfTooMany(held, caller);
  if (inTheWay !== undefined) return { admitted: false, retryAfterMs: inTheWay.untilMs - nowMs };
  const number = state.begun + 1;
  const probes = [...held, { number, caller, untilMs: nowMs + probeMs }];
  return {
    admitted: true,
    state: { ...state, begun: number, probes },
    ticket: { caller, number: state.number, probe: number },
  };
}

/** The place that is free first, where the caller's tenant, or all together, have as many as they may. */
function oldestOfTooMany(held: readonly Probe[], { tenant }: Caller): Probe | undefined {
  const { all, ofTenant, ofStrangers } = BREAKER.probes;
  const share = held.filter((one) => one.caller.tenant === tenant);
  if (share.length >= (tenant === undefined ? ofStrangers : ofTenant)) return share[0];
  return held.length >= all ? held[0] : undefined;
}

/** The second half: a clock that was set back is no reason to wait longer. */
const isAhead = (untilMs: number, longestMs: number, nowMs: number): boolean =>
  untilMs > nowMs && untilMs - nowMs <= longestMs;

/** The state after a request that had passed came to its end. */
export function settle(state: BreakerState, ticket: Ticket, outcome: Outcome, nowMs: number, felt: Felt): BreakerState {
  if (ticket.number !== state.number || state.kind === "open") return state;
  const number = state.number + 1;
  const open = (waitMs: number): BreakerState => ({ kind: "open", number, waitMs, untilMs: nowMs + waitMs });
  switch (outcome) {
    case "answered":
      if (state.kind === "probing") return { kind: "closed", number, failures: NONE };
      return state.failures === NONE ? state : { ...state, failures: NONE };
    case "failed": {
      const failures = withOneOf(ticket.caller, state.failures);
      const isProved = felt === "the caller" || failures.areOfTwo;
      if (isProved && state.kind === "probing") return open(Math.min(2 * state.waitMs, BREAKER.maxWaitMs));
      if (isProved && failures.count >= BREAKER.failures) return open(BREAKER.firstWaitMs);
      return { ...state, failures };
    }
    case "broken off": {
      if (state.kind === "closed") return state;
      // Nothing was found out, so the next request may.
      const probes = state.probes.filter((one) => one.number !== ticket.probe);
      return probes.length === state.probes.length ? state : { ...state, probes };
    }
  }
}

function withOneOf(caller: Caller, { count, first, areOfTwo }: Failures): Failures {
  if (first === undefined) return { count: count + 1, first: caller.marks.length > 0 ? caller : undefined, areOfTwo };
  return { count: count + 1, first, areOfTwo: areOfTwo || areApart(first, caller) };
}
