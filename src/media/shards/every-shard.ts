import { mapInParallel } from "../../platform/runtime/parallel.ts";
import { SHARDS_AT_ONCE } from "../../platform/storage/shards.ts";
import type { Backlog, BacklogStore } from "../dead/backlog-store.ts";
import type { ExpectedEverywhere, ExpectedStore } from "../consistency/expected-store.ts";
import { compareKeys, FILE_ID_CHARS, type ExpectedObject } from "../consistency/keyspaces.ts";
import type { RepairStore } from "../consistency/repair-store.ts";
import type { NearQuota, UsageStore } from "../files/usage-store.ts";
import type { OfShards } from "../../platform/storage/tenant-objects.ts";
import type { ObjectsOfFiles } from "./objects-of-files.ts";
import type { ObjectReports } from "./object-reports.ts";

/** Asks the stores of all shards, some at a time. */
const ofEach = <S, R>(stores: readonly S[], ask: (store: S) => Promise<R>): Promise<readonly R[]> =>
  mapInParallel(stores, SHARDS_AT_ONCE, ask);

/** The tenant objects, and how to find the ones of a file. */
export interface Objects<S> {
  readonly stores: OfShards<S>;
  readonly ofFiles: ObjectsOfFiles;
}

/**
 * Merges the keys of the deployment's shards in one order: each gives a page, and the first keys of all these are the
 * page. Tenant objects are too many for that: they are asked for rows by name, and walked one after the other in the
 * end (consistency/compare-objects.ts).
 */
export function expectedOfAll(
  stores: readonly ExpectedStore[],
  objects: Objects<ExpectedStore> | undefined,
): ExpectedEverywhere {
  const inObjects: ExpectedStore["named"] = async (keyspace, rowKeys) => {
    if (objects === undefined || rowKeys.length === 0) return [];
    const found: ExpectedObject[] = [];
    const byFile = Map.groupBy(rowKeys, fileIdOfRow);
    await objects.ofFiles.ask([...byFile.keys()], async (object, ids) => {
      const store = objects.stores.at(object);
      const rows = await store.named(
        keyspace,
        ids.flatMap((id) => byFile.get(id) ?? []),
      );
      found.push(...rows);
      return rows.flatMap(({ fileId, need }) => (need === "any" ? [] : [fileId]));
    });
    return onceEach(found, ({ rowKey }) => rowKey);
  };
  return {
    inObjects,
    async page(keyspace, after, fromFileId, limit, until) {
      const pages = await ofEach(stores, (store) => store.page(keyspace, after, fromFileId, limit, until));
      if (pages.length === 1) return pages[0]!;
      return onceEach(pages.flat(), keyOf)
        .toSorted((a, b) => compareKeys(keyOf(a), keyOf(b)))
        .slice(0, limit);
    },
    async named(keyspace, rowKeys) {
      const found = (await ofEach(stores, (store) => store.named(keyspace, rowKeys))).flat();
      // A row that says "any" may be one that its tenant left behind, so it does not end the search.
      const certain = new Set(found.flatMap(({ rowKey, need }) => (need === "any" ? [] : [rowKey])));
      const left = rowKeys.filter((rowKey) => !certain.has(rowKey));
      return onceEach([...found, ...(await inObjects(keyspace, left))], ({ rowKey }) => rowKey);
    },
  };
}

/** The file of a row: a file itself, or `{file}/{nonce}`. */
const fileIdOfRow = (rowKey: string): string => rowKey.slice(0, FILE_ID_CHARS);

/** Keeps one entry of a file. While a file moves with its tenant, both shards have rows of it. */
function onceEach(all: readonly ExpectedObject[], nameOf: (one: ExpectedObject) => string): readonly ExpectedObject[] {
  const once = new Map<string, ExpectedObject>();
  for (const one of all) {
    const name = nameOf(one);
    const other = once.get(name);
    if (other === undefined || other.need === "any") once.set(name, one);
  }
  return [...once.values()];
}

