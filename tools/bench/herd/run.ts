import { outcomeOf } from "./outcome.ts";
import { simulate } from "./simulate.ts";

const LOADS = [
  { isolates: 100, requestsPerSec: 1_400 },
  { isolates: 300, requestsPerSec: 9_000 },
  { isolates: 1_000, requestsPerSec: 50_000 },
] as const;
const STALLS_SEC = [5, 30, 120];

/** `npm run bench -- herd`: many isolates over a database that stalls, in virtual time. Prints a line for each case. */
export async function runHerd(options: { readonly isolates: number; readonly seed: number }): Promise<void> {
  console.log("isolates  requests/s  stall  refused in it  whole after  queries/s before, in, after");
  for (const load of LOADS.filter(({ isolates }) => isolates <= options.isolates))
    for (const stallSec of STALLS_SEC) {
      const herd = { ...load, stallMs: stallSec * 1000, seed: options.seed, afterMs: 60_000 };
      const outcome = outcomeOf(await simulate(herd));
      const { refusedInStallPercent, wholeAfterSec, queriesBefore, queriesInStall, queriesAfter } = outcome;
      const cells = [
        String(load.isolates).padStart(8),
        String(load.requestsPerSec).padStart(10),
        `${stallSec} s`.padStart(5),
        `${refusedInStallPercent.toFixed(1)} %`.padStart(13),
        `${wholeAfterSec} s`.padStart(11),
        [queriesBefore, queriesInStall, queriesAfter].map((mean) => mean.toFixed(0)).join(", "),
      ];
      console.log(cells.join("  "));
    }
}
