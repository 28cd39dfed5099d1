import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { HELP, readOptions } from "../tools/soak/options.ts";
import { faultTable, latencyTable, totalsLine } from "../tools/soak/table.ts";
import { plot } from "../tools/soak/plot.ts";
import { soak } from "../tools/soak/run.ts";
import { paint } from "./lib/terminal.ts";
import { failWith } from "./lib/user-error.ts";

/**
 * `npm run soak`: loads all services at once, with arrivals by the clock and faults from a seed. Then checks that
 * nothing acknowledged was lost, doubled, mixed up or left over.
 *
 * platform → the run's records → load and faults → drain → checks → table and plot
 */
const stopping = new AbortController();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => stopping.abort());

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2));
  if (options === undefined) return console.log(HELP);
  const { seconds, rate, seed, out } = options;
  console.log(`${seconds} s at ${rate} requests a second, --seed ${seed}`);
  const { latencies, kills, faults, violations, errors, summary } = await soak(options, stopping.signal);

  const rows = latencies.rows();
  const totals = latencies.totals(seconds);
  console.log(`\n${latencyTable(rows)}\n\n${faultTable(faults.rows())}\n`);
  console.log(`${totalsLine(totals, rate)}\n${summary}`);
  const title = `Plinth, npm run soak: ${seconds} s, ${rate} requests a second, seed ${seed}, kills: ${kills.length}`;
  mkdirSync(out, { recursive: true });
  writeFileSync(join(out, "soak.svg"), plot({ title, seconds, rows, measured: latencies.measured, kills }));
  const happened = { faults: faults.rows(), kills };
  const broken = violations.lines(1_000);
  // Log lines of the requests that the violations name.
  const said = errors.filter((line) => {
    const id = /"requestId":"(\w+)"/.exec(line)?.[1];
    return id !== undefined && broken.some((told) => told.includes(id));
  });
  const report = { seed, seconds, rate, ...totals, ...happened, latenciesMs: rows, broken, said };
  writeFileSync(join(out, "soak.json"), `${JSON.stringify(report, null, 2)}\n`);
  console.log(`The plot: ${join(out, "soak.svg")}`);
  if (violations.count === 0) return console.log(paint.green("Every invariant held."));
  console.error(`\n${paint.red(`${violations.count} broken, with --seed ${seed}:`)}\n${violations.lines().join("\n")}`);
  if (said.length > 0) console.error(`\nThe platform's log of them:\n${said.slice(0, 5).join("\n")}`);
  process.exitCode = 1;
}

try {
  await main();
} catch (error) {
  if (!stopping.signal.aborted) failWith(error);
  console.error("\nstopped");
  // Exits at once, since requests may still wait for answers that will not come.
  process.exit(130);
}
