import { waitUntil } from "cloudflare:workers";
import { systemClock } from "../../src/platform/clock.ts";
import { createIsolate } from "../../src/platform/isolate.ts";
import { systemRandom } from "../../src/platform/random.ts";

/** The isolate of the test itself, for parts that are tested alone. */
export const ownIsolate = createIsolate(systemClock, systemRandom, waitUntil);
