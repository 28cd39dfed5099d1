import {
  admit,
  CLOSED,
  settle,
  type Admission,
  type BreakerState,
  type BreakerScope,
  type Outcome,
  type Ticket,
} from "./breaker.ts";
import type { Caller } from "./caller.ts";

/** The service and the caller of a request. */
export interface BreakerCall {
  /** Name and address: a new address gets a new breaker. */
  readonly service: string;
  readonly caller: Caller;
}

/** Outcome of a call: `unreached` means no connection, `failed` any failure after that. */
export type CallOutcome = Outcome | "unreached";

export interface Tickets {
  readonly service: Ticket;
  readonly caller: Ticket;
}

export interface BreakerChange {
  readonly scope: BreakerScope;
  readonly change: "opened" | "closed";
}

/** Maximum number of breakers of each scope. Beyond it the least recently used one is dropped, and so closed. */
export const MAX_BREAKERS = 10_000;

const SERVICE_OUTCOMES: Readonly<Record<CallOutcome, Outcome>> = {
  answered: "answered",
  unreached: "failed",
  failed: "broken off",
  "broken off": "broken off",
};
/** Any kind of failure counts for the caller. */
const CALLER_OUTCOMES: Readonly<Record<CallOutcome, Outcome>> = { ...SERVICE_OUTCOMES, failed: "failed" };

export type Breakers = ReturnType<typeof createBreakers>;

/** The breakers of an isolate. */
export function createBreakers() {
  const services = new BreakerMap("everybody");
  const callers = new BreakerMap("the caller");
  const keyOf = ({ service, caller }: BreakerCall): string => JSON.stringify([service, caller.id]);
  return {
    admit(
      call: BreakerCall,
      nowMs: number,
    ): { readonly tickets: Tickets } | { readonly scope: BreakerScope; readonly retryAfterMs: number } {
      const key = keyOf(call);
      const service = services.admit(call.service, call.caller, nowMs);
      if (!service.admitted) return { scope: "everybody", retryAfterMs: service.retryAfterMs };
      const caller = callers.admit(key, call.caller, nowMs);
      if (!caller.admitted) return { scope: "the caller", retryAfterMs: caller.retryAfterMs };
      // Store the states only if both breakers admit the request: a probe that the other one refuses would never end.
      services.keep(call.service, service.state);
      callers.keep(key, caller.state);
      return { tickets: { service: service.ticket, caller: caller.ticket } };
    },
    /** Returns which breakers opened or closed. */
    settle(call: BreakerCall, tickets: Tickets, outcome: CallOutcome, nowMs: number): readonly BreakerChange[] {
      const service = services.settle(call.service, tickets.service, SERVICE_OUTCOMES[outcome], nowMs);
      const caller = callers.settle(keyOf(call), tickets.caller, CALLER_OUTCOMES[outcome], nowMs);
      return [
        ...(service === undefined ? [] : [{ scope: "everybody" as const, change: service }]),
        ...(caller === undefined ? [] : [{ scope: "the caller" as const, change: caller }]),
      ];
    },
  };
}

/** Breakers by key; a key without an entry is closed. */
class BreakerMap {
  readonly #states = new Map<string, BreakerState>();
  readonly #scope: BreakerScope;

  constructor(scope: BreakerScope) {
    this.#scope = scope;
  }

  admit(key: string, caller: Caller, nowMs: number): Admission {
    return admit(this.#states.get(key) ?? CLOSED, caller, nowMs, this.#scope);
  }

  settle(key: string, ticket: Ticket, outcome: Outcome, nowMs: number): BreakerChange["change"] | undefined {
    const before = this.#states.get(key) ?? CLOSED;
    const after = settle(before, ticket, outcome, nowMs, this.#scope);
    if (after === before) return undefined;
    this.keep(key, after);
    if (after.kind === "open" && before.kind === "closed") return "opened";
    return after.kind === "closed" && before.kind === "probing" ? "closed" : undefined;
  }

  keep(key: string, state: BreakerState): void {
    if (state === CLOSED) return;
    this.#states.delete(key);
    this.#states.set(key, state);
    const [oldest] = this.#states.keys();
    if (this.#states.size > MAX_BREAKERS && oldest !== undefined) this.#states.delete(oldest);
  }
}
