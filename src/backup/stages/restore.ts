import { createLoadStore, type LoadStore } from "../database/load-store.ts";
import type { FileLine } from "../files/file-copies.ts";
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
import { Refused, type NumberedPart, type Stage } from "../model/stage.ts";
import { TABLES, type Table } from "../model/tables.ts";
import type { StageDeps } from "./backup.ts";
import { createTopicWalk, FIRST_TOPIC, readPart, type TopicPlace } from "./topic-walk.ts";
import { loadIndex, usableManifest } from "./verify.ts";

/**
 * Puts a backup into an empty deployment. Everything is checked before the first write: the platform's name, the seal
 * keys, that the tables are empty and know every column. Rows come first, parents before children; then what is counted
 * or indexed from them; then the objects; then the bytes of files.
 *
 * It goes on only while MAINTENANCE is on: nobody else writes, no sweep runs.
 */
export function restoreStages(deps: StageDeps): readonly Stage[] {
  const load = createLoadStore(deps.db);
  const stages = [
    checkTarget(deps, load),
    loadIndex(deps),
    loadSequences(load),
    loadTables(deps, load),
    countTables(load),
    countOwners(load),
    { name: "settle", step: async () => (await load.settle(), { next: undefined }) },
    indexFiles(deps, load),
    loadLogs(deps, load),
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

function checkTarget(deps: StageDeps, load: LoadStore): Stage {
  return {
    name: "check",
    async step({ job }) {
      const manifest = await usableManifest(deps, job);
      const filled = await load.filled();
      if (filled.length > 0)
        throw new Refused(`A restore needs an empty platform, and there are rows in ${filled.join(", ")}.`);
      if (manifest.bytes === "copy" && !(await deps.copies.isEmpty()))
        throw new Refused("A restore needs an empty bucket of files, and there are objects in it.");
      for (const [table, { columns }] of Object.entries(manifest.tables)) {
        const ours = await load.columns(table as Table);
        const unknown = columns.filter((column) => !ours.includes(column));
        if (unknown.length > 0)
          throw new Refused(
            `The backup has columns that this schema lacks: ${unknown.map((column) => `${table}.${column}`).join(", ")}. ` +
              `Deploy the release that made it, or a newer one: its newest migration is ${manifest.migration}.`,
          );
      }
      const { tables, sequences, index, startedAt, generation } = manifest;
      return { next: undefined, facts: { tables, sequences, index, startedAt, generation } };
    },
  };
}

const loadSequences = (load: LoadStore): Stage => ({
  name: "sequences",
  async step({ job }) {
    await load.raiseSequences(job.facts.sequences);
    return { next: undefined };
  },
});

/** A part of a table at a time, table after table. */
function loadTables({ parts }: StageDeps, load: LoadStore): Stage {
  return {
    name: "tables",
    async step({ position, lists, job }) {
      const at = position === "" ? { table: 0, part: 0 } : (JSON.parse(position) as { table: number; part: number });
      const table = TABLES[at.table];
      if (table === undefined) return { next: undefined };
      const [part] = lists.partsOf(tableSection(table), at.part, 1);
      if (part === undefined) return { next: JSON.stringify({ table: at.table + 1, part: 0 }) };
      const rows = await readPart(parts, part.digest);
      await load.load(table, job.facts.tables[table]?.columns ?? [], rows);
      return { next: JSON.stringify({ ...at, part: part.number + 1 }), counts: { rows: rows.length } };
    },
  };
}

/** Looks which rows did not fit. Own rows of this platform are numbered behind those of the backup. */
const countTables = (load: LoadStore): Stage => ({
  name: "totals",
  async step({ position, job }) {
    const at = position === "" ? 0 : Number(position);
    const table = TABLES[at];
    if (table === undefined) return { next: undefined };
    const wanted = job.facts.tables[table]?.rows ?? 0;
    const there = await load.count(table, job.facts.sequences[table]);
    const findings: Finding[] =
      there >= wanted ? [] : [{ kind: "row_dropped", subject: `${table}: ${wanted - there}` }];
    return { next: String(at + 1), counts: { rows: Math.min(there - wanted, 0) }, findings };
  },
});

const countOwners = (load: LoadStore): Stage => ({
  name: "owners",
  async step({ position }) {
    const last = await load.countOwners(position === "" ? 0 : Number(position));
    return { next: last === undefined ? undefined : String(last) };
  },
});

function indexFiles({ reindexFiles }: StageDeps, load: LoadStore): Stage {
  return {
    name: "metadata_index",
    async step({ position }) {
      const ids = await load.filesAfter(position, LIMITS.indexedFiles);
      if (ids.length > 0) await reindexFiles(ids);
      return { next: ids.length < LIMITS.indexedFiles ? undefined : ids.at(-1) };
    },
  };
}

interface LogPlace extends TopicPlace {
  readonly shard: number;
  /** The number of the next part in the list, and of its page in the log. */
  readonly from: number;
  readonly page: number;
}

/** The pages of each log in their order; the last one opens it. */
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
        // The topic was deleted while the backup ran: the sweep finishes that.
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

/** Objects of a kind: each line of a part is a page of one. */
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

/** Puts the bytes of files back, or looks whether they are there. */
function loadFiles({ copies, parts }: StageDeps): Stage {
  return {
    name: "files",
    async step({ position, lists }) {
      const at = position === "" ? { part: 0, line: 0 } : (JSON.parse(position) as { part: number; line: number });
      const [part] = lists.partsOf(SECTIONS.media, at.part, 1);
      if (part === undefined) return { next: undefined };
      const lines = await readPart(parts, part.digest);
      const line = part.number === at.part ? at.line : 0;
      const some = lines.slice(line, line + LIMITS.parallel).map((text) => JSON.parse(text) as FileLine);
      const done = await Promise.all(some.map(async (file) => ({ file, how: await copies.putBack(file) })));
      const copied = done.filter(({ how }) => how === "copied").map(({ file }) => file);
      const missing = done.filter(({ how }) => how === "missing");
      const end = line + some.length;
      const next = end < lines.length ? { part: part.number, line: end } : { part: part.number + 1, line: 0 };
      return {
        next: JSON.stringify(next),
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

/** Marks the time when the backup began: what happened since is not in it, and erasures are replayed from then on. */
const markRestored = ({ restorePoint }: StageDeps): Stage => ({
  name: "restore_point",
  async step({ job: { id, actor, startedAt, facts } }) {
    const isMarked = (await restorePoint.generation()) === id;
    if (!isMarked) await restorePoint.mark({ generation: id, toMs: facts.startedAt, atMs: startedAt, actor });
    return { next: undefined };
  },
});
