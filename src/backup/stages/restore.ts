import { mapInParallel } from "../../platform/runtime/parallel.ts";
import { createLoadStore, type LoadStore } from "../database/load-store.ts";
import type { Finding } from "../model/job.ts";
import { LIMITS } from "../model/limits.ts";
import { logSection, SECTIONS, tableSection } from "../model/part.ts";
import type {
  ConsumerPage,
  EventsPage,
  ImportOutcome,
  ImportPlace,
  PushPage,
  RegisterPage,
  StorePage,
  TopicAddress,
} from "../model/ports.ts";
import { Refused, type JobLists, type NumberedPart, type Stage } from "../model/stage.ts";
import { placed, shardOfKey, TABLES, tablesOfShards, type PlacedTable, type Table } from "../model/tables.ts";
import type { StageDeps } from "./backup.ts";
import { filesAt } from "./file-lines.ts";
import { createTopicWalk, FIRST_TOPIC, readPart, type TopicPlace } from "./topic-walk.ts";
import { loadIndex, usableManifest } from "./verify.ts";

/**
 * Restores a backup into an empty deployment. Before the first write it checks the platform's name, the seal keys, and
 * that the tables are empty and have every column. Rows come first, parents before children; then the counts and
 * indexes made from them; then the objects; then the bytes of files.
 *
 * Steps run only while MAINTENANCE is on, since then nobody else writes and no sweep runs.
 */
export function restoreStages(deps: StageDeps): readonly Stage[] {
  const loads = deps.shards.map(({ db }) => createLoadStore(db));
  const [directory] = loads;
  const stages = [
    checkTarget(deps, loads),
    loadIndex(deps),
    loadSequences(loads),
    loadTables(deps, loads),
    countTables(loads),
    inEachShard("owners", loads, async (load, _, position) => {
      const last = await load.countOwners(position === "" ? 0 : Number(position));
      return last === undefined ? undefined : String(last);
    }),
    inEachShard("settle", loads, async (load) => (await load.settle(), undefined)),
    { name: "tenants", step: async () => (await deps.copyTenants(), { next: undefined }) },
    inEachShard("metadata_index", loads, async (load, shard, position) => {
      const ids = await load.filesAfter(position, LIMITS.indexedFiles);
      if (ids.length > 0) await deps.reindexFiles(shard, ids);
      return ids.length < LIMITS.indexedFiles ? undefined : ids.at(-1);
    }),
    loadLogs(deps, directory!),
    loadObjects(deps, "consumers", SECTIONS.consumers, async (line) => {
      const [topic, name, page] = line as [TopicAddress, string, ConsumerPage];
      const place = { id: "", number: 0, isLast: true };
      return [
        `${topic.owner}.${topic.eventType} ${name}`,
        (id) => deps.objects.importConsumer(topic, name, { ...place, id }, page),
      ];
    }),
    loadObjects(deps, "push_subscriptions", SECTIONS.push, async (line) => {
      const [name, place, page] = line as [string, Omit<ImportPlace, "id">, PushPage];
      return [name, (id) => deps.objects.importPush(name, { ...place, id }, page)];
    }),
    loadObjects(deps, "metrics", SECTIONS.metrics, async (line) => {
      const [name, place, page] = line as [string, Omit<ImportPlace, "id">, StorePage];
      return [name, (id) => deps.metrics.importStore(name, { ...place, id }, page)];
    }),
    loadFiles(deps),
    markRestored(deps),
  ];
  return stages.map((stage) => whileMaintained(deps, stage));
}

function whileMaintained({ isMaintained }: StageDeps, { name, step }: Stage): Stage {
  return {
    name,
    async step(context) {
      if (!isMaintained) throw new Error("MAINTENANCE is off. The restore goes on when it is on.");
      return step(context);
    },
  };
}

