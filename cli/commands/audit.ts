import { listAudit, type AuditRow } from "../../api/plinth.ts";
import { isOutage, rowsOf, type AdminClient } from "../client/admin-client.ts";
import type { Command, Invocation, Given } from "../command-line/command.ts";
import { UsageError } from "../terminal/usage-error.ts";
import { sayOutage } from "../command-line/print.ts";
import { LIST_OPTIONS, printRows, readBounds } from "../command-line/listing.ts";
import { createTable, type Column } from "../terminal/table.ts";
import { clean, formatTime, readTime, toJson, readChoice } from "../terminal/values.ts";

const USUAL_ROWS = 50;
const POLL_MS = 2_000;
/** How late a row may appear. A row has the time at which its request began, so it can appear after newer ones. */
const LATE_MS = 60_000;

type Filters = NonNullable<Parameters<typeof listAudit>[0]>;

const COLUMNS: readonly Column<AuditRow>[] = [
  { field: "at", kind: "time" },
  "outcome",
  "actor",
  "action",
  "subject",
  { field: "requestId", title: "REQUEST", kind: "whole" },
  { field: "reason", kind: "list" },
];

export const auditCommand: Command = {
  words: ["audit"],
  summary: "List changes, and refusals with their exact reason, the newest first.",
  args: [],
  options: [
    { flag: "since", value: "<time>", help: "from this time on: 45s, 30m, 2h, 7d (ago), or 2026-11-22T04:44:20Z" },
    { flag: "until", value: "<time>", help: "up to then" },
    { flag: "actor", value: "<client>", help: "who did it" },
    { flag: "action", value: "<action>", help: "put, delete, unlock, rotate secret …" },
    {
      flag: "subject",
      value: "<beginning>",
      help: "a prefix of the changed resource's path: clients/acme.shop, tenants/",
    },
    { flag: "outcome", value: "<done|refused>", help: "only changes, or only refusals" },
    { flag: "request-id", value: "<id>", help: "the request id that an error named" },
    { flag: "follow", help: "keep printing new rows, the newest last; with --json, one a line" },
    ...LIST_OPTIONS.map((option) =>
      option.flag === "limit"
        ? { ...option, help: `so many rows at most; without it ${USUAL_ROWS}, or all since --since` }
        : option,
    ),
  ],
  notes: [
    "`audit verify` checks the log's copies in the bucket.",
    "`audit export` prints them.",
    "A row of a change has each field's value before and after, the elements added to and removed from " +
      "lists, and only the name of a changed secret. A PUT without a change has no row. Rows are kept for " +
      "at most 90 days and never hold a secret.",
  ],
  examples: [
    "audit",
    "audit --since 2h --outcome refused",
    "audit --subject clients/acme.shop --json",
    "audit --request-id 0c5e…",
    "audit --follow",
  ],
  async run(invocation) {
    const { options, io } = invocation;
    const filters = readFilters(options, io.nowMs());
    if (options.has("follow")) {
      if (options.has("until")) throw new UsageError("--follow has no end, so it takes no --until.");
      return follow(await invocation.client(), invocation, filters);
    }
    const { limit, pageSize } = readBounds(options, options.has("since") ? Infinity : USUAL_ROWS);
    const found = listed(await invocation.client(), { ...filters, pageSize });
    const asJson = options.has("json");
    const shown = asJson ? found : inWords(found);
    await printRows(shown, { io, asJson, columns: COLUMNS, limit, nouns: "rows" });
  },
};

const listed = ({ opts }: AdminClient, filters: Filters): AsyncIterable<AuditRow> =>
  rowsOf((query) => listAudit(query, opts), filters);

/** Appends the changes to the reason, for the table. */
const toWords = (row: AuditRow): AuditRow => {
  const reason = [...(row.reason === undefined ? [] : [row.reason]), ...(row.changes ?? []).map(wordsOf)].join("; ");
  return { ...row, ...(reason !== "" && { reason }) };
};

async function* inWords(rows: AsyncIterable<AuditRow>): AsyncGenerator<AuditRow> {
  for await (const row of rows) yield toWords(row);
}

