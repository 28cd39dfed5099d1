import { waitUntil } from "cloudflare:workers";
import { systemClock } from "../../../src/platform/runtime/clock.ts";
import { createIsolate } from "../../../src/platform/copies/isolate.ts";
import { systemRandom } from "../../../src/platform/runtime/random.ts";

/** The isolate of the test itself, for parts that a test creates alone. */
export const ownIsolate = createIsolate(systemClock, systemRandom, waitUntil);
