import { openPlatform, type Platform } from "../lib/platform.ts";
import { PLINTH, type ServerModule } from "../lib/server-module.ts";
import type { Study, StudyContext } from "../lib/study.ts";
import { Meter } from "./meter.ts";
import { countsTable, dollarsTable, type Row } from "./tables.ts";

/** The platform inside the counting Worker (cost/worker.ts), with the log level of a deployment. */
export const COUNTED: ServerModule = {
  ...PLINTH,
  env: { ...PLINTH.env, LOG_LEVEL: "info", BENCH_MAIN: "tools/bench/cost/worker.ts" },
};

/** The same with uploads that go straight to R2. */
export const COUNTED_R2: ServerModule = {
  ...COUNTED,
  id: "plinth-r2",
  env: { ...COUNTED.env, R2_ACCESS_KEY_ID: "cost-bench", R2_SECRET_ACCESS_KEY: "a-secret-of-this-bench" },
};

/** Repetitions of an operation for each round of the run. */
const REPETITIONS_A_ROUND = 10;

export type CountRows = (
  platform: Platform,
  meter: Meter,
  repetitions: number,
  context: StudyContext,
) => Promise<Row[]>;

/** A study that counts operations and prices them. */
export const costStudy = (id: string, label: string, countRows: CountRows, module: ServerModule = COUNTED): Study => ({
  id,
  label,
  async run(context) {
    const server = await context.serverOf(module);
    const meter = new Meter(server, context);
    const rows = await countRows(await openPlatform(server), meter, context.rounds * REPETITIONS_A_ROUND, context);
    return { tables: [countsTable(label, rows), dollarsTable(label, rows)], marks: [] };
  },
});