const keyOf = ({ key }: ExpectedObject): string => key ?? "";

/**
 * Sends repairs to every shard of the deployment and to the tenant objects of the files. The one with the row does the
 * repair; the others do nothing.
 */
export const repairsOfAll = (
  stores: readonly RepairStore[],
  objects: Objects<RepairStore> | undefined,
): RepairStore => ({
  async repair(work) {
    const done = new Map((await ofEach(stores, (store) => store.repair(work))).flatMap((some) => [...some]));
    const left = [...work.files, ...work.variants].filter(({ seq }) => !done.has(seq)).map(({ fileId }) => fileId);
    await objects?.ofFiles.ask([...new Set(left)], async (object, ids) => {
      const isAsked = ({ fileId }: { readonly fileId: string }): boolean => ids.includes(fileId);
      const files = work.files.filter(isAsked);
      const variants = work.variants.filter(isAsked);
      const repaired = await objects.stores.at(object).repair({ ...work, files, variants });
      for (const [seq, shard] of repaired) done.set(seq, shard);
      return [...files, ...variants].filter(({ seq }) => repaired.has(seq)).map(({ fileId }) => fileId);
    });
    return done;
  },
});

export const backlogOfAll = (stores: readonly BacklogStore[]): BacklogStore => ({
  dueJobs: async (nowMs) => sum(await ofEach(stores, (store) => store.dueJobs(nowMs))),
  overdueErasures: async (dueBeforeMs, nowMs) =>
    sum(await ofEach(stores, (store) => store.overdueErasures(dueBeforeMs, nowMs))),
});

function sum(parts: readonly Backlog[]): Backlog {
  const times = parts.flatMap(({ sinceMs }) => (sinceMs === null ? [] : [sinceMs]));
  return {
    rows: parts.reduce((total, { rows }) => total + rows, 0),
    sinceMs: times.length === 0 ? null : Math.min(...times),
  };
}

export type UsageOfAll = Pick<UsageStore, "byTenant" | "total" | "nearQuota" | "filesOfClient" | "filesOfTenant">;

/** `reports`: what tenant objects store; undefined: there are none. */
export const usageOfAll = (stores: readonly UsageStore[], reports: ObjectReports | undefined): UsageOfAll => ({
  async byTenant(from, before) {
    // A tenant that moves meanwhile may be found in both shards.
    const inObjects = (await reports?.byTenant(from, before)) ?? [];
    const found = [...(await ofEach(stores, (store) => store.byTenant(from, before))).flat(), ...inObjects];
    const most = new Map<string, (typeof found)[number]>();
    for (const one of found) if ((most.get(one.tenant)?.files ?? -1) < one.files) most.set(one.tenant, one);
    return [...most.values()];
  },
  async total() {
    const none = { files: 0, bytes: 0 };
    const parts = [(await reports?.sums()) ?? none, ...(await ofEach(stores, (store) => store.total()))];
    return parts.reduce((one, other) => ({ files: one.files + other.files, bytes: one.bytes + other.bytes }));
  },
  async nearQuota(share, among, limit) {
    const inObjects = (await reports?.nearQuota(share, among, limit)) ?? [];
    const found = [...(await ofEach(stores, (store) => store.nearQuota(share, among, limit))).flat(), ...inObjects];
    // The directory has a row of every tenant, but files of only some; the largest count is the right one.
    const fullest = new Map<string, NearQuota>();
    for (const one of found) if ((fullest.get(one.tenant)?.files ?? -1) < one.files) fullest.set(one.tenant, one);
    return [...fullest.values()].slice(0, limit);
  },
  filesOfClient: async (client, limit, tenant) =>
    (await ofEach(stores, (store) => store.filesOfClient(client, limit, tenant))).flat().slice(0, limit),
  filesOfTenant: async (tenant, limit) =>
    (await ofEach(stores, (store) => store.filesOfTenant(tenant, limit))).flat().slice(0, limit),
});
