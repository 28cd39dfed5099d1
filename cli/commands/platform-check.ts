import { changeCommand } from "../command-line/patterns.ts";
import * as api from "../../api/plinth.ts";
import { ok } from "@oazapfts/runtime";
import type { AdminClient } from "../client/admin-client.ts";
import type { Command, Invocation, Given } from "../command-line/command.ts";
import { confirm, printRecord, sayDone, YES_OPTION } from "../command-line/print.ts";
import { watchComparison } from "./consistency.ts";
import { createTable, type Column } from "../terminal/table.ts";
import { UsageError } from "../terminal/usage-error.ts";
import { countOf, parseTime, readNumber, toJson } from "../terminal/values.ts";

interface Shown extends Record<string, string> {
  readonly kind: string;
  readonly subject: string;
  readonly next: string;
}

const COLUMNS: readonly Column<Shown>[] = [
  "kind",
  { field: "subject", title: "WHAT" },
  { field: "next", title: "TYPE" },
];

const TOPIC = { name: "topic", help: "<owner>.<event type>, or <owner>/<event type> as topic commands name it" };
/** The name of a topic in paths of the operator service. */
const nameOf = (topic: string): string => topic.replace("/", ".");
const TO = {
  flag: "to",
  value: "<time>",
  help: "2026-11-22T08:00:00Z, in ms, or the bookmark of an earlier restore",
} as const;

/** Commands that check whether the parts of the platform agree, and that reopen logs which do not exist. */
export const platformCheckCommands = (): Command[] => [
  {
    words: ["platform", "check"],
    summary: "Check whether records, logs, cursors, push subscriptions and the bucket fit together.",
    args: [],
    options: [{ flag: "no-files", help: "leave out the comparison of the bucket with the database" }],
    notes: ["Changes nothing. Exit code 1 if something was found; each line says what to type."],
    examples: ["platform check", "platform check --json"],
    changes: true,
    async run(invocation) {
      const { options, io } = invocation;
      const client = await invocation.client();
      const found = [...(await checkEvents(invocation, client))];
      if (!options.has("no-files")) found.push(...(await checkFiles(invocation, client)));
      if (options.has("json")) await io.out(`${toJson(found, 2)}\n`);
      else if (found.length === 0) sayDone(io, "Everything fits together.");
      else await io.out(`${createTable(COLUMNS, io.columns, io.paint.bold).lines(found).join("\n")}\n`);
      return found.length === 0 ? 0 : 1;
    },
  },
  changeCommand({
    words: ["platform", "reopen-topic"],
    summary: "Open the logs of a topic that do not exist; readers who are further than a log go back to its end.",
    args: [TOPIC],
    examples: ["platform reopen-topic acme.shop.order"],
    send: ({ opts }, topic = "") => ok(api.reopenTopic(nameOf(topic), opts)),
    done: ({ opened, marked }) => `Opened ${countOf(opened.length, "log")}, marked ${marked.length}.`,
  }),
  {
    words: ["platform", "restore-object"],
    summary: "Restore a log, a consumer or a push subscription of a topic to an earlier time; in maintenance.",
    args: [TOPIC],
    options: [
      { flag: "shard", value: "<n>", help: "the log of this shard" },
      { flag: "consumer", value: "<name>", help: "the consumer of this name, as platform check shows it" },
      { flag: "push", value: "<id>", help: "the push subscription" },
      TO,
      YES_OPTION,
    ],
    notes: ["Cloudflare keeps 30 days. Locally there is no past, and the answer says so."],
    examples: ["platform restore-object acme.shop.order --shard 0 --to 2026-11-22T08:00:00Z --yes"],
    changes: true,
    async run(invocation) {
      const { options, args } = invocation;
      const topic = nameOf(args["topic"] ?? "");
      const [shard, name, id] = ["shard", "consumer", "push"].map((flag) => options.value(flag));
      const objects: Parameters<typeof api.restoreObject>[1]["object"][] = [
        ...(shard === undefined
          ? []
          : [{ kind: "log" as const, shard: readNumber(shard, "--shard", { min: 0, max: 1_000 }) }]),
        ...(name === undefined ? [] : [{ kind: "consumer" as const, name }]),
        ...(id === undefined ? [] : [{ kind: "push" as const, id }]),
      ];
      const [object] = objects;
      if (object === undefined || objects.length > 1) throw new UsageError("Name one of --shard, --consumer, --push.");
      const to = toOf(options);
      const where = whereTo(to);
      await confirm(invocation, `Take ${object.kind} of ${topic} back to ${to}? What it learned since is lost.`);
      const { opts } = await invocation.client();
      return printRecord(invocation, await ok(api.restoreObject(topic, { object, to: where }, opts)));
    },
  },
  {
    words: ["platform", "restore-shard"],
    summary: "Restore a shard that is an object to an earlier time; in maintenance.",
    args: [{ name: "shard", help: "its number, as shard status or shard objects shows it" }],
    options: [TO, YES_OPTION],
    notes: [
      "Take all shards and the directory to the same time; those in D1 by wrangler d1 time-travel. Then tell the " +
        "platform: npm run plat -- platform restored --to <the same time>. Otherwise it takes the older records for " +
        "the present: a proof of a deletion may miss bytes.",
      "Cloudflare keeps 30 days. Locally there is no past, and the answer says so.",
    ],
    examples: ["platform restore-shard 4 --to 2026-11-22T08:00:00Z --yes"],
    changes: true,
    async run(invocation) {
      const { options, args } = invocation;
      const shard = args["shard"] ?? "";
      const to = toOf(options);
      const where = whereTo(to);
      await confirm(invocation, `Take shard ${shard} back to ${to}? What it learned since is lost.`);
      const { opts } = await invocation.client();
      return printRecord(invocation, await ok(api.restoreShard(shard, { to: where }, opts)));
    },
  },
  changeCommand({
    words: ["platform", "reopen-push"],
    summary: "Open the object of a push subscription that does not exist; it begins at the newest event.",
    args: [{ name: "id", help: "of the push subscription" }],
    examples: ["platform reopen-push 3f9a…"],
    send: ({ opts }, id = "") => ok(api.reopenPushSubscription(id, opts)),
    done: () => "It is open.",
  }),
];

