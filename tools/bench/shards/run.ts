import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { whole } from "../lib/statistics.ts";
import { csvOf } from "./csv.ts";
import { capacityOf, SHARDS } from "./simulate.ts";
import { latencyOf, WAITS } from "./waits.ts";

/**
 * `npm run bench -- shards`: the load that shards carry by published limits, and the waits of callers who are far away.
 */
export function runShards({ seed, out }: { readonly seed: number; readonly out: string }): void {
  const capacities = SHARDS.map((shards) => capacityOf(shards, seed));
  const columns = [
    ["shards", ({ shards }) => whole(shards)],
    ["tenants", ({ tenants }) => whole(tenants)],
    ["uploads/s", ({ uploadsPerSec }) => whole(uploadsPerSec)],
    ["if tenants were equal", ({ uploadsPerSecEven }) => whole(uploadsPerSecEven)],
    ["fullest shard", ({ fullest }) => `${fullest.toFixed(2)} of the mean`],
    ["sign-ins/s", ({ signInsPerSec }) => whole(signInsPerSec)],
    ["files, million", ({ files }) => whole(files / 1e6)],
    ["all in D1", ({ filesInD1 }) => whole(filesInD1 / 1e6)],
  ] as const satisfies readonly Column<(typeof capacities)[number]>[];
  show(columns, capacities);
  const [{ waitMs } = { waitMs: 0 }] = capacities;
  console.log(
    `\nAt the fullest shard one round trip in a hundred waits ${waitMs.toFixed(1)} ms or more for its turn.\n`,
  );
  const latencies = WAITS.map(latencyOf);
  show(
    [
      ["ms of an operation from far away", ({ operation }) => operation],
      ["Worker near the caller", ({ beforeMs }) => whole(beforeMs)],
      ["Worker near the databases", ({ placedMs }) => whole(placedMs)],
      ["shard in an object near the caller", ({ objectMs }) => whole(objectMs)],
    ] satisfies readonly Column<(typeof latencies)[number]>[],
    latencies,
  );
  mkdirSync(out, { recursive: true });
  write(join(out, "shards.csv"), capacities);
  write(join(out, "waits.csv"), latencies);
}

type Column<Row> = readonly [title: string, cell: (row: Row) => string];

/** A table of Markdown. */
function show<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): void {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  console.log(line(columns.map(([title]) => title)));
  console.log(line(columns.map(() => "---")));
  for (const row of rows) console.log(line(columns.map(([, cell]) => cell(row))));
}

function write(path: string, rows: readonly object[]): void {
  writeFileSync(path, csvOf(rows));
  console.log(`\nwrote ${path}`);
}
