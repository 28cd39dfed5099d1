import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ok } from "@oazapfts/runtime";
import * as api from "../../api/plinth.ts";
import { UserError } from "../../scripts/lib/user-error.ts";
import type { Command, Invocation } from "../command-line/command.ts";
import { LOCATION_HINTS } from "../../src/platform/storage/object-shards.ts";
import { find, rowsOf } from "../client/admin-client.ts";
import { printRows } from "../command-line/listing.ts";
import { pagedListCommand } from "../command-line/patterns.ts";
import { printRecord, sayDone } from "../command-line/print.ts";
import { watchWork } from "../command-line/watch.ts";
import type { Column } from "../terminal/table.ts";
import { UsageError } from "../terminal/usage-error.ts";
import { clean, formatBytes, readChoice, toJson } from "../terminal/values.ts";
import { withMoreShards } from "./deployment-file.ts";

/** The shards of the platform: databases, or objects. */
export const shardCommands = (): Command[] => [status, objects, add, move];

type Row = api.Shard & { readonly size: string; readonly stored: string };
const COLUMNS: readonly Column<Row>[] = [
  "shard",
  "size",
  { field: "tenants", kind: "count" },
  { field: "files", kind: "count" },
  "stored",
  { field: "pushSubscriptions", title: "PUSH", kind: "count" },
  { field: "roundTrips", title: "TRIPS/HOUR", kind: "count" },
  "answerMs",
  { field: "isNext", title: "NEXT", kind: "flag" },
];

const status: Command = {
  words: ["shard", "status"],
  summary:
    "Show each shard: its size, tenants, files, push subscriptions and load, and which one the next tenant gets.",
  args: [],
  options: [],
  notes: [
    "SIZE is that of its database or object, which holds 10 GB; STORED is what its files have in the bucket; PUSH counts " +
      "push subscriptions. TRIPS/HOUR counts the last hour: a shard answers 500 to 1,000 a second. Without ANSWER " +
      "MS it does not answer, and SIZE is what was measured last. Without TRIPS/HOUR the metrics do not answer. Exit " +
      "code 1 if a shard does not answer.",
    "If tenants have objects of their own, the last line has their sums, as of their last sweeps.",
  ],
  examples: ["shard status", "shard status --json"],
  async run({ options, io, client }) {
    const { opts } = await client();
    const shards = await ok(api.listShards(opts));
    if (options.has("json")) await io.out(`${toJson(shards, 2)}\n`);
    else {
      await printRows(shards.map(toRow), { io, asJson: false, columns: COLUMNS, limit: Infinity, nouns: "shards" });
      // An older platform has no such sums.
      const sums = await find(ok(api.sumTenantObjects(opts)));
      if (sums !== undefined && sums.objects > 0) await io.out(`\n${inWords(sums)}\n`);
    }
    return shards.some(({ answerMs }) => answerMs === null) ? 1 : 0;
  },
};

const toRow = (shard: api.Shard): Row => ({
  ...shard,
  size: formatBytes(shard.databaseBytes),
  stored: shard.storedBytes === null ? "" : formatBytes(shard.storedBytes),
});

const inWords = ({ objects: count, files, bytes, databaseBytes }: api.TenantObjectSums): string =>
  `Objects of tenants: ${count}, size ${formatBytes(databaseBytes)}, files ${files}, stored ${formatBytes(bytes)}`;

const OBJECT_COLUMNS: readonly Column<ObjectRow>[] = [
  "number",
  "tenant",
  "near",
  { field: "files", kind: "count" },
  "stored",
  "size",
  "reportedAt",
];
type ObjectRow = api.TenantObject & { readonly size?: string; readonly stored?: string };

const objects: Command = pagedListCommand<ObjectRow>({
  words: ["shard", "objects"],
  summary: "List the tenants with an object of their own, and what each object stores.",
  filters: [{ flag: "tenant", value: "<tenant>", help: "only that of this tenant" }],
  notes: [
    "An object is swept within five minutes after a change. FILES, STORED (in the bucket) and SIZE (of its database, " +
      "which holds 10 GB) are as the last sweep found them.",
  ],
  examples: ["shard objects", "shard objects --tenant acmeshop"],
  columns: OBJECT_COLUMNS,
  nouns: "objects of tenants",
  rows({ options }) {
    const tenant = options.value("tenant");
    const asJson = options.has("json");
    return async function* ({ opts }, page) {
      const found = rowsOf((query) => api.listTenantObjects(query, opts), { tenant, ...page });
      for await (const one of found)
        yield asJson ? one : { ...one, size: formatBytes(one.databaseBytes), stored: formatBytes(one.bytes) };
    };
  },
});