/** Renders `name: "A" → "B"`, `scopes +a.view -a.edit` or `password changed`. */
function wordsOf({ field, added = [], removed = [], ...values }: NonNullable<AuditRow["changes"]>[number]): string {
  const elements = [...added.map((one) => `+${one}`), ...removed.map((one) => `-${one}`)];
  if (elements.length > 0) return `${field} ${elements.join(" ")}`;
  if (!("from" in values) && !("to" in values)) return `${field} changed`;
  const from = "from" in values ? `${JSON.stringify(values.from)} ` : "";
  const to = "to" in values ? JSON.stringify(values.to) : "none";
  return `${field}: ${from}${from !== "" || to === "none" ? "→ " : ""}${to}`;
}

function readFilters(options: Given, nowMs: number): Filters {
  const time = (flag: string): number | undefined => {
    const text = options.value(flag);
    return text === undefined ? undefined : readTime(text, `--${flag}`, nowMs);
  };
  const outcome = readChoice(options.value("outcome"), "--outcome", ["done", "refused"]);
  const [since, until] = [time("since"), time("until")];
  if (since !== undefined && until !== undefined && since > until)
    throw new UsageError(`Nothing is from ${formatTime(since)} up to ${formatTime(until)}: --since is after --until.`);
  return {
    since,
    until,
    actor: options.value("actor"),
    action: options.value("action"),
    subject: options.value("subject"),
    outcome,
    requestId: options.value("request-id"),
  };
}

/** Runs until Ctrl-C or a refusal. While the platform does not answer, it waits. */
async function follow(client: AdminClient, { options, io }: Invocation, filters: Filters): Promise<never> {
  const asJson = options.has("json");
  const table = createTable(COLUMNS, io.columns, io.paint.bold);
  const seen = createSeen();
  const print = async (fresh: readonly AuditRow[]): Promise<void> => {
    if (fresh.length === 0) return;
    const lines = asJson ? fresh.map((row) => toJson(row)) : table.lines(fresh.map(toWords));
    await io.out(`${lines.join("\n")}\n`);
  };

  const { limit } = readBounds(options, options.has("since") ? Infinity : 10);
  const first: AuditRow[] = [];
  for await (const row of listed(client, { ...filters, pageSize: Math.min(limit, 1000) })) {
    first.push(row);
    if (first.length >= limit) break;
  }
  // Starts from the service's newest row: this machine's clock may differ.
  const newest = first.reduce((latest, { at }) => Math.max(latest, at), -Infinity);
  let from = Number.isFinite(newest) ? newest - LATE_MS : (filters.since ?? 0);
  const oldestShown = first.length >= limit ? (first.at(-1)?.at ?? NaN) : -Infinity;
  await print(seen.unseen(first).toReversed());
  if (!asJson) io.err(`${io.paintErr.dim(`Following from ${formatTime(io.nowMs())}; Ctrl-C ends it.`)}\n`);

  for (let isOut = false; ;) {
    await io.wait(POLL_MS);
    const found: AuditRow[] = [];
    try {
      for await (const row of listed(client, { ...filters, since: Math.max(0, from), pageSize: 1000 })) found.push(row);
      isOut = false;
    } catch (error) {
      if (!isOutage(error)) throw error;
      if (!isOut) sayOutage(io)(error);
      isOut = true;
      continue;
    }
    const fresh = seen.unseen(found.filter(({ at }) => at >= oldestShown));
    await print(fresh.toReversed());
    from = found.reduce((latest, { at }) => Math.max(latest, at - LATE_MS), from);
    seen.forgetBefore(from);
  }
}

/** Counts the rows that were printed, because rows can be equal. */
function createSeen() {
  const counts = new Map<string, { count: number; at: number }>();
  return {
    unseen(found: readonly AuditRow[]): AuditRow[] {
      const now = new Map<string, number>();
      return found.filter((row) => {
        const text = clean(JSON.stringify(row));
        const count = (now.get(text) ?? 0) + 1;
        now.set(text, count);
        if (count <= (counts.get(text)?.count ?? 0)) return false;
        counts.set(text, { count, at: row.at });
        return true;
      });
    },
    forgetBefore(atMs: number): void {
      for (const [text, { at }] of counts) if (at < atMs) counts.delete(text);
    },
  };
}
