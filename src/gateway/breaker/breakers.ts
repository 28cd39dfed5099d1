import {
  admit,
  CLOSED,
  settle,
  type Admission,
  type BreakerState,
  type Felt,
  type Outcome,
  type Ticket,
} from "./breaker.ts";
import type { Caller } from "./caller.ts";

/** Whom a request is for, and who is behind it. */
export interface Called {
  /** Another one when the service's address changes. */
  readonly service: string;
  readonly caller: Caller;
}

/** How a call ended: `unreached` is no connection, `failed` whatever came after that. */
export type Ending = Outcome | "unreached";

export interface Passed {
  readonly service: Ticket;
  readonly caller: Ticket;
}

export interface Changed {
  readonly felt: Felt;
  readonly now: "opened" | "closed";
}

/** The breakers of an isolate. */
export interface Breakers {
  admit(
    called: Called,
    nowMs: number,
  ): { readonly passed: Passed } | { readonly felt: Felt; readonly retryAfterMs: number };
  /** What opened or closed by this. */
  settle(called: Called, passed: Passed, ending: Ending, nowMs: number): readonly Changed[];
}

/** Of each of the two kinds. Who makes up callers pushes out old ones, which are taken for well then. */
export const MAX_BREAKERS = 10_000;

const FOR_SERVICE: Readonly<Record<Ending, Outcome>> = {
  answered: "answered",
  unreached: "failed",
  failed: "broken off",
  "broken off": "broken off",
};
/** Three failures in a row of one caller are three, of whichever kind. */
const FOR_CALLER: Readonly<Record<Ending, Outcome>> = { ...FOR_SERVICE, failed: "failed" };

export function createBreakers(): Breakers {
  const services = new States("everybody");
  const callers = new States("the caller");
  const keyOf = ({ service, caller }: Called): string => JSON.stringify([service, caller.id]);
  return {
    admit(called, nowMs) {
      const key = keyOf(called);
      const service = services.admit(called.service, called.caller, nowMs);
      if (!service.admitted) return { felt: "everybody", retryAfterMs: service.retryAfterMs };
      const caller = callers.admit(key, called.caller, nowMs);
      if (!caller.admitted) return { felt: "the caller", retryAfterMs: caller.retryAfterMs };
      // Not before both let it pass: a probe that is refused by the other one would never end.
      services.keep(called.service, service.state);
      callers.keep(key, caller.state);
      return { passed: { service: service.ticket, caller: caller.ticket } };
    },
    settle(called, passed, ending, nowMs) {
      const service = services.settle(called.service, passed.service, FOR_SERVICE[ending], nowMs);
      const caller = callers.settle(keyOf(called), passed.caller, FOR_CALLER[ending], nowMs);
      return [
        ...(service === undefined ? [] : [{ felt: "everybody", now: service } as const]),
        ...(caller === undefined ? [] : [{ felt: "the caller", now: caller } as const]),
      ];
    },
  };
}

/** None for what is well. */
class States {
  readonly #states = new Map<string, BreakerState>();
  readonly #felt: Felt;

  constructor(felt: Felt) {
    this.#felt = felt;
  }

  admit(key: string, caller: Caller, nowMs: number): Admission {
    return admit(this.#states.get(key) ?? CLOSED, caller, nowMs, this.#felt);
  }

  settle(key: string, ticket: Ticket, outcome: Outcome, nowMs: number): Changed["now"] | undefined {
    const before = this.#states.get(key) ?? CLOSED;
    const after = settle(before, ticket, outcome, nowMs, this.#felt);
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
