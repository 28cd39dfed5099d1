import type { ServerModule } from "../lib/server-module.ts";
import type { Study, StudyContext } from "../lib/study.ts";
import { Meter } from "./meter.ts";
import { openPlatform, PLINTH, type Platform } from "./platform.ts";
import { countsTable, dollarsTable, type Row } from "./tables.ts";

/** How often an operation is done, for each round of the run. */
const REPETITIONS_A_ROUND = 10;

export type CountRows = (
  platform: Platform,
  meter: Meter,
  repetitions: number,
  context: StudyContext,
) => Promise<Row[]>;

/** Operations that are counted on one platform, as counts and as money. */
export const costStudy = (id: string, label: string, countRows: CountRows, module: ServerModule = PLINTH): Study => ({
  id,
  label,
  async run(context) {
    const server = await context.serverOf(module);
    const meter = new Meter(server, context);
    const rows = await countRows(await openPlatform(server), meter, context.rounds * REPETITIONS_A_ROUND, context);
    return { tables: [countsTable(label, rows), dollarsTable(label, rows)], marks: [] };
  },
});