function checkTarget(deps: StageDeps, loads: readonly LoadStore[]): Stage {
  return {
    name: "check",
    async step({ job }) {
      const manifest = await usableManifest(deps, job);
      const shards = 1 + Math.max(...Object.keys(manifest.tables).map(shardOfKey));
      if (shards > loads.length)
        throw new Refused(`The backup is of ${shards} databases, and ${loads.length} are bound here: set shards.`);
      const filled = (
        await mapInParallel([...loads.entries()], LIMITS.parallel, ([shard, load]) => load.filled(tablesIn(shard)))
      ).flat();
      if (filled.length > 0)
        throw new Refused(`A restore needs an empty platform, and there are rows in ${filled.join(", ")}.`);
      if (manifest.bytes === "copy" && !(await deps.copies.isEmpty()))
        throw new Refused("A restore needs an empty bucket of files, and there are objects in it.");
      const ours = await mapInParallel([...loads.entries()], LIMITS.parallel, ([shard, load]) =>
        load.columns(tablesIn(shard)),
      );
      for (const [key, { columns }] of Object.entries(manifest.tables)) {
        const known = ours[shardOfKey(key)]!.get(key.split("@")[0] as Table) ?? [];
        const unknown = columns.filter((column) => !known.includes(column));
        if (unknown.length > 0)
          throw new Refused(
            `The backup has columns that this schema lacks: ${unknown.map((column) => `${key}.${column}`).join(", ")}. ` +
              `Deploy the release that made it, or a newer one: its newest migration is ${manifest.migration}.`,
          );
      }
      const { tables, sequences, index, startedAt, generation } = manifest;
      return { next: undefined, facts: { tables, sequences, index, startedAt, generation } };
    },
  };
}

const loadSequences = (loads: readonly LoadStore[]): Stage => ({
  name: "sequences",
  async step({ job }) {
    for (const [shard, load] of loads.entries()) {
      const own = Object.entries(job.facts.sequences).filter(([key]) => shardOfKey(key) === shard);
      await load.raiseSequences(Object.fromEntries(own.map(([key, last]) => [key.split("@")[0]!, last])));
    }
    return { next: undefined };
  },
});

/** All tables of a backup, each after the tables that its rows refer to. */
const tablesOf = (loads: readonly LoadStore[]): readonly PlacedTable[] => [
  ...TABLES.map((table) => placed(table, 0)),
  ...tablesOfShards(loads.length),
];
const tablesIn = (shard: number): readonly Table[] =>
  shard === 0 ? TABLES : tablesOfShards(2).map(({ table }) => table);

/** A stage that runs in one shard after the other. `step` returns the next position there; undefined: the end. */
function inEachShard(
  name: string,
  loads: readonly LoadStore[],
  step: (load: LoadStore, shard: number, position: string) => Promise<string | undefined>,
): Stage {
  return {
    name,
    async step({ position }) {
      const at =
        position === "" ? { shard: 0, position: "" } : (JSON.parse(position) as { shard: number; position: string });
      const load = loads[at.shard];
      if (load === undefined) return { next: undefined };
      const next = await step(load, at.shard, at.position);
      const following = next === undefined ? { shard: at.shard + 1, position: "" } : { ...at, position: next };
      return { next: following.shard === loads.length ? undefined : JSON.stringify(following) };
    },
  };
}

/** Loads one table after the other, some parts in each step. Tables without rows have no part, and take no step. */
function loadTables({ parts }: StageDeps, loads: readonly LoadStore[]): Stage {
  const tables = tablesOf(loads);
  return {
    name: "tables",
    async step({ position, lists, job }) {
      const at: PartPlace = position === "" ? { table: 0, part: 0 } : (JSON.parse(position) as PartPlace);
      const found = partsAtOnce(tables, lists, at);
      const last = found.at(-1);
      if (last === undefined) return { next: undefined };
      const loaded = await Promise.all(
        found.map(async ({ at: { table: index }, part }) => {
          const { table, key } = tables[index]!;
          const { columns } = job.facts.tables[key] ?? { columns: [] };
          return { table, columns, rows: await readPart(parts, part.digest) };
        }),
      );
      await loads[tables[last.at.table]!.shard]!.load(loaded);
      const next: PartPlace = { ...last.at, part: last.at.part + 1 };
      return { next: JSON.stringify(next), counts: { rows: loaded.reduce((sum, { rows }) => sum + rows.length, 0) } };
    },
  };
}

