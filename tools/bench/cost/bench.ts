import type { Bench } from "../lib/bench.ts";
import { consumeRows, publishRows, pushRows } from "./events.ts";
import { fixedStudy } from "./fixed.ts";
import { mediaRows } from "./media.ts";
import { oauthRows } from "./oauth.ts";
import { gatewayRows } from "./platform-rows.ts";
import { COUNTED_R2 } from "./study.ts";
import { PRICES_READ } from "./prices.ts";
import { storedStudy } from "./stored.ts";
import { costStudy } from "./study.ts";
import { uploadRows } from "./upload.ts";

export const costBench: Bench = {
  summary: "what operations are made of on Cloudflare, counted, and what a million of them costs",
  notes: [
    "Each number is of one operation, with all that follows it: alarms, deliveries, messages of the queue, work after the " +
      "answer; counted around the platform's own Worker (tools/bench/cost/worker.ts), `LOG_LEVEL=info` as deployed, what an " +
      "isolate remembers being fresh. CPU ms is the processor time of the whole local runtime, that of D1, R2 and the " +
      "objects included, so more than a Worker is billed for. Object ms is the time from a call to its answer, and of " +
      "alarms; on Cloudflare writes wait for other machines, and 10 ms more cost US$ 0.016 a million. A log event is an " +
      "invocation of the Worker or of an object, or a line. US$ a million: beyond what the plan includes, with the prices " +
      `of the Workers Paid plan of ${PRICES_READ} (tools/bench/cost/prices.ts).`,
  ],
  operations: [],
  subjects: [],
  ratios: [],
  // The study at rest runs first. Push runs after the proof of an erasure, which moves the clock by a day:
  // subscriptions have periodic work of their own.
  studies: [
    fixedStudy,
    costStudy("oauth", "OAuth", oauthRows),
    costStudy("gateway", "Gateway and operator service", gatewayRows),
    costStudy("upload", "Uploads", uploadRows),
    costStudy("upload-r2", "Uploads straight to R2", uploadRows, COUNTED_R2),
    costStudy("media", "Media", mediaRows),
    costStudy("publish", "Publishing", publishRows),
    costStudy("consume", "Reading", consumeRows),
    costStudy("push", "Pushing", pushRows),
    storedStudy,
  ],
};