function toOf(options: Given): string {
  const to = options.value("to");
  if (to === undefined) throw new UsageError("Say the time: --to 2026-11-22T08:00:00Z");
  return to;
}

function whereTo(text: string): { timeMs: number } | { bookmark: string } {
  if (/^[0-9a-f]+(-[0-9a-f]+){3}$/.test(text)) return { bookmark: text };
  const timeMs = parseTime(text, "--to");
  if (Number.isNaN(timeMs))
    throw new UsageError(`--to is a time such as 2026-11-22T08:00:00Z, or a bookmark, not ${text}`);
  return { timeMs };
}

async function checkEvents({ io }: Invocation, { opts }: AdminClient): Promise<Shown[]> {
  const found: Shown[] = [];
  let topics = 0;
  for (let after: string | undefined; ;) {
    const page = await ok(api.checkPlatform({ after }, opts));
    topics += page.checked.topics;
    for (const { kind, topic, shard, subject, position, end, next } of page.findings) {
      const place = shard === null ? "" : ` shard ${shard}`;
      const positions = position === null ? "" : `: at ${position}, the log ends at ${end}`;
      found.push({ kind, subject: `${topic}${place} ${subject ?? ""}`.trim() + positions, next });
    }
    if (page.next === null) break;
    after = page.next;
    io.err(`${topics} topics\n`);
  }
  return found;
}

async function checkFiles(invocation: Invocation, client: AdminClient): Promise<Shown[]> {
  const { opts } = client;
  const run = await watchComparison(invocation, client, await ok(api.startComparison(opts)));
  const { holds } = await ok(api.getRestorePoint(opts));
  const held = holds ? "; younger ones are held: platform release" : "";
  const repair = `media-consistency show ${run.id}, then repair ${run.id}`;
  return Object.entries(run.found).flatMap(([kind, count]) => {
    if (count === 0) return [];
    const next = kind.endsWith("Differs") ? `media-consistency show ${run.id}` : repair;
    return [{ kind, subject: `${count} objects`, next: kind === "orphanObject" ? next + held : next }];
  });
}