/** The next parts of the tables of one shard, which are a page in all; at least one, if there is one. */
function partsAtOnce(tables: readonly PlacedTable[], lists: JobLists, from: PartPlace): readonly FoundPart[] {
  const found: FoundPart[] = [];
  let bytes = 0;
  for (let at = from; found.length < LIMITS.tablesAtOnce;) {
    const next = findPart(tables, lists, at);
    if (next === undefined) break;
    bytes += next.part.bytes;
    const isFirst = found[0] === undefined;
    if (!isFirst && (bytes > LIMITS.pageChars || tables[next.at.table]!.shard !== tables[found[0]!.at.table]!.shard))
      break;
    found.push(next);
    at = { ...next.at, part: next.at.part + 1 };
  }
  return found;
}

interface FoundPart {
  readonly at: PartPlace;
  readonly part: NumberedPart;
}

/** The number of a table, and that of a part in the list. */
interface PartPlace {
  readonly table: number;
  readonly part: number;
}

/** Finds the next part of the tables. Undefined: there is none. */
function findPart(
  tables: readonly PlacedTable[],
  lists: JobLists,
  { table, part: from }: PartPlace,
): FoundPart | undefined {
  for (const [ahead, { key }] of tables.slice(table).entries()) {
    const [part] = lists.partsOf(tableSection(key), ahead === 0 ? from : 0, 1);
    if (part !== undefined) return { at: { table: table + ahead, part: part.number }, part };
  }
  return undefined;
}

/**
 * Reports rows that were left out. This platform's own rows do not count: their numbers follow those of the backup. A
 * step counts tables of one shard.
 */
const countTables = (loads: readonly LoadStore[]): Stage => ({
  name: "totals",
  async step({ position, job }) {
    const at = position === "" ? 0 : Number(position);
    const wanted = (key: string): number => job.facts.tables[key]?.rows ?? 0;
    const some = countedAtOnce(tablesOf(loads).slice(at), wanted);
    const load = loads[some[0]?.shard ?? 0];
    if (some.length === 0 || load === undefined) return { next: undefined };
    const there = await load.counts(some.map(({ table, key }) => ({ table, last: job.facts.sequences[key] })));
    const dropped = some
      .map(({ key }, index) => ({ key, rows: wanted(key) - there[index]! }))
      .filter(({ rows }) => rows > 0);
    return {
      next: String(at + some.length),
      counts: { rows: -dropped.reduce((sum, { rows }) => sum + rows, 0) },
      findings: dropped.map(({ key, rows }): Finding => ({ kind: "row_dropped", subject: `${key}: ${rows}` })),
    };
  },
});

/** The first tables, of one shard and of a limited number of rows in all; at least one. */
function countedAtOnce(tables: readonly PlacedTable[], rowsOf: (key: string) => number): readonly PlacedTable[] {
  let rows = 0;
  const end = tables.findIndex(({ key, shard }, index) => {
    rows += rowsOf(key);
    return shard !== tables[0]!.shard || (index > 0 && rows > LIMITS.countedRows);
  });
  return end === -1 ? tables : tables.slice(0, end);
}

interface LogPlace extends TopicPlace {
  readonly shard: number;
  /** The number of the next part in the list, and of its page in the log. */
  readonly from: number;
  readonly page: number;
}

