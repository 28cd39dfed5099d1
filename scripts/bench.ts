import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Command, InvalidArgumentError } from "commander";
import { costBench } from "../tools/bench/cost/bench.ts";
import { eventsBench } from "../tools/bench/events/bench.ts";
import { gatewayBench } from "../tools/bench/gateway/bench.ts";
import { runHerd } from "../tools/bench/herd/run.ts";
import type { Bench } from "../tools/bench/lib/bench.ts";
import { chooseCores, describeMachine } from "../tools/bench/lib/machine.ts";
import { makeReport } from "../tools/bench/lib/report.ts";
import { renderMarkdown } from "../tools/bench/lib/report-text.ts";
import { runBench } from "../tools/bench/lib/run.ts";
import { mediaBench } from "../tools/bench/media/bench.ts";
import { oauthBench } from "../tools/bench/oauth/bench.ts";
import { runMoves } from "../tools/bench/moves/run.ts";
import { runArchive } from "../tools/bench/shards/archive.ts";
import { runMemory } from "../tools/bench/shards/memory.ts";
import { runShards } from "../tools/bench/shards/run.ts";
import { ROOT } from "./lib/root.ts";
import { paint } from "./lib/terminal.ts";
import { failWith, UserError } from "./lib/user-error.ts";

/** `npm run bench -- <bench>`: measures Plinth next to others on this machine. */
const BENCHES: Readonly<Record<string, Bench>> = {
  oauth: oauthBench,
  events: eventsBench,
  media: mediaBench,
  gateway: gatewayBench,
  cost: costBench,
};
const MAX_EVENTS = 10_000_000;
/** The exit code that shells give for Ctrl-C. */
const STOPPED_CODE = 130;

interface Options {
  readonly only?: readonly string[];
  readonly subjects?: readonly string[];
  readonly seconds: number;
  readonly rounds: number;
  readonly connections: number;
  readonly events: number;
  readonly json?: true;
  readonly out: string;
}

const positive = (text: string): number => {
  const value = Number(text);
  if (!(value > 0 && value <= 3_600)) throw new InvalidArgumentError("It must be above 0 and at most 3600.");
  return value;
};
const whole = (max: number) => (text: string) => {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > max)
    throw new InvalidArgumentError(`It must be a whole number from 1 to ${max}.`);
  return value;
};
const list = (text: string): string[] => text.split(",");

/** Refuses an id that the bench does not have. */
function check(given: readonly string[] | undefined, known: readonly { readonly id: string }[], missing: string): void {
  const ids = known.map(({ id }) => id);
  const unknown = given?.find((id) => !ids.includes(id));
  if (unknown !== undefined) throw new UserError(`${missing} ${unknown}; it has ${ids.join(", ")}.`);
}

const stopping = new AbortController();

async function run(name: string, options: Options): Promise<void> {
  const bench = BENCHES[name]!;
  const { only, subjects, json, out } = options;
  check(only, [...bench.operations, ...(bench.studies ?? [])], `${name} has no operation`);
  check(subjects, bench.subjects, `${name} has no subject`);
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => stopping.abort());

  const cores = chooseCores();
  const machine = describeMachine(cores);
  const outcome = await runBench(bench, { ...options, only, subjects, cores, stopping: stopping.signal, progress });
  progress("");
  const report = makeReport(name, bench, machine, options, outcome);
  const markdown = renderMarkdown(report, bench);
  const data = JSON.stringify(report, null, 2);
  mkdirSync(out, { recursive: true });
  writeFileSync(join(out, `${name}.md`), markdown);
  writeFileSync(join(out, `${name}.json`), `${data}\n`);
  console.log(json === true ? data : markdown);
}

/** Overwrites one line, for people only. */
function progress(line: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[2K${paint.dim(line)}`);
}

const program = new Command("npm run bench --")
  .description("Measures the platform next to others, on this machine.")
  .usage("<bench> [options]")
  .configureOutput({ getOutHelpWidth: () => 120 })
  .helpCommand(false)
  .argument("[bench]")
  .addHelpText("after", "\nEnds with 0 whatever the numbers are, with 1 if an answer is wrong.")
  .action((name?: string) =>
    name === undefined ? program.outputHelp() : program.error(`There is no bench ${name}. See --help.`),
  );
program
  .command("herd")
  .description("Simulates many isolates over a database that stalls, by the platform's own code in virtual time.")
  .option("--isolates <n>", "only the loads of at most so many; 1000 take ten minutes", whole(1_000), 1_000)
  .option("--seed <n>", "the same seed, the same run", whole(1_000_000), 1)
  .action(runHerd);
program
  .command("shards")
  .description("Simulates what 1 to 4,096 shards carry by published limits, and how long who is far away waits.")
  .option("--seed <n>", "the same seed, the same run", whole(1_000_000), 1)
  .option("--out <dir>", "where shards.csv and waits.csv are written", join(ROOT, ".build", "bench"))
  .action(runShards);
program
  .command("archive")
  .description("Files over many shards: lists, queries and deletes them, and shows the memory of the runtime.")
  .option("--files <n>", "in all", whole(MAX_EVENTS), 1_000_000)
  .option("--shards <n>", "over so many", whole(64), 16)
  .option("--objects <n>", "so many of them are objects", whole(63), 8)
  .option("--minutes <n>", "deletions end after so long, done or not", positive, 20)
  .option("--out <dir>", "where shard-archive.csv is written", join(ROOT, ".build", "bench"))
  .action(runArchive);
program
  .command("memory")
  .description(
    "The heap of the isolate and the memory of the runtime, while tenants of many shards work and leave nothing behind.",
  )
  .option("--shards <n>", "over so many", whole(64), 16)
  .option("--objects <n>", "so many of them are objects", whole(63), 8)
  .option("--clients <n>", "so many tenants are at work at a time", whole(64), 4)
  .option("--minutes <n>", "so long", positive, 10)
  .option("--out <dir>", "where shard-memory.csv is written", join(ROOT, ".build", "bench"))
  .action(runMemory);
program
  .command("moves")
  .description(
    "Random schedules while tenants move between shards, with faults, against the model of the media service.",
  )
  .option("--schedules <n>", "in all; a hundred take three minutes", whole(1_000_000), 10_000)
  .option("--minutes <n>", "no more begin after so long", positive, 600)
  .option("--seed <n>", "of the first hundred; the next ones follow", whole(1_000_000_000), 1)
  .action(runMoves);
for (const [name, { summary }] of Object.entries(BENCHES))
  program
    .command(name)
    .description(summary)
    .option("--only <ids>", "these operations and studies, separated by commas", list)
    .option("--subjects <ids>", "these servers, separated by commas", list)
    .option("--seconds <n>", "length of one measurement", positive, 3)
    .option("--rounds <n>", "how often each subject is measured, in turn", whole(3_600), 5)
    .option("--connections <n>", "of an operation that does not say how many", whole(3_600), 16)
    .option("--events <n>", "the most events or files that a study stores", whole(MAX_EVENTS), 1_000_000)
    .option("--json", "print the report as JSON")
    .option("--out <dir>", "where <bench>.md and <bench>.json are written", join(ROOT, ".build", "bench"))
    .action((options: Options) => run(name, options));

try {
  await program.parseAsync();
} catch (error) {
  if (!stopping.signal.aborted) failWith(error);
  console.error("\nstopped");
  process.exitCode = STOPPED_CODE;
}
