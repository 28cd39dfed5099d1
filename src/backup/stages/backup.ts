import { createDumpStore, type DumpStore } from "../database/dump-store.ts";
import { FORMAT } from "../bucket/manifest-store.ts";
import { BYTES_PREFIXES } from "../files/file-copies.ts";
import { LIMITS } from "../model/limits.ts";
import { SECTIONS, type Part } from "../model/part.ts";
import type { Stage } from "../model/stage.ts";
import { placed, TABLES, tablesOfShards, type Table } from "../model/tables.ts";
import { readIndex } from "./index-parts.ts";
import { dumpObjects } from "./object-stage.ts";
import { dumpTenantObjects } from "./tenant-object-dump.ts";
import type { StageDeps } from "./stage-deps.ts";
import { countsOf, dumpTables, writeParts } from "./table-stage.ts";
import { placeIn } from "../model/stage.ts";

/**
 * Tables that are read before the objects of topics. So each waiting event is in the outbox or in a log, and the
 * objects are those of the rows that were read.
 */
const BEFORE_OBJECTS: readonly Table[] = ["outbox", "push_subscription", "topic"];

/** The stages of a backup, in their order. */
export function backupStages(deps: StageDeps): readonly Stage[] {
  const { parts } = deps;
  const dumps = deps.shards.map(({ db }) => createDumpStore(db));
  const inDirectory = (tables: readonly Table[]) => tables.map((table) => placed(table, 0));
  const all = [...inDirectory(TABLES), ...tablesOfShards(dumps.length)];
  const ofShards = all.filter(({ table, shard }) => shard > 0 && BEFORE_OBJECTS.includes(table));
  // In the opposite order of a restore (model/tables.ts): files before the tenants that they belong to. The directory
  // is last, so it lists every tenant object that was read.
  const rest = all.filter(({ table }) => !BEFORE_OBJECTS.includes(table)).toReversed();
  const restOfShards = rest.filter(({ shard }) => shard > 0);
  const restOfDirectory = rest.filter(({ shard }) => shard === 0);
  return [
    earlierBackup(deps),
    dumpTables("first_tables", [...ofShards, ...inDirectory(BEFORE_OBJECTS)], dumps, parts),
    dumpObjects(deps.objects, parts),
    dumpMetrics(deps),
    dumpTables("tables", restOfShards, dumps, parts),
    dumpTenantObjects(deps),
    dumpTables("directory_tables", restOfDirectory, dumps, parts),
    { name: "sequences", step: async () => ({ next: undefined, facts: { sequences: await sequencesOf(dumps) } }) },
    listFiles(deps),
    writeIndex(deps),
    writeManifest(deps),
  ];
}

/** The greatest numbers of numbered tables, by the key of the table. */
async function sequencesOf(dumps: readonly DumpStore[]): Promise<Readonly<Record<string, number>>> {
  const found = await Promise.all(dumps.map((dump) => dump.sequences()));
  const ofShards = tablesOfShards(dumps.length).flatMap(({ table, shard, key }) => {
    const last = found[shard]?.[table];
    return last === undefined ? [] : [[key, last] as const];
  });
  return { ...found[0], ...Object.fromEntries(ofShards) };
}

/** Lists the event parts of the newest earlier backup, if it covers at least the time that this one wants. */
function earlierBackup({ manifests, parts, platform, restorePoint }: StageDeps): Stage {
  return {
    name: "earlier_backup",
    async step({ job, position }) {
      const facts = { startedAt: job.startedAt, generation: await restorePoint.generation() };
      const [newest] = await manifests.ids();
      const manifest = newest === undefined ? undefined : await manifests.read(newest);
      if (manifest === undefined || manifest.platform !== platform || manifest.format !== FORMAT)
        return { next: undefined, facts };
      // After a restore, logs give numbers again that other events have in the earlier backup.
      if (manifest.generation !== facts.generation) return { next: undefined, facts };
      const [theirs, ours] = [manifest.eventsSince, job.options.eventsSince];
      if (theirs !== null && (ours === null || ours < theirs)) return { next: undefined, facts };
      const { lines, next } = await readIndex(parts, manifest.index, position);
      return { next, facts, known: lines.filter(({ section, info }) => section.startsWith("log:") && isEvents(info)) };
    },
  };
}

