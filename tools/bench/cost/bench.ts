import type { Bench } from "../lib/bench.ts";
import { consumeRows, publishRows, pushRows } from "./events.ts";
import { fixedStudy } from "./fixed.ts";
import { mediaRows } from "./media.ts";
import { oauthRows } from "./oauth.ts";
import { gatewayRows } from "./platform-rows.ts";
import { COUNTED_R2 } from "./study.ts";
import { LOGS_BY_GB, PRICES_READ } from "./prices.ts";
import { storedStudy } from "./stored.ts";
import { costStudy } from "./study.ts";
import { uploadRows } from "./upload.ts";

export const costBench: Bench = {
  summary: "operations counted as Cloudflare bills them, and the price of a million",
  notes: [
    "Each number is for one operation with everything that follows it: alarms, deliveries, queue messages, work after " +
      "the answer. It is counted around the platform's own Worker (tools/bench/cost/worker.ts) with `LOG_LEVEL=info` as " +
      "deployed and fresh caches. CPU ms is the processor time of the whole local runtime with D1, R2 and the objects, so " +
      "more than a Worker is billed for. Object ms is the time from call to answer, and of alarms; deployed, writes wait " +
      "for other machines, and 10 ms more cost US$ 0.016 a million. A log event is a logged line: " +
      "invocations are not logged. Rows deleted later are those that end by time: codes, sessions, used refresh tokens, rows of " +
      "the audit log, events, deliveries; a deleted row is billed as one written, and is in the US$. Logs by the GB: as " +
      `billed from ${LOGS_BY_GB.from} on, with ${LOGS_BY_GB.bytesBesides} bytes of Cloudflare's beside each line (assumed), and not in ` +
      "the US$. US$ a million: beyond what the plan includes, at the prices of the Workers Paid plan of " +
      `${PRICES_READ} (tools/bench/cost/prices.ts).`,
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
