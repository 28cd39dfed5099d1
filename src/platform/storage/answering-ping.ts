import type { ObjectClass } from "./object-schema.ts";

/** An object as its callers see it. */
export interface PingStub {
  ping(): Promise<void>;
}

/** Adds the method `ping` to a class of objects, for health checks. It reads the storage and changes nothing. */
export function answeringPing<T extends ObjectClass>(Class: T): T {
  return class extends Class {
    ping(): void {
      const { ctx } = this as unknown as { readonly ctx: DurableObjectState };
      ctx.storage.sql.exec("SELECT count(*) FROM sqlite_master").one();
    }
  };
}
