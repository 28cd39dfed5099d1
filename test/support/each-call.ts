import { vi } from "vitest";
import type { Env } from "../../src/env.ts";
import { shardBinding } from "../../src/platform/storage/shards.ts";
import { faultAt } from "../media/support/faults.ts";
import { isolate, type Isolate } from "./isolate.ts";

/**
 * Runs a story with each fault of a database: before a call, and with its answer lost. It ends when the story has no
 * more calls. `breaking` returns an isolate that breaks off. `stride` is the distance of the calls with a fault.
 * Returns the number of runs that broke off.
 */
export async function atEachCall(
  story: (breaking: () => Isolate["fetch"], number: number) => Promise<void>,
  stride = 1,
  others: Partial<Env> = {},
): Promise<number> {
  vi.spyOn(console, "error").mockImplementation(() => {});
  vi.spyOn(console, "warn").mockImplementation(() => {});
  let calls = 0;
  for (const when of ["before", "after"] as const) {
    const faults = faultAt();
    const bindings = Object.fromEntries(faults.shards.map(({ number, db }) => [shardBinding(number), db]));
    for (let number = 0; ; number += stride) {
      faults.arm(Infinity, when);
      await story(() => {
        const { fetch } = isolate({ ...others, ...bindings });
        faults.arm(number, when);
        return fetch;
      }, number);
      if (faults.seen() <= number) break;
      calls++;
    }
  }
  vi.restoreAllMocks();
  return calls;
}
