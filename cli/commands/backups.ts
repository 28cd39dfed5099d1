import { clean, readInstant, readNumber } from "../terminal/values.ts";
import { pagedListCommand } from "../command-line/patterns.ts";
import * as api from "../../api/plinth.ts";
import { ok } from "@oazapfts/runtime";
import { rowsOf, type AdminClient } from "../client/admin-client.ts";
import type { Command, Invocation, Option } from "../command-line/command.ts";
import { confirm, printRecord, sayDone, YES_OPTION } from "../command-line/print.ts";
import { UserError } from "../../scripts/lib/user-error.ts";
import { UsageError } from "../terminal/usage-error.ts";
import { watchWork } from "../command-line/watch.ts";
import type { Column } from "../terminal/table.ts";

const ID = { name: "id", help: "of the backup, or latest" };
const BACKGROUND: Option = { flag: "background", help: "only start it; platform job shows how far it is" };

const COLUMNS: readonly Column<api.Backup>[] = [
  "id",
  "startedAt",
  "bytes",
  "counts.rows",
  "counts.events",
  "counts.files",
  "counts.partBytes",
];

/** Backups of the platform, and restores. */
export const backupCommands = (): Command[] => [
  {
    words: ["platform", "backup"],
    summary: "Write everything that cannot be made again to the bucket of backups.",
    args: [],
    options: [
      { flag: "bytes", value: "<mode>", help: "copy: copy the bytes of files; reference (default): list them" },
      { flag: "events-since", value: "<time>", help: "leave out events before this time (2026-11-01, or in ms)" },
      { flag: "keep", value: "<n>", help: "afterwards keep the n newest backups and remove the others" },
      BACKGROUND,
    ],
    notes: ["What an earlier backup has is not written again. The platform works on meanwhile."],
    examples: ["platform backup --bytes copy --keep 7"],
    changes: true,
    async run(invocation) {
      const { options } = invocation;
      const bytes = bytesMode(options.value("bytes"));
      const since = options.value("events-since");
      const eventsSince = since === undefined ? null : readInstant(since, "--events-since");
      const given = options.value("keep");
      const keep = given === undefined ? null : readNumber(given, "--keep", { min: 1, max: 1_000 });
      return follow(invocation, ({ opts }) => ok(api.startBackup({ bytes, eventsSince, keep }, opts)));
    },
  },
  pagedListCommand({
    words: ["platform", "backups"],
    summary: "List the backups that are whole, the newest first.",
    examples: ["platform backups"],
    columns: COLUMNS,
    nouns: "backups",
    rows:
      () =>
      ({ opts }, page) =>
        rowsOf((query) => api.listBackups(query, opts), page),
  }),
  {
    words: ["platform", "verify"],
    summary: "Read a backup back and check digests, counts, references and seal keys.",
    args: [ID],
    options: [BACKGROUND],
    notes: ["Exit code 1 if something is wrong with the backup."],
    examples: ["platform verify latest"],
    async run(invocation) {
      const id = await backupId(invocation);
      return follow(invocation, ({ opts }) => ok(api.verifyBackup(id, opts)));
    },
  },
  {
    words: ["platform", "restore"],
    summary: "Put a backup into this platform, which must be empty and in maintenance.",
    args: [ID],
    options: [BACKGROUND, YES_OPTION],
    notes: [
      "The name of the platform, its seal keys and that it is empty are checked before anything is written.",
      "docs/operate/backup-and-restore.md has the steps before and after.",
    ],
    examples: ["platform restore latest --yes"],
    changes: true,
    async run(invocation) {
      const id = await backupId(invocation);
      await confirm(invocation, `Write the backup ${clean(id)} into ${invocation.base}?`);
      const code = await follow(invocation, ({ opts }) => ok(api.restoreBackup(id, opts)));
      if (code === 0 && !invocation.options.has("background"))
        invocation.io.err(
          "Next: platform replay, platform check --no-files; then MAINTENANCE = false, and deploy (docs/operate/backup-and-restore.md).\n",
        );
      return code;
    },
  },
  {
    words: ["platform", "forget"],
    summary: "Remove a backup, and what no other backup needs.",
    args: [ID],
    options: [BACKGROUND, YES_OPTION],
    examples: ["platform forget 20261123T062751123Z-3f9a12bc"],
    changes: true,
    async run(invocation) {
      const id = await backupId(invocation);
      await confirm(invocation, `Remove the backup ${clean(id)}?`);
      return follow(invocation, ({ opts }) => ok(api.deleteBackup(id, opts)));
    },
  },
  {
    words: ["platform", "job"],
    summary: "Show the job that runs, or the last one; with --follow until it ends, with --cancel end it.",
    args: [],
    options: [
      { flag: "follow", help: "show its progress until it ends" },
      { flag: "cancel", help: "cancel it" },
    ],
    examples: ["platform job", "platform job --follow"],
    async run(invocation) {
      const { options, client, io } = invocation;
      const { opts } = await client();
      if (!options.has("cancel")) {
        const job = await ok(api.getBackupJob(opts));
        return options.has("follow") ? watch(invocation, job) : show(invocation, job);
      }
      const { state } = await ok(api.cancelBackupJob(opts));
      sayDone(io, `The job is ${state}.`);
    },
  },
];