/** Loads the pages of each log in their order. The last page opens the log for use. */
function loadLogs({ parts, objects }: StageDeps, load: LoadStore): Stage {
  const walk = createTopicWalk(parts);
  return {
    name: "topics",
    async step({ position, lists, job }) {
      const at: LogPlace =
        position === "" ? { ...FIRST_TOPIC, shard: 0, from: 0, page: 0 } : (JSON.parse(position) as LogPlace);
      const found = await walk.topicAt(at, job, lists);
      if (found === undefined) return { next: undefined };
      const { topic, place } = found;
      const nextTopic = { ...place, line: place.line + 1, shard: 0, from: 0, page: 0 };
      const [part, following] = lists.partsOf(logSection(topic.incarnation, at.shard), at.from, 2);
      if (part === undefined) {
        // The topic was deleted while the backup ran. The sweep finishes the deletion.
        await load.markDeleted(topic.incarnation);
        return { next: JSON.stringify(nextTopic) };
      }
      const page = JSON.parse((await readPart(parts, part.digest))[0]!) as RegisterPage | EventsPage;
      const isLast = following === undefined;
      const outcome = await objects.importLog(topic, at.shard, { id: job.backup, number: at.page, isLast }, page);
      refuse(outcome, `the topic ${topic.owner}.${topic.eventType}`);
      const events = eventsOf(part);
      if (!isLast)
        return {
          next: JSON.stringify({ ...at, ...place, from: following.number, page: at.page + 1 }),
          counts: { events },
        };
      const isLastShard = at.shard + 1 >= topic.shards;
      const next = isLastShard ? nextTopic : { ...place, shard: at.shard + 1, from: 0, page: 0 };
      return { next: JSON.stringify(next), counts: { events, topics: isLastShard ? 1 : 0 } };
    },
  };
}

const eventsOf = ({ info }: NumberedPart): number => (JSON.parse(info) as { events?: number }).events ?? 0;

function refuse(outcome: ImportOutcome, what: string): void {
  switch (outcome) {
    case "imported":
    case "again":
      return;
    case "not_empty":
      throw new Refused(`A restore needs empty objects, and ${what} holds something else.`);
    case "other_format":
      throw new Refused(`A newer release wrote the backup of ${what}.`);
    case "out_of_order":
      throw new Refused(`Pages of ${what} are missing in the backup.`);
  }
}

type Import = readonly [what: string, run: (id: string) => Promise<ImportOutcome>];

/** Loads all objects of a kind. Each line of a part is a page of one object. */
function loadObjects(
  { parts }: StageDeps,
  name: "consumers" | "push_subscriptions" | "metrics",
  section: string,
  importOf: (line: unknown) => Promise<Import>,
): Stage {
  return {
    name,
    async step({ position, lists, job }) {
      const [part, following] = lists.partsOf(section, position === "" ? 0 : Number(position), 2);
      if (part === undefined) return { next: undefined };
      const lines = await readPart(parts, part.digest);
      for (const line of lines) {
        const [what, run] = await importOf(JSON.parse(line));
        refuse(await run(job.backup), what);
      }
      const next = following === undefined ? undefined : String(following.number);
      const counts =
        name === "consumers"
          ? { consumers: lines.length }
          : name === "push_subscriptions"
            ? { pushSubscriptions: lines.filter(isLastPage).length }
            : {};
      return { next, counts };
    },
  };
}

const isLastPage = (line: string): boolean => (JSON.parse(line) as [string, { isLast: boolean }])[1].isLast;

/** Puts the bytes of files back, or checks that they are there. */
function loadFiles({ copies, parts }: StageDeps): Stage {
  return {
    name: "files",
    async step({ position, lists }) {
      const page = await filesAt(position, lists, async ({ digest }) => readPart(parts, digest));
      if (page === undefined) return { next: undefined };
      const { files: some, next } = page;
      const done = await Promise.all(some.map(async (file) => ({ file, how: await copies.putBack(file) })));
      const copied = done.filter(({ how }) => how === "copied").map(({ file }) => file);
      const missing = done.filter(({ how }) => how === "missing");
      return {
        next,
        counts: {
          files: some.length,
          fileBytes: some.reduce((sum, { size }) => sum + size, 0),
          copiedFiles: copied.length,
          copiedBytes: copied.reduce((sum, { size }) => sum + size, 0),
        },
        findings: missing.map(({ file }) => ({ kind: "file_missing", subject: file.key })),
      };
    },
  };
}

/** Notes that the platform is as it was when the backup began. Erasures since then are replayed. */
const markRestored = ({ restorePoint }: StageDeps): Stage => ({
  name: "restore_point",
  async step({ job: { id, actor, startedAt, facts } }) {
    const isMarked = (await restorePoint.generation()) === id;
    if (!isMarked) await restorePoint.mark({ generation: id, toMs: facts.startedAt, atMs: startedAt, actor });
    return { next: undefined };
  },
});
