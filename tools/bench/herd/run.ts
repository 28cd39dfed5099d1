import { missed, outcomeOf } from "./outcome.ts";
import { simulate } from "./simulate.ts";

const LOADS = [
  { isolates: 100, requestsPerSec: 1_400 },
  { isolates: 300, requestsPerSec: 9_000 },
  { isolates: 1_000, requestsPerSec: 50_000 },
] as const;
const STALLS_SEC = [5, 30, 120];

/**
 * `npm run bench -- herd`: many isolates over a database that stalls, in virtual time. Prints a line for each case, and
 * ends with 1 if one is over its bounds.
 */
export async function runHerd(options: { readonly isolates: number; readonly seed: number }): Promise<void> {
  console.log("isolates  requests/s  stall  refused in it  whole after  queries/s before, in, after (worst second)");
  for (const load of LOADS.filter(({ isolates }) => isolates <= options.isolates))
    for (const stallSec of STALLS_SEC) {
      const stallMs = stallSec * 1000;
      const outcome = outcomeOf(await simulate({ ...load, stallMs, seed: options.seed, afterMs: 60_000 }));
      const { refusedInStallPercent, wholeAfterSec, queriesBefore, queriesInStall, queriesAfter } = outcome;
      const means = [queriesBefore, queriesInStall, queriesAfter].map((mean) => mean.toFixed(0)).join(", ");
      const cells = [
        String(load.isolates).padStart(8),
        String(load.requestsPerSec).padStart(10),
        `${stallSec} s`.padStart(5),
        `${refusedInStallPercent.toFixed(1)} %`.padStart(13),
        `${wholeAfterSec} s`.padStart(11),
        `${means} (${outcome.queriesWorstSec})`,
      ];
      console.log(cells.join("  "));
      for (const sentence of missed(load.isolates, stallMs, outcome)) {
        console.log(`  missed: ${sentence}`);
        process.exitCode = 1;
      }
    }
}