type Start = (client: AdminClient) => Promise<api.BackupJob>;

/** The id of the backup that is meant, which may be the latest. */
async function backupId({ args, client }: Invocation): Promise<string> {
  const given = args["id"] ?? "";
  if (given !== "latest") return given;
  const [newest] = await ok(api.listBackups({ pageSize: 1 }, (await client()).opts));
  if (newest === undefined) throw new UserError("There is no whole backup.");
  return newest.id;
}

async function follow(invocation: Invocation, start: Start): Promise<number> {
  const { io, options } = invocation;
  const job = await start(await invocation.client());
  if (!options.has("background")) return watch(invocation, job);
  sayDone(io, "It runs: platform job --follow");
  await show(invocation, job);
  return 0;
}

/** Shows each stage when it begins, then the result. Returns 1 if the job failed, was cancelled or found errors. */
async function watch(invocation: Invocation, begun: api.BackupJob): Promise<number> {
  const { io } = invocation;
  const { opts } = await invocation.client();
  const job = await watchWork(io, {
    begun,
    goesOn: `The ${begun.kind} goes on. Watch it: npm run plat -- platform job --follow. End it: platform job --cancel`,
    isUnderWay: ({ state }) => state === "running",
    shown: progress,
    async ask({ id }) {
      const now = await ok(api.getBackupJob(opts));
      if (now.id !== id) throw new UserError("Another job has begun since: platform job shows it.");
      return now;
    },
  });
  await show(invocation, job);
  return job.state === "done" && job.findingsInAll === 0 ? 0 : 1;
}

/** Shows a job: the main fields for people, all of them as JSON. */
async function show(invocation: Invocation, job: api.BackupJob): Promise<void> {
  const { io, options } = invocation;
  if (options.has("json")) return printRecord(invocation, { ...job });
  const { kind, backup, state, startedAt, finishedAt, findingsInAll, findings, error } = job;
  const took = finishedAt === null ? {} : { tookMs: finishedAt - startedAt };
  const counts = Object.fromEntries(Object.entries(job.counts).filter(([, count]) => count > 0));
  await printRecord(invocation, { kind, backup, state, ...took, ...counts, findings: findingsInAll });
  for (const finding of findings) io.err(`${io.paint.yellow(clean(finding.kind))} ${clean(finding.subject)}\n`);
  if (error !== "") io.err(`${io.paint.red("✗")} ${clean(error)}\n`);
}

function progress({ kind, stage, stagesDone, stages, counts, failures, error }: api.BackupJob): string {
  const done = `${counts.rows} rows, ${counts.events} events, ${counts.files} files`;
  const trouble = failures === 0 ? "" : `; failed ${failures} times: ${error}`;
  return `${kind} ${stagesDone + 1}/${stages} ${stage}: ${done}${trouble}`;
}

function bytesMode(text = "reference"): "reference" | "copy" {
  if (text === "reference" || text === "copy") return text;
  throw new UsageError(`--bytes is copy or reference, not ${text}`);
}
