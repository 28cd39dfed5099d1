import { DurableObject } from "cloudflare:workers";
import type { Fault } from "../ledgers/faults.ts";
import type { Chance } from "./chance.ts";

/**
 * Points at which a call or alarm aborts its object:
 * - `before` any of its work.
 * - `unwritten`: after the work, but its last turn is not on disk, and no answer leaves.
 * - `written`: everything is on disk, and no answer leaves.
 * - `soon`: some ms after it began, amid the object's work.
 */
const WAYS = ["before", "unwritten", "written", "soon"] as const;
type Way = (typeof WAYS)[number];

const SOON_MS = 30;

type ObjectClass = new (...args: any[]) => DurableObject<any>;
type Method = (...args: unknown[]) => unknown;

/** Makes a class whose objects abort at times: `ctx.abort()` loses their memory, and callers get an exception. */
export function aborting<C extends ObjectClass>(fault: Fault, Real: C, chance: Chance): C {
  const Aborting = class extends Real {};
  /** Objects inside a call, so that a method that calls another one counts as one call. */
  const inTurn = new WeakSet<object>();

  for (const [method, real] of methodsOf(Real)) {
    const call: Method = function (this: object, ...args) {
      if (inTurn.has(this)) return real.apply(this, args);
      const turn = (): unknown => {
        inTurn.add(this);
        try {
          return real.apply(this, args);
        } finally {
          inTurn.delete(this);
        }
      };
      const way = chance.draw(fault, "aborts", WAYS);
      if (way === undefined) return turn();
      const { ctx } = this as unknown as { readonly ctx: DurableObjectState };
      const abort = (): never => {
        chance.happened(fault, way);
        ctx.abort(`a fault of the soak: ${way} ${method}`);
        throw new Error("an aborted object does no more");
      };
      return END[way]({ turn, abort, ctx, chance });
    };
    Object.defineProperty(Aborting.prototype, method, { value: call, configurable: true });
  }
  return Aborting;
}

interface Ending {
  /** Runs the call itself. */
  turn(): unknown;
  abort(): never;
  readonly ctx: DurableObjectState;
  readonly chance: Chance;
}

const END: Readonly<Record<Way, (ending: Ending) => unknown>> = {
  before: ({ abort }) => abort(),
  unwritten({ turn, abort }) {
    const result = turn();
    // Aborts in the same turn if the call was synchronous.
    return result instanceof Promise ? result.then(abort) : abort();
  },
  async written({ turn, abort, ctx }) {
    await turn();
    await ctx.storage.sync();
    return abort();
  },
  soon({ turn, abort, chance }) {
    setTimeout(abort, chance.random.below(SOON_MS));
    return turn();
  },
};

/** Methods that callers and the runtime may call, including inherited ones. */
function methodsOf(Real: ObjectClass): Map<string, Method> {
  const methods = new Map<string, Method>();
  let level: object = Real.prototype;
  for (; level !== DurableObject.prototype; level = Object.getPrototypeOf(level) as object)
    for (const [name, method] of ownMethods(level)) if (!methods.has(name)) methods.set(name, method);
  return methods;
}

const ownMethods = (prototype: object): [string, Method][] =>
  Object.entries(Object.getOwnPropertyDescriptors(prototype)).flatMap(([name, { value }]) =>
    typeof value === "function" && name !== "constructor" ? [[name, value as Method]] : [],
  );
