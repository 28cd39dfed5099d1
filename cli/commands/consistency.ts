import { pagedListCommand } from "../command-line/patterns.ts";
import * as api from "../../api/plinth.ts";
import { ok, type RequestOpts } from "@oazapfts/runtime";
import { pagesOf, rowsOf, type AdminClient } from "../client/admin-client.ts";
import { type Body, toJson } from "../terminal/values.ts";
import type { Command, Invocation, Option } from "../command-line/command.ts";
import { LIST_OPTIONS, readBounds } from "../command-line/listing.ts";
import { watchWork } from "../command-line/watch.ts";
import { type Column, createTable, recordLines } from "../terminal/table.ts";
import { confirm, printRecord, sayDone, YES_OPTION } from "../command-line/print.ts";

/** Pauses without progress, 10 s in all, after which the person is told why that may be. */
const RESTS_AFTER = 8;
const RESTS =
  "Nothing is compared yet. In maintenance comparisons rest: platform check --no-files leaves them out. Otherwise the " +
  "queue is behind: health --deep.";
const WAIT: Option = { flag: "wait", help: "wait until it is done, then show its report" };
const ID = { name: "id", help: "of the comparison" };

const RUN_COLUMNS: readonly Column<api.Comparison>[] = [
  "id",
  "state",
  "startedAt",
  "finishedAt",
  "checked.files",
  { field: "keptFindings", title: "FINDINGS" },
];
type Finding = api.ComparisonReport["findings"][number];
const FINDING_COLUMNS: readonly Column<Finding>[] = [
  "kind",
  "key",
  "tenant",
  "client",
  { field: "row.size", title: "ROW BYTES" },
  { field: "object.size", title: "OBJECT BYTES" },
  "outcome",
];

/** Comparisons of the media bucket with the database. */
export const consistencyCommands = (): Command[] => [
  pagedListCommand({
    words: ["media-consistency", "list"],
    summary: "List the comparisons of the bucket with the database, the newest first.",
    examples: ["media-consistency list"],
    columns: RUN_COLUMNS,
    nouns: "comparisons",
    rows:
      () =>
      ({ opts }, page) =>
        rowsOf((query) => api.listComparisons(query, opts), page),
  }),
  {
    words: ["media-consistency", "start"],
    summary: "Start a comparison of the bucket with the database, or show the one that is running.",
    args: [],
    options: [WAIT],
    examples: ["media-consistency start --wait"],
    changes: true,
    run: (invocation) => begin(invocation, (opts) => ok(api.startComparison(opts)), "A comparison runs"),
  },
  {
    words: ["media-consistency", "show"],
    summary: "Show a comparison: its counts and findings.",
    args: [ID],
    options: LIST_OPTIONS,
    examples: ["media-consistency show 3f9a… --limit 100", "media-consistency show 3f9a… --json"],
    run: (invocation) => show(invocation, invocation.args["id"] ?? ""),
  },
  {
    words: ["media-consistency", "repair"],
    summary: "Repair the findings of a comparison: delete objects without a row, and rows without an object.",
    args: [ID],
    options: [WAIT, YES_OPTION],
    notes: ["Read the report first: what is deleted cannot be restored."],
    examples: ["media-consistency repair 3f9a… --wait"],
    changes: true,
    async run(invocation) {
      const id = invocation.args["id"] ?? "";
      await confirm(invocation, `Remove what the comparison ${id} found to be without its other half?`);
      return begin(invocation, (opts) => ok(api.repairComparison(id, opts)), "A repair runs");
    },
  },
];

async function begin(
  invocation: Invocation,
  start: (opts: RequestOpts) => Promise<api.Comparison>,
  said: string,
): Promise<void> {
  const { io, options } = invocation;
  const client = await invocation.client();
  const run = await start(client.opts);
  const { id } = run;
  sayDone(io, `${said}: media-consistency show ${id}`);
  if (!options.has("wait")) return printRecord(invocation, run);
  await watchComparison(invocation, client, run);
  return show(invocation, id);
}

/** Shows how far a comparison or a repair is, until it ends. */
export async function watchComparison(
  { io }: Invocation,
  client: AdminClient,
  begun: api.Comparison,
): Promise<api.Comparison> {
  let pauses = 0;
  return watchWork(io, {
    begun,
    goesOn: `It goes on: npm run plat -- media-consistency show ${begun.id}`,
    isUnderWay: ({ state }) => state === "running" || state === "repairing",
    shown({ state, checked: { objects, files } }) {
      if (objects + files === 0 && ++pauses === RESTS_AFTER) io.err(`${RESTS}\n`);
      return `${state}: ${objects} objects, ${files} files checked`;
    },
    ask: ({ id }) => ok(api.getComparison(id, { pageSize: 1 }, client.opts)),
  });
}

/** Follows the pages of the report, which carry the findings. */
async function show(invocation: Invocation, id: string): Promise<void> {
  const { io, options } = invocation;
  const { limit, pageSize } = options.has("wait") ? { limit: Infinity, pageSize: 200 } : readBounds(options);
  const { opts } = await invocation.client();
  let report: Body = {};
  const findings: Finding[] = [];
  const answers = pagesOf((query) => api.getComparison(id, query, opts), { pageSize });
  for await (const { findings: page, ...rest } of answers) {
    report = rest;
    findings.push(...page);
    if (findings.length > limit) break;
  }
  const shown = findings.slice(0, limit);
  if (options.has("json")) await io.out(`${toJson({ ...report, findings: shown }, 2)}\n`);
  else {
    const table =
      shown.length === 0 ? [] : ["", ...createTable(FINDING_COLUMNS, io.columns, io.paint.bold).lines(shown)];
    await io.out(`${[...recordLines(report, io.paint.dim), ...table].join("\n")}\n`);
  }
  if (findings.length > limit) io.err(`There are more findings: --limit ${limit} ended the list here.\n`);
}
