import { mapInParallel } from "../../platform/runtime/parallel.ts";
import { SHARDS_AT_ONCE } from "../../platform/storage/shards.ts";
import type { Backlog, BacklogStore } from "../dead/backlog-store.ts";
import type { ExpectedStore } from "../consistency/expected-store.ts";
import { compareKeys, type ExpectedObject } from "../consistency/keyspaces.ts";
import type { RepairStore } from "../consistency/repair-store.ts";
import type { NearQuota, UsageStore } from "../files/usage-store.ts";

/** Asks the stores of all shards, some at a time. */
const ofEach = <S, R>(stores: readonly S[], ask: (store: S) => Promise<R>): Promise<readonly R[]> =>
  mapInParallel(stores, SHARDS_AT_ONCE, ask);

/**
 * Merges the keys of all shards in one order: each shard gives a page, and the first keys of all these are the page.
 */
export const expectedOfAll = (stores: readonly ExpectedStore[]): ExpectedStore => ({
  async page(keyspace, after, fromFileId, limit, until) {
    const pages = await ofEach(stores, (store) => store.page(keyspace, after, fromFileId, limit, until));
    if (pages.length === 1) return pages[0]!;
    return onceEach(pages.flat(), keyOf)
      .toSorted((a, b) => compareKeys(keyOf(a), keyOf(b)))
      .slice(0, limit);
  },
  named: async (keyspace, rowKeys) =>
    onceEach((await ofEach(stores, (store) => store.named(keyspace, rowKeys))).flat(), ({ rowKey }) => rowKey),
});

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

/** Sends repairs to every shard. The shard with the row does the repair; the others do nothing. */
export const repairsOfAll = (stores: readonly RepairStore[]): RepairStore => ({
  repair: async (work) => new Map((await ofEach(stores, (store) => store.repair(work))).flatMap((done) => [...done])),
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

export const usageOfAll = (stores: readonly UsageStore[]): UsageOfAll => ({
  async byTenant(from, before) {
    // A tenant that moves meanwhile may be found in both shards.
    const found = (await ofEach(stores, (store) => store.byTenant(from, before))).flat();
    const most = new Map<string, (typeof found)[number]>();
    for (const one of found) if ((most.get(one.tenant)?.files ?? -1) < one.files) most.set(one.tenant, one);
    return [...most.values()];
  },
  async total() {
    const parts = await ofEach(stores, (store) => store.total());
    return parts.reduce((one, other) => ({ files: one.files + other.files, bytes: one.bytes + other.bytes }));
  },
  async nearQuota(share, among, limit) {
    const found = (await ofEach(stores, (store) => store.nearQuota(share, among, limit))).flat();
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
