import type { ObjectClass } from "./object-schema.ts";

/** An object as its callers see it. */
export interface PingStub {
  ping(): Promise<void>;
}

/** The class whose objects answer `ping`, which reads their storage and changes nothing, for the check of health. */
export function answeringPing<T extends ObjectClass>(Class: T): T {
  return class extends Class {
    ping(): void {
      const { ctx } = this as unknown as { readonly ctx: DurableObjectState };
      ctx.storage.sql.exec("SELECT count(*) FROM sqlite_master").one();
    }
  };
}