const add: Command = {
  words: ["shard", "add"],
  summary: "Add a database to a deployment's file. The next deployment makes it.",
  args: [{ name: "deployment", help: "deploy/<deployment>.toml; default: the only one there", optional: true }],
  options: [{ flag: "to", value: "<number>", help: "so many in all; default: one more" }],
  notes: [
    "A database is a binding of the Worker, so it comes with a deployment. New tenants get the emptiest one. It cannot " +
      "be taken away again.",
  ],
  examples: ["shard add", "shard add production --to 8"],
  changes: true,
  async run(invocation) {
    const { io, options } = invocation;
    const folder = join(invocation.about.root ?? io.cwd, "deploy");
    const name = invocation.args["deployment"] ?? onlyDeployment(folder);
    const path = join(folder, `${name}.toml`);
    if (!/^[a-z0-9][a-z0-9-]*$/.test(name) || !existsSync(path))
      throw new UserError(`There is no file ${clean(path)}. Run this where the platform is deployed from.`);
    const { text, before, after } = withMoreShards(readFileSync(path, "utf8"), numberOf(options.value("to")));
    writeFileSync(path, text);
    sayDone(io, `deploy/${name}.toml: ${after} shards, ${before} before.`);
    io.err(
      `Now deploy it, which makes the ${after - before === 1 ? "database" : "databases"}: npm run deploy -- ${name}\n`,
    );
    return report(invocation, { deployment: name, before, shards: after });
  },
};

const move: Command = {
  words: ["tenant", "move"],
  summary: "Move the files of a tenant to another shard while it works, or show how far that is.",
  args: [{ name: "tenant", help: "the tenant" }],
  options: [
    {
      flag: "shard",
      value: "<number>",
      help: "the shard, as shard status lists it, or own: an object for this tenant; without it, the latest move is shown",
    },
    { flag: "near", value: "<place>", help: `where its own object is to lie: ${LOCATION_HINTS.join(", ")}` },
    { flag: "wait", help: "wait until the tenant works in the new shard" },
  ],
  notes: [
    "Reads are answered all the time. Changes of its files are refused for some moments at the end (503 with " +
      "Retry-After). The cron does what one request has no time for: some 10,000 files in five minutes. Ten minutes " +
      "after the switch the old rows are deleted.",
  ],
  examples: [
    "tenant move acmeshop --shard 2 --wait",
    "tenant move acmeshop --shard own --near weur --wait",
    "tenant move acmeshop",
  ],
  changes: true,
  async run(invocation) {
    const { args, options, io } = invocation;
    const tenant = args["tenant"] ?? "";
    const given = options.value("shard");
    const near = readChoice(options.value("near"), "--near", LOCATION_HINTS);
    if (given !== undefined && given !== "own" && !/^\d{1,3}$/.test(given))
      throw new UsageError("--shard takes the number of a shard, or own.");
    if (near !== undefined && given !== "own") throw new UsageError("--near goes with --shard own.");
    const { opts } = await invocation.client();
    const begun: api.TenantMove =
      given === undefined
        ? await ok(api.readMove(tenant, opts))
        : await ok(api.moveTenant(tenant, given === "own" ? { shard: given, near } : { shard: Number(given) }, opts));
    const moved = await watchWork(io, {
      begun,
      goesOn: `The move goes on: npm run plat -- tenant move ${clean(tenant)} --wait`,
      isUnderWay: ({ state }) => options.has("wait") && state !== "cleaning" && state !== "done",
      shown: ({ state, files }) => `${state}: ${files} files`,
      ask: () => ok(api.readMove(tenant, opts)),
    });
    await printRecord(invocation, moved);
  },
};

async function report(invocation: Invocation, changed: Readonly<Record<string, unknown>>): Promise<void> {
  if (invocation.options.has("json")) await printRecord(invocation, changed);
}

function onlyDeployment(folder: string): string {
  const names = existsSync(folder)
    ? readdirSync(folder).flatMap((file) => (file.endsWith(".toml") ? [file.slice(0, -".toml".length)] : []))
    : [];
  const [only] = names;
  if (names.length === 1 && only !== undefined) return only;
  if (names.length > 1) throw new UsageError(`Which deployment? ${names.toSorted().join(", ")}`);
  throw new UserError(
    `There is no deployment in ${clean(folder)}. A shard is a database of a deployment: run this where the platform is deployed from.`,
  );
}

function numberOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,3}$/.test(text)) throw new UsageError("--to takes a number of shards.");
  return Number(text);
}
