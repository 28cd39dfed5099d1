import { DurableObject } from "cloudflare:workers";
import { prepareRestore, type PrepareOutcome, type Restorable, type RestoreTo } from "./object-restore.ts";

/** A Durable Object that can be restored to an earlier time (object-restore.ts). */
export abstract class RestorableObject<Env> extends DurableObject<Env> implements Restorable {
  prepareRestore(to: RestoreTo): Promise<PrepareOutcome> {
    return prepareRestore(this.ctx.storage, to);
  }

  /** Ends this session; the next one begins with the prepared state. */
  restart(): void {
    this.ctx.abort("restored to another time");
  }
}
