import type { Subject } from "../lib/bench.ts";
import { bareWorker, type ServerModule } from "../lib/server-module.ts";
import { exchange, repeated } from "../lib/exchange.ts";
import { repeat, type Work } from "../lib/load.ts";
import { consuming } from "./consume.ts";
import { batchOf, BATCH, forAllOperations, MANY, once, PAYLOAD, storedBatches } from "./payload.ts";

export const BARE: ServerModule = { ...bareWorker("events"), stateOn: "disk" };
export const BARE_IN_MEMORY: ServerModule = { ...bareWorker("events"), id: "bare-memory" };

/** `prefix`: of the paths; `/one` for a single object. */
export const setUpBare =
  (prefix: "" | "/one"): Subject["setUp"] =>
  async ({ host, port }, { events: maxEvents, stopping }) => {
    const place = { host, port };
    const publishing = (topic: string, events: number): Work => {
      const event = { payload: PAYLOAD, tenant: "bench", sourceClient: "bench.owner", eventType: "orders" };
      const json = events === 1 ? event : batchOf(events, event);
      const holds = (body: any): boolean => body.ids.length === events;
      const path = `${prefix}/publish?topic=${topic}`;
      return repeated(exchange({ method: "POST", path, host: `${host}:${port}`, json, status: 201, holds }), place);
    };
    const readers = Array.from({ length: MANY }, (_, index) => {
      const at = (operation: string): string => `${prefix}/${operation}?topic=stored&client=reader-${index}`;
      const paths = { read: at("read"), commit: at("commit"), seek: at("seek"), events: "" };
      return { ...place, headers: {}, paths };
    });
    const filled = once(() => repeat(publishing("stored", BATCH), storedBatches(maxEvents), stopping));
    return forAllOperations((kind, events) => async () => {
      if (kind === "publish") return publishing("orders", events);
      await filled();
      return consuming(readers, events);
    });
  };
