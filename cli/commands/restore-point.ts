import { clean, readInstant, toJson } from "../terminal/values.ts";
import { showCommand } from "../command-line/patterns.ts";
import * as api from "../../api/plinth.ts";
import { ok } from "@oazapfts/runtime";
import type { Command } from "../command-line/command.ts";
import { confirm, printRecord, sayDone, YES_OPTION } from "../command-line/print.ts";
import { UsageError } from "../terminal/usage-error.ts";

/** Steps after a restore of the database (docs/operate/restore.md). */
export const restorePointCommands = (): Command[] => [
  {
    words: ["platform", "restored"],
    summary: "Say to which time the database was restored: isolates begin anew, repairs of the bucket hold.",
    args: [],
    options: [
      { flag: "to", value: "<time>", help: "the time of the restore (2026-11-22T08:00:00Z, or in ms)" },
      YES_OPTION,
    ],
    notes: ["docs/operate/restore.md has the steps before and after."],
    examples: ["platform restored --to 2026-11-22T08:00:00Z --yes"],
    changes: true,
    async run(invocation) {
      const given = invocation.options.value("to");
      if (given === undefined) throw new UsageError("Say the time: --to 2026-11-22T08:00:00Z");
      const restoredTo = readInstant(given, "--to");
      const time = new Date(restoredTo).toISOString();
      await confirm(invocation, `Was the database of ${invocation.base} restored to ${time}?`);
      const { opts } = await invocation.client();
      return printRecord(invocation, await ok(api.markRestored({ restoredTo }, opts)));
    },
  },
  showCommand({
    words: ["platform", "restore-point"],
    summary: "Show the last restore of the database, and whether repairs hold.",
    examples: ["platform restore-point"],
    read: ({ opts }) => ok(api.getRestorePoint(opts)),
  }),
  {
    words: ["platform", "replay"],
    summary: "Remove again what was removed between the time of the restore and the restore.",
    args: [],
    options: [YES_OPTION],
    notes: ["A killed replay continues when it is repeated. Exit code 1 if something was refused."],
    examples: ["platform replay --yes"],
    changes: true,
    async run(invocation) {
      const { io, options } = invocation;
      const asJson = options.has("json");
      await confirm(invocation, `Remove again what the copies of the audit log name?`);
      const { opts } = await invocation.client();
      const counts = new Map<string, number>();
      const all: { readonly outcome: string; readonly subject: string }[] = [];
      let refused = 0;
      for (;;) {
        const { done, copy, lines } = await ok(api.replayErasures(opts));
        for (const { subject, outcome } of lines) {
          if (asJson) all.push({ outcome, subject });
          else await io.out(`${clean(outcome)}\t${clean(subject)}\n`);
          const kind = OUTCOMES.has(outcome) ? outcome : "refused";
          counts.set(kind, (counts.get(kind) ?? 0) + 1);
          if (kind === "refused") refused += 1;
        }
        if (done) break;
        io.err(`${clean(copy ?? "")}\n`);
      }
      if (asJson) await io.out(`${toJson(all, 2)}\n`);
      const sum = [...counts].map(([kind, count]) => `${kind} ${count}`).join(", ");
      sayDone(io, sum === "" ? "There was nothing to remove." : `Done: ${sum}.`);
      return refused === 0 ? 0 : 1;
    },
  },
  {
    words: ["platform", "release"],
    summary: "Release the hold: repairs of the bucket delete what no row owns, whatever its age.",
    args: [],
    options: [YES_OPTION],
    notes: ["First look at what was stored since the restore: media-consistency start --wait"],
    examples: ["platform release --yes"],
    changes: true,
    async run(invocation) {
      await confirm(invocation, "May repairs delete files that were stored after the time of the restore?");
      const { opts } = await invocation.client();
      return printRecord(invocation, await ok(api.releaseHold(opts)));
    },
  },
  {
    words: ["audit", "copy"],
    summary: "Copy the rows of the audit log that no copy has, as before a restore of the database.",
    args: [],
    options: [],
    examples: ["audit copy"],
    changes: true,
    async run(invocation) {
      const { opts } = await invocation.client();
      while (!(await ok(api.copyAudit(opts))).done) invocation.io.err("…\n");
      sayDone(invocation.io, "Every row of the audit log is in a copy.");
    },
  },
];

const OUTCOMES: ReadonlySet<string> = new Set(["erased", "absent", "made_since"]);
