import { ok } from "@oazapfts/runtime";
import * as api from "../../api/plinth.ts";
import { findBreak, GENESIS } from "../../src/platform/secrets/audit-chain.ts";
import { AdminRefusal, rowsOf } from "../client/admin-client.ts";
import type { Command } from "../command-line/command.ts";
import { UserError } from "../../scripts/lib/user-error.ts";
import { sayDone } from "../command-line/print.ts";
import { clean, countOf, readNumber, toJson } from "../terminal/values.ts";

/** Copies of the audit log in the bucket. The platform chains their lines by hashes; these commands check them here. */
export const auditCopyCommands = (): Command[] => [verify, exportCopies];

const verify: Command = {
  words: ["audit", "verify"],
  summary: "Check the hashes of every copy of the audit log in the bucket, and name the first broken line.",
  args: [],
  options: [{ flag: "head", value: "<hash>", help: "a hash that an earlier run printed; the chain must contain it" }],
  notes: [
    "The chain proves that no line was changed, moved, inserted or removed, as long as you know the hash " +
      "of the last line from elsewhere. Keep the printed hash on another machine and pass it to a later run " +
      "by --head. Today's rows are in no copy yet. Exit code 1 if the chain is broken.",
  ],
  examples: ["audit verify", "audit verify --head 5f4dcc3b…"],
  async run({ options, io, client }) {
    const { opts } = await client();
    const asked = options.value("head");
    let previous = GENESIS;
    let number = 0;
    let rows = 0;
    let isMet = asked === undefined || asked === GENESIS;
    const breaks: { readonly copy: string; readonly line: number; readonly reason: string }[] = [];
    for await (const copy of rowsOf((page) => api.listAuditCopies(page, opts), { pageSize: 1000 })) {
      number += 1;
      const report = (line: number, reason: string): void => void breaks.push({ copy: clean(copy.name), line, reason });
      if (copy.number !== number) report(0, `it is copy ${copy.number}, and ${number} should be there`);
      if (copy.previous !== previous) report(0, "it does not follow the copy before it, according to the database");
      const lines = await linesOf(copy.number, opts);
      if (lines === undefined) report(0, "it is not in the bucket any more");
      else {
        const found = await findBreak(lines, copy);
        if (found !== undefined) report(found.line, found.reason);
        isMet ||= lines.some((line) => line.endsWith(`,"chain":"${asked}"}`));
      }
      ({ head: previous, number } = copy);
      rows += copy.rows;
    }
    if (!isMet) breaks.push({ copy: "", line: 0, reason: `the chain does not lead through ${clean(asked ?? "")}` });
    const whole = breaks.length === 0;
    if (options.has("json")) await io.out(`${toJson({ whole, copies: number, rows, head: previous, breaks })}\n`);
    else for (const { copy, line, reason } of breaks) await io.out(`${place(copy, line)}${clean(reason)}\n`);
    if (!whole) throw new UserError("The copies of the audit log are not what the platform wrote.");
    if (!options.has("json")) await io.out(`${clean(previous)}\n`);
    sayDone(
      io,
      `${countOf(rows, "row")} in ${countOf(number, "copy")} are as they were written. The hash of the last line is on the output.`,
    );
  },
};

const place = (copy: string, line: number): string =>
  copy === "" ? "" : line === 0 ? `${copy}: ` : `${copy}:${line}: `;

const exportCopies: Command = {
  words: ["audit", "export"],
  summary: "Print every copy of the audit log, one JSON object a line, the oldest first.",
  args: [],
  options: [{ flag: "from", value: "<number>", help: "the number of the first copy to print" }],
  notes: [
    "The lines are those in the bucket, with their hashes; the first line of each copy identifies it. " +
      "Today's rows are in no copy yet: see `audit --json`.",
  ],
  examples: ["audit export > audit.jsonl", "audit export --from 31"],
  async run({ options, io, client }) {
    const from = readNumber(options.value("from") ?? "1", "--from", { min: 1, max: 1e9 });
    const { opts } = await client();
    for await (const copy of rowsOf((page) => api.listAuditCopies(page, opts), { pageSize: 1000 })) {
      if (copy.number < from) continue;
      const lines = await linesOf(copy.number, opts);
      if (lines === undefined) throw new UserError(`${clean(copy.name)} is not in the bucket any more.`);
      await io.out(`${lines.join("\n")}\n`);
    }
  },
};

async function linesOf(number: number, opts: Parameters<typeof api.getAuditCopy>[1]): Promise<string[] | undefined> {
  try {
    return (await ok(api.getAuditCopy(String(number), opts))).lines;
  } catch (error) {
    if (error instanceof AdminRefusal && error.status === 404) return undefined;
    throw error;
  }
}
