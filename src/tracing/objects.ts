/**
 * Spans of calls to objects, and inside them.
 *
 *   caller: span TopicLog.append ── inTrace(traceparent, "append", args) ──→ object: span TopicLog.append
 *     ├── not sampled: append(args), as if there were no tracing
 *     └── the object still runs a release without `inTrace`: nothing has run, so append(args)
 *
 * The caller decides whether a call is sampled. The object's spans join the caller's trace, and the object sends them.
 * An alarm has no caller: it is a root, sampled like a request.
 */
import type { ObjectClass } from "../platform/storage/object-schema.ts";
import type { Tracing } from "../platform/ports/tracing.ts";

type Call = (...args: unknown[]) => unknown;
type InTrace = (traceparent: string, method: string, args: readonly unknown[]) => Promise<unknown>;

const about = (className: string) => ({ "rpc.system": "durable_objects", "rpc.service": className });

/** The namespace, with a span around each call of a method of its objects. */
export function tracedObjects<T extends { getByName(name: string): unknown }>(
  namespace: T,
  className: string,
  tracing: Tracing,
): T {
  const getByName = (name: string) =>
    new Proxy(namespace.getByName(name) as Record<string, Call>, {
      get(stub, method) {
        if (typeof method !== "string" || method === "then") return Reflect.get(stub, method) as unknown;
        // Calls the method on the stub itself: a stub returns a new function at each access, without `apply`.
        const plain: Call = (...args) => stub[method]!(...args);
        return (...args: unknown[]) =>
          tracing.child(`${className}.${method}`, about(className), async () => {
            const { traceparent } = tracing.outgoing();
            // A response with a WebSocket cannot be the result of an RPC.
            if (traceparent === undefined || method === "fetch") return plain(...args);
            try {
              return await (stub as unknown as { inTrace: InTrace }).inTrace(traceparent, method, args);
            } catch (thrown) {
              if (!String(thrown).includes('does not implement the method "inTrace"')) throw thrown;
              return plain(...args);
            }
          });
      },
    });
  return { getByName } as unknown as T;
}

interface Running {
  readonly ctx: DurableObjectState;
}

export interface SpansOf<E> {
  /** The tracing of the isolate that an object runs in. */
  tracingOf(env: E): Tracing;
  /** The bindings with spans around the calls that an object makes. */
  traced(env: E): E;
}

/** Extends a class, so that its objects continue the trace of a caller and each alarm has a trace of its own. */
export function withSpans<E, T extends ObjectClass>(Class: T, name: string, { tracingOf, traced }: SpansOf<E>): T {
  const tracings = new WeakMap<object, Tracing>();
  const optionsFor = ({ ctx }: Running, method: string) => ({
    name: `${name}.${method}`,
    waitUntil: (work: Promise<unknown>) => ctx.waitUntil(work),
  });
  const Traced = class extends Class {
    // TypeScript extends a class of unknown parameters only by `any`.
    // oxlint-disable-next-line typescript/no-explicit-any
    constructor(...[context, env, ...more]: any[]) {
      super(context, traced(env as E), ...more);
      tracings.set(this, tracingOf(env as E));
    }

    async inTrace(traceparent: string, method: string, args: readonly unknown[]): Promise<unknown> {
      const own = this as unknown as Running & Record<string, Call>;
      // A caller of a newer release knows by the runtime's error that this one lacks the method.
      if (!(method in own)) throw new TypeError(`The RPC receiver does not implement the method "${method}".`);
      const parent = new Headers({ traceparent });
      const options = { ...optionsFor(own, method), kind: "server", parent, isSampled: true } as const;
      return tracings.get(this)!.root(options, async (span) => {
        span.set(about(name));
        return own[method]!(...args);
      });
    }
  };
  const { alarm } = Class.prototype as { alarm?: (this: Running, ...args: unknown[]) => Promise<void> };
  if (alarm !== undefined)
    Object.assign(Traced.prototype, {
      alarm(this: Running, ...args: unknown[]) {
        const options = { ...optionsFor(this, "alarm"), kind: "internal" } as const;
        return tracings.get(this)!.root(options, () => alarm.apply(this, args));
      },
    });
  return Traced;
}
