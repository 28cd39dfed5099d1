import type { AdminClient } from "./admin-client.ts";
import type { Body } from "./body.ts";
import { UsageError, type Command, type Given, type Invocation, type Option } from "./command.ts";
import { LIST_OPTIONS, printRows, readBounds } from "./listing.ts";
import type { Column } from "./resource.ts";
import { createTable } from "./table.ts";
import { clean, formatTime, readTime, toJson } from "./values.ts";

const USUAL_ROWS = 50;
const POLL_MS = 2_000;
/** A row carries the time at which its request began, so it may come behind rows that are newer. */
const LATE_MS = 60_000;

/** Flags that are sent as they are, with the parameter's name. */
const TEXTS: readonly (Option & { readonly parameter: string })[] = [
  { flag: "actor", parameter: "actor", value: "<client>", help: "who did it" },
  { flag: "action", parameter: "action", value: "<action>", help: "put, delete, unlock, rotate secret …" },
  {
    flag: "subject",
    parameter: "subject",
    value: "<beginning>",
    help: "what it was done to, by its beginning: clients/acme.shop, tenants/",
  },
  { flag: "outcome", parameter: "outcome", value: "<done|refused>", help: "whether it was done" },
  { flag: "request-id", parameter: "requestId", value: "<id>", help: "the request that an error named" },
];

const COLUMNS: readonly Column[] = [
  { field: "at", title: "AT", kind: "time" },
  { field: "outcome", title: "OUTCOME" },
  { field: "actor", title: "ACTOR" },
  { field: "action", title: "ACTION" },
  { field: "subject", title: "SUBJECT" },
  { field: "reason", title: "REASON" },
  { field: "requestId", title: "REQUEST" },
];

export const auditCommand: Command = {
  words: ["audit"],
  summary: "Who did what, and what was refused with its exact reason; the newest first.",
  args: [],
  options: [
    { flag: "since", value: "<time>", help: "from then on: 45s, 30m, 2h, 7d (ago), or 2026-11-22T04:44:20Z" },
    { flag: "until", value: "<time>", help: "up to then" },
    ...TEXTS,
    { flag: "follow", help: "go on: print new rows as they come, the newest last; under --json a line each" },
    ...LIST_OPTIONS.map((option) =>
      option.flag === "limit"
        ? { ...option, help: `so many rows at most; without it ${USUAL_ROWS}, or all since --since` }
        : option,
    ),
  ],
  notes: ["A row is kept for 90 days at most. It never holds a secret, and never a body."],
  examples: [
    "audit",
    "audit --since 2h --outcome refused",
    "audit --subject clients/acme.shop --json",
    "audit --request-id 0c5e…",
    "audit --follow",
  ],
  async run(invocation) {
    const { options, io } = invocation;
    const query = readFilters(options, io.nowMs());
    if (options.has("follow")) {
      if (options.has("until")) throw new UsageError("--follow has no end, so no --until.");
      return follow(await invocation.client(), invocation, query);
    }
    const { limit, pageSize } = readBounds(options, options.has("since") ? Infinity : USUAL_ROWS);
    query.set("pageSize", String(pageSize));
    const rows = (await invocation.client()).list<Body>(`/audit?${query.toString()}`);
    await printRows(rows, { io, asJson: options.has("json"), columns: COLUMNS, limit, nouns: "rows" });
  },
};

function readFilters(options: Given, nowMs: number): URLSearchParams {
  const query = new URLSearchParams();
  for (const flag of ["since", "until"]) {
    const text = options.value(flag);
    if (text !== undefined) query.set(flag, String(readTime(text, `--${flag}`, nowMs)));
  }
  const outcome = options.value("outcome");
  if (outcome !== undefined && !/^(done|refused)$/.test(outcome))
    throw new UsageError(`--outcome takes done or refused, not ${outcome}.`);
  for (const { flag, parameter } of TEXTS) {
    const text = options.value(flag);
    if (text !== undefined) query.set(parameter, text);
  }
  return query;
}

/** Ends with the process alone (Ctrl-C), or with the failure of a call. */
async function follow(client: AdminClient, { options, io }: Invocation, query: URLSearchParams): Promise<never> {
  const asJson = options.has("json");
  const table = createTable(COLUMNS, io.columns, io.paint.bold);
  const seen = createSeen();
  const print = async (rows: readonly Body[]): Promise<void> => {
    if (rows.length === 0) return;
    const lines = asJson ? rows.map((row) => toJson(row)) : table.lines(rows);
    await io.out(`${lines.join("\n")}\n`);
  };

  const { limit } = readBounds(options, options.has("since") ? Infinity : 10);
  query.set("pageSize", String(Math.min(limit, 1000)));
  const first: Body[] = [];
  for await (const row of client.list<Body>(`/audit?${query.toString()}`)) {
    first.push(row);
    if (first.length >= limit) break;
  }
  // From the service's newest row and not from this machine's clock, which may be another.
  const newest = first.map(atOf).reduce((one, other) => Math.max(one, other), -Infinity);
  let from = Number.isFinite(newest) ? newest - LATE_MS : Number(query.get("since") ?? 0);
  const oldestShown = first.length >= limit ? atOf(first.at(-1) ?? {}) : -Infinity;
  await print(seen.unseen(first).toReversed());
  if (!asJson) io.err(`${io.paintErr.dim(`Following from ${formatTime(io.nowMs())}; Ctrl-C ends it.`)}\n`);

  query.set("pageSize", "1000");
  for (;;) {
    await io.wait(POLL_MS);
    query.set("since", String(Math.max(0, from)));
    const found: Body[] = [];
    for await (const row of client.list<Body>(`/audit?${query.toString()}`)) found.push(row);
    const fresh = seen.unseen(found.filter((row) => atOf(row) >= oldestShown));
    await print(fresh.toReversed());
    from = found.map(atOf).reduce((one, other) => Math.max(one, other - LATE_MS), from);
    seen.forgetBefore(from);
  }
}

const atOf = (row: Body): number => Number(row["at"]);

/** Rows that were printed, as often as they were: several rows may be alike. */
function createSeen() {
  const counts = new Map<string, { count: number; at: number }>();
  return {
    unseen(rows: readonly Body[]): Body[] {
      const now = new Map<string, number>();
      return rows.filter((row) => {
        const text = clean(JSON.stringify(row));
        const count = (now.get(text) ?? 0) + 1;
        now.set(text, count);
        if (count <= (counts.get(text)?.count ?? 0)) return false;
        counts.set(text, { count, at: atOf(row) });
        return true;
      });
    },
    forgetBefore(atMs: number): void {
      for (const [text, { at }] of counts) if (at < atMs) counts.delete(text);
    },
  };
}
