import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Bench } from "../tools/bench/lib/bench.ts";
import { describeMachine } from "../tools/bench/lib/machine.ts";
import { chooseCores } from "../tools/bench/lib/processor.ts";
import { makeReport } from "../tools/bench/lib/report.ts";
import { renderMarkdown, renderText } from "../tools/bench/lib/report-text.ts";
import { runBench } from "../tools/bench/lib/run.ts";
import { costBench } from "../tools/bench/cost/bench.ts";
import { eventsBench } from "../tools/bench/events/bench.ts";
import { gatewayBench } from "../tools/bench/gateway/bench.ts";
import { mediaBench } from "../tools/bench/media/bench.ts";
import { oauthBench } from "../tools/bench/oauth/bench.ts";
import { ROOT } from "./lib/root.ts";
import { paint } from "./lib/terminal.ts";
import { failWith, UserError } from "./lib/user-error.ts";

const BENCHES: Readonly<Record<string, Bench>> = {
  oauth: oauthBench,
  events: eventsBench,
  media: mediaBench,
  gateway: gatewayBench,
  cost: costBench,
};

const HELP = `npm run bench -- <bench> [options]    what the platform costs, next to others, on this machine

${Object.entries(BENCHES)
  .map(([name, { summary }]) => `  ${name.padEnd(16)}${summary}`)
  .join("\n")}

  --only <ids>    some of the operations and studies, separated by commas
  --subjects <ids>    some of the servers
  --seconds <n>   of one measurement (default 3)
  --rounds <n>    each measures every subject once, in turn (default 5)
  --connections <n>   of an operation that does not say how many (default 16)
  --events <n>    that a study stores at most, or files (default 1000000)
  --json          prints the report as JSON
  --out <dir>     where <bench>.md and <bench>.json are written (default .build/bench)

Ends with 0 whatever the numbers are, with 1 when an answer is not what it must be.
`;

interface Arguments {
  readonly name: string;
  readonly bench: Bench;
  readonly seconds: number;
  readonly rounds: number;
  readonly connections: number;
  readonly events: number;
  readonly only: readonly string[] | undefined;
  readonly subjects: readonly string[] | undefined;
  readonly json: boolean;
  readonly out: string;
}

/** Undefined: no bench is named, so what there is is listed. */
function readArguments(): Arguments | undefined {
  const { values, positionals } = parseOptions();
  const [name] = positionals;
  if (name === undefined || values.help) return undefined;
  const bench = Object.hasOwn(BENCHES, name) ? BENCHES[name] : undefined;
  if (bench === undefined) throw new UserError(`There is no bench ${name}.\n\n${HELP}`);
  const operations = [...bench.operations, ...(bench.studies ?? [])];
  const { json, out } = values;
  return {
    name,
    bench,
    json,
    out,
    only: some(values.only, operations, `${name} has no operation`),
    subjects: some(values.subjects, bench.subjects, `${name} has no subject`),
    rounds: whole(values.rounds, "--rounds"),
    connections: whole(values.connections, "--connections"),
    events: whole(values.events, "--events", MAX_EVENTS),
    seconds: positive(values.seconds, "--seconds"),
  };
}

const MAX_EVENTS = 10_000_000;

/** The ids of a list; undefined when none are given. */
function some(text: string | undefined, of: readonly { readonly id: string }[], without: string): string[] | undefined {
  const given = text?.split(",");
  const ids = of.map(({ id }) => id);
  const unknown = given?.find((id) => !ids.includes(id));
  if (unknown !== undefined) throw new UserError(`${without} ${unknown}; it has ${ids.join(", ")}.`);
  return given;
}

function parseOptions() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        only: { type: "string" },
        subjects: { type: "string" },
        seconds: { type: "string", default: "3" },
        rounds: { type: "string", default: "5" },
        connections: { type: "string", default: "16" },
        events: { type: "string", default: "1000000" },
        out: { type: "string", default: join(ROOT, ".build", "bench") },
        json: { type: "boolean", default: false },
        help: { type: "boolean", default: false },
      },
    });
  } catch (error) {
    throw new UserError(`${(error as Error).message}\n\n${HELP}`);
  }
}

function positive(text: string, option: string, max = 3_600): number {
  const value = Number(text);
  if (!(value > 0 && value <= max)) throw new UserError(`${option} must be above 0 and at most ${max}, not ${text}`);
  return value;
}

function whole(text: string, option: string, max?: number): number {
  const value = positive(text, option, max);
  if (!Number.isInteger(value)) throw new UserError(`${option} must be a whole number, not ${text}`);
  return value;
}

const stopping = new AbortController();
/** As shells say that Ctrl-C ended something. */
const STOPPED_CODE = 130;

async function main(): Promise<void> {
  const given = readArguments();
  if (given === undefined) return console.log(HELP);
  const { name, bench, json, out } = given;
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => stopping.abort());

  const cores = chooseCores();
  const machine = describeMachine(cores);
  const outcome = await runBench(bench, { ...given, cores, stopping: stopping.signal, progress });
  progress("");
  const report = makeReport(name, bench, machine, given, outcome);
  mkdirSync(out, { recursive: true });
  writeFileSync(join(out, `${name}.md`), renderMarkdown(report, bench));
  writeFileSync(join(out, `${name}.json`), `${JSON.stringify(report, null, 2)}\n`);
  console.log(json ? JSON.stringify(report, null, 2) : renderText(report, bench));
}

/** One line that is written over, for people alone. */
function progress(line: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[2K${paint.dim(line)}`);
}

try {
  await main();
} catch (error) {
  if (!stopping.signal.aborted) failWith(error);
  console.error("\nstopped");
  process.exitCode = STOPPED_CODE;
}
