import type { Tracing } from "../platform/tracing.ts";

/** The namespace, with a span around each call of a method of its objects. */
export function tracedObjects<T extends { getByName(name: string): unknown }>(
  namespace: T,
  className: string,
  tracing: Tracing,
): T {
  const getByName = (name: string) =>
    new Proxy(namespace.getByName(name) as Record<string, (...args: unknown[]) => Promise<unknown>>, {
      get(stub, method) {
        if (typeof method !== "string" || method === "then") return Reflect.get(stub, method) as unknown;
        // Called on the stub itself: its methods are made anew at each look and know no `apply`.
        return (...args: unknown[]) =>
          tracing.child(`${className}.${method}`, { "rpc.system": "durable_objects", "rpc.service": className }, () =>
            Promise.resolve(stub[method]!(...args)),
          );
      },
    });
  return { getByName } as unknown as T;
}
