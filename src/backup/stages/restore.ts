import { mapInParallel } from "../../platform/runtime/parallel.ts";
import { createLoadStore, type LoadStore } from "../database/load-store.ts";
import { LIMITS } from "../model/limits.ts";
import { logSection, SECTIONS } from "../model/part.ts";
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
import { Refused, placeIn, type NumberedPart, type Stage } from "../model/stage.ts";
import { OBJECT_COLUMN, shardOfKey, tableOfKey, TABLES, tablesOfShards, type Table } from "../model/tables.ts";
import type { StageDeps } from "./stage-deps.ts";
import { inEachDatabase } from "./each-database.ts";
import { filesAt } from "./file-lines.ts";
import { countTables, loadSequences, loadTables } from "./load-tables.ts";
import { checkObjects, countObjectTables, loadObjectTables, refuseWithoutObjects } from "./tenant-object-load.ts";
import { createTopicWalk, FIRST_TOPIC, readPart, type TopicPlace } from "./topic-walk.ts";
import { loadIndex, usableManifest } from "./verify.ts";

/**
 * Restores a backup into an empty deployment. Before the first write it checks the platform's name, the seal keys, and
 * that the tables are empty and have every column. Rows come first, parents before children; then the counts made
 * from them; then the objects; then the bytes of files.
 *
 * Steps run only while MAINTENANCE is on, since then nobody else writes and no sweep runs.
 */
export function restoreStages(deps: StageDeps): readonly Stage[] {
  const loads = deps.shards.map(({ db }) => createLoadStore(db));
  const [directory] = loads;
  const stages = [
    checkTarget(deps, loads),
    loadIndex(deps),
    checkObjects(deps),
    loadSequences(loads),
    loadTables(deps, loads),
    loadObjectTables(deps),
    countTables(loads),
    countObjectTables(deps),
    inEachDatabase("owners", deps, loads, async (load, position) => {
      const last = await load.countOwners(placeIn(position, 0));
      return last === undefined ? undefined : String(last);
    }),
    inEachDatabase("settle", deps, loads, async (load) => (await load.settle(), undefined)),
    copyTenants(deps),
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

const copyTenants = ({ copyTenants: copies }: StageDeps): Stage => ({
  name: "tenants",
  async step({ position, job }) {
    if (position === "") {
      await copies.begin(job.startedAt);
      return { next: "begun" };
    }
    return { next: (await copies.more()) ? "begun" : undefined };
  },
});

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
      refuseWithoutObjects(deps, manifest);
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
        const known = ours[shardOfKey(key)]!.get(tableOfKey(key)) ?? [];
        const unknown = columns.filter((column) => column !== OBJECT_COLUMN && !known.includes(column));
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

const tablesIn = (shard: number): readonly Table[] =>
  shard === 0 ? TABLES : tablesOfShards(2).map(({ table }) => table);

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
      const at = placeIn<LogPlace>(position, { ...FIRST_TOPIC, shard: 0, from: 0, page: 0 });
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
      const [part, following] = lists.partsOf(section, placeIn(position, 0), 2);
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