const isEvents = (info: string): boolean => (JSON.parse(info) as { kind: string }).kind === "events";

function dumpMetrics({ metrics, parts }: StageDeps): Stage {
  return {
    name: "metrics",
    async step({ position }) {
      const names = metrics.storeNames;
      const at = placeIn<MetricsPlace>(position, { store: 0, after: null, page: 0 });
      const name = names[at.store];
      if (name === undefined) return { next: undefined };
      const page = await metrics.exportStore(name, at.after ?? undefined);
      const isLast = page.next === undefined;
      const line = JSON.stringify([name, { number: at.page, isLast }, page]);
      const written = await parts.put(SECTIONS.metrics, [line]);
      const next: MetricsPlace = isLast
        ? { store: at.store + 1, after: null, page: 0 }
        : { ...at, after: page.next ?? null, page: at.page + 1 };
      return { next: JSON.stringify(next), parts: [written.part], counts: countsOf([written]) };
    },
  };
}

interface MetricsPlace {
  readonly store: number;
  readonly after: unknown;
  readonly page: number;
}

/** Lists files, after their rows were read: a committed file has its bytes, so those of each row are listed. */
function listFiles({ copies, parts }: StageDeps): Stage {
  return {
    name: "files",
    async step({ position, job }) {
      const at = placeIn(position, { prefix: 0, after: "" });
      const prefix = BYTES_PREFIXES[at.prefix];
      if (prefix === undefined) return { next: undefined };
      const found = await copies.step(prefix, at.after, job.options.bytes === "copy");
      const lines = found.lines.map((line) => ({ key: line.key, text: JSON.stringify(line) }));
      // Each page ends with a part, so that every file that was copied is listed.
      const written = await writeParts(parts, SECTIONS.media, lines, true);
      const counts = {
        ...written.counts,
        files: lines.length,
        fileBytes: found.lines.reduce((sum, { size }) => sum + size, 0),
        copiedFiles: found.copied,
        copiedBytes: found.copiedBytes,
      };
      const next = found.next === undefined ? { prefix: at.prefix + 1, after: "" } : { ...at, after: found.next };
      return { next: JSON.stringify(next), parts: written.parts, counts };
    },
  };
}

function writeIndex({ parts }: StageDeps): Stage {
  return {
    name: "index",
    async step({ position, lists, job }) {
      const from = placeIn(position, 0);
      const page = lists.parts(from, LIMITS.indexLines);
      if (page.length === 0) return { next: undefined };
      const written = await parts.put("index", page.map(toIndexLine));
      const facts = { index: [...job.facts.index, written.part.digest] };
      return { next: String(from + page.length), facts };
    },
  };
}

const toIndexLine = ({ section, digest, bytes, count, info }: Part): string =>
  JSON.stringify({ section, digest, bytes, count, info });

function writeManifest({ manifests, seals, platform, migration, clock }: StageDeps): Stage {
  return {
    name: "manifest",
    async step({ job, lists }) {
      const [proofs, used] = await Promise.all([seals.proofs(), seals.used()]);
      // The parts of a cancelled backup may be swept by the next job, so it must not become whole.
      if (!lists.stillRuns(job)) return { next: undefined };
      await manifests.write({
        format: FORMAT,
        id: job.backup,
        platform,
        migration,
        bytes: job.options.bytes,
        eventsSince: job.options.eventsSince,
        finishedAt: clock.nowMs(),
        counts: job.counts,
        ...job.facts,
        sealKeys: proofs.map(({ id, proof }) => ({ id, proof, isUsed: used.has(id) })),
      });
      return { next: undefined };
    },
  };
}
