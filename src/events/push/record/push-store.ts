import { pageOf, type CursorPart, type Page, type Paging, type RowRange } from "../../../http/input/paging.ts";
import { FreshCache } from "../../../platform/copies/fresh-cache.ts";
import type { Isolate } from "../../../platform/copies/isolate.ts";
import { noLocationCache, throughLocation, type LocationCache } from "../../../platform/copies/location-cache.ts";
import type { AuditRecord, AuditTrails } from "../../../platform/ports/audit.ts";
import type { Names } from "../../../platform/model/names.ts";
import { describeError, type Log } from "../../../platform/runtime/log.ts";
import { inParallel, mapInParallel } from "../../../platform/runtime/parallel.ts";
import type { Random } from "../../../platform/runtime/random.ts";
import { RUNS_OF_A_DAY, sliceAt } from "../../../platform/storage/slice.ts";
import { SHARDS_AT_ONCE, type Shards } from "../../../platform/storage/shards.ts";
import { RIGHT_COPY } from "../../model/limits.ts";
import { idIn, shardAsked, shardIn } from "../../model/place.ts";
import { BY_PLATFORM, pushAudit } from "./audit.ts";
import {
  createRecordStore,
  type Admission,
  type PushChange,
  type PushFilter,
  type PushLimits,
  type RecordStore,
} from "./record-store.ts";
import { withRight, type PushKey, type PushRecord, type Trouble } from "./record.ts";
import { createRightStore, rightKey, type KnownRight } from "./right-store.ts";

export interface PushStoreDeps {
  readonly shards: Shards;
  readonly audit: AuditTrails;
  readonly names: Names;
  readonly isolate: Isolate;
  readonly location?: LocationCache;
  readonly log: Log;
}

export type PushStore = ReturnType<typeof createPushStore>;

/** Number of records that the sweep compares with the directory at once. */
const COMPARED = 500;
const CREATED_AGAIN = new Set<Admission>(["exists", "too_many"]);

/**
 * The records of push subscriptions. All records of a topic lie in one shard, which the topic's incarnation and the
 * records' ids name (model/place.ts), so a call about one topic or one record asks one database. Callers of this store
 * need not know of shards.
 *
 * The directory (shard 0) knows which topics and clients exist and which rights they have. Its own records are read
 * together with the rights in one statement. Records of another shard need a second query to the directory. For
 * deliveries, a right that was cached for a few seconds is enough; all subscriptions of a client share it. No
 * transaction spans two databases:
 *
 *   created   inserted, with its row of the audit log ──▶ does the directory have topic and client? ── no ──▶ removed
 *   changed, removed   with the row of the audit log ──▶ the row carried to the directory
 *   topic     its logs closed, so no client subscribes ──▶ its records removed ──▶ its row removed
 *   client    removed in the directory ──▶ its records removed elsewhere
 *
 * A crash between two steps leaves a record whose topic or client is gone, or whose client was created again after it.
 * Such a record is void: it is not listed, nothing is delivered, and `sweep` removes it within a day. Rows of the audit
 * log that are left are carried by the next change or by `sweep`.
 */
export function createPushStore(deps: PushStoreDeps) {
  const { shards, audit, names, isolate, location = noLocationCache, log } = deps;
  const topicScope = names.scope("pubsub.topic=");
  const [{ db: directoryDb }, ...others] = shards;
  const directory = createRecordStore(directoryDb, audit, topicScope, true);
  const rights = createRightStore(directoryDb, topicScope);
  const trails = others.map(({ db }) => audit.inShard(db));
  const stores = [directory, ...others.map(({ db }, at) => createRecordStore(db, trails[at]!, topicScope, false))];
  const elsewhere = [...stores.keys()].slice(1);
  const copies = new FreshCache<string, Copy>(RIGHT_COPY, isolate);

  const placeOf = (id: string): number => shardIn(id, shards.length);
  const storeOf = (id: string): RecordStore => stores[placeOf(id)]!;
  const ofEach = <T>(ask: (store: RecordStore, shard: number) => Promise<T>): Promise<readonly T[]> =>
    mapInParallel([...stores.entries()], SHARDS_AT_ONCE, ([shard, store]) => ask(store, shard));

  /** A record of another shard is valid only if its client is older than the record. */
  const rightTo = (record: PushRecord, right: KnownRight | undefined): readonly PushRecord[] =>
    right === undefined || right.clientCreatedAtMs > record.createdAtMs ? [] : [withRight(record, right, topicScope)];
  async function withRights(shard: number, records: readonly PushRecord[]): Promise<readonly PushRecord[]> {
    if (shard === 0 || records.length === 0) return records;
    const known = await rights.rights(records);
    return records.flatMap((record) => rightTo(record, known.get(rightKey(record))));
  }
  async function one(id: string, find: (store: RecordStore) => Promise<PushRecord | undefined>) {
    const found = await find(storeOf(id));
    return found === undefined ? undefined : (await withRights(placeOf(id), [found]))[0];
  }
  const all = async (id: string, find: (store: RecordStore) => Promise<readonly PushRecord[]>) =>
    withRights(placeOf(id), await find(storeOf(id)));
  /** Void records are left out of a page after it was read, so that they end no list. */
  async function validOf(page: Page<PushRecord>): Promise<Page<PushRecord>> {
    const byShard = [...Map.groupBy(page.items, ({ id }) => placeOf(id))];
    const valid = await mapInParallel(byShard, SHARDS_AT_ONCE, ([shard, records]) => withRights(shard, records));
    return { ...page, items: valid.flat(), hasRowsBefore: page.hasRowsBefore === true || page.items.length > 0 };
  }

  /** Carries audit rows to the directory. A failure is only logged, since `sweep` carries them later. */
  async function carry(shard: number): Promise<void> {
    await trails[shard - 1]?.carry().catch((thrown: unknown) => {
      log.warn("audit rows of a shard wait", { shard, error: describeError(thrown) });
    });
  }
  async function changed<T>(id: string, change: (store: RecordStore) => Promise<T>): Promise<T> {
    const shard = placeOf(id);
    const outcome = await change(stores[shard]!);
    await carry(shard);
    return outcome;
  }

  /** Removes a void record of an earlier client with the same id if it prevents the creation, and asks again. */
  async function admitted<A extends Admission>(record: PushRecord, ask: () => Promise<A>): Promise<A> {
    const outcome = await ask();
    if (!CREATED_AGAIN.has(outcome)) return outcome;
    const { clientCreatedAtMs } = await rights.counts(record);
    const isFree = await storeOf(record.id).removeEarlier(record.client, clientCreatedAtMs ?? 0);
    return isFree ? ask() : outcome;
  }
  async function refusalOf(record: PushRecord): Promise<"no_topic" | "no_client" | undefined> {
    const { isTopicActive, clientCreatedAtMs } = await rights.counts(record);
    return isTopicActive === 0 ? "no_topic" : clientCreatedAtMs === null ? "no_client" : undefined;
  }

  /** Records that match, shard by shard, in each by id. Void ones are among them. */
  async function matching(
    filter: PushFilter,
    after: string,
    { limit, skip }: RowRange,
  ): Promise<readonly PushRecord[]> {
    if (stores.length === 1) return directory.matchingAfter(filter, after, { limit, skip });
    const from = after === "" ? 0 : (shardAsked(after, stores.length) ?? stores.length);
    const counts = await ofEach(async (store, shard) =>
      shard < from ? 0 : store.countAfter(filter, shard === from ? after : "", limit + skip),
    );
    const parts: (RowRange & { readonly shard: number })[] = [];
    let [left, skipped] = [limit, skip];
    for (const [shard, count] of counts.entries()) {
      const behind = Math.min(skipped, count);
      skipped -= behind;
      const taken = Math.min(left, count - behind);
      left -= taken;
      if (taken > 0) parts.push({ shard, skip: behind, limit: taken });
    }
    const found = await mapInParallel(parts, SHARDS_AT_ONCE, ({ shard, ...range }) =>
      stores[shard]!.matchingAfter(filter, shard === from ? after : "", range),
    );
    return found.flat();
  }

  /** Removes records whose topic or client is gone. Each run checks another slice of the ids; a day covers all. */
  async function removeLeftOver(shard: number, nowMs: number): Promise<void> {
    const store = stores[shard]!;
    const number = shard.toString(16).padStart(2, "0");
    const part = sliceAt(nowMs, RUNS_OF_A_DAY);
    for (let after = number + part.from; ;) {
      const records = await store.part(after, number + part.to, COMPARED);
      const over = new Set(records.length === 0 ? [] : await rights.leftOver(records));
      for (const { id } of records.filter((record) => over.has(record.id))) {
        const record = await store.findById(id);
        if (record === undefined) continue;
        await store.remove(id, pushAudit(record, "end", BY_PLATFORM, nowMs, "its topic or client is gone"));
      }
      if (records.length < COMPARED) return;
      after = records.at(-1)!.id;
    }
  }

  return {
    /** The id of a new subscription on a topic. */
    newId: (incarnation: string, random: Random): string => idIn(placeOf(incarnation), random),

    find: ({ incarnation, client, name }: PushKey): Promise<PushRecord | undefined> =>
      one(incarnation, (store) => store.find({ incarnation, client, name })),

    findById: (id: string): Promise<PushRecord | undefined> => one(id, (store) => store.findById(id)),

    /** The record of an id that a caller sent. */
    findAsked: async (id: string): Promise<PushRecord | undefined> =>
      shardAsked(id, stores.length) === undefined ? undefined : one(id, (store) => store.findById(id)),

    /** The record for its deliveries. `halt` may come from a cached right, whose time is `asOfMs`. */
    async forDelivery(id: string, nowMs: number): Promise<PushRecord | undefined> {
      const record = await storeOf(id).findById(id);
      if (record === undefined || placeOf(id) === 0) return record;
      const key = rightKey(record);
      const shared = throughLocation<Copy, Copy>(location, {
        name: `push right of ${key}`,
        nowMs,
        maxAgeMs: RIGHT_COPY.ttlMs,
        read: async () => ({ right: (await rights.rights([record])).get(key), readAtMs: nowMs }),
        valueOf: (copy) => copy,
      });
      const { right, readAtMs } = await copies.getFrom(key, nowMs, shared);
      return rightTo({ ...record, asOfMs: readAtMs }, right)[0];
    },

    /** All records of a client on a topic, by name. `insert` bounds their number. */
    list: ({ incarnation, client }: Omit<PushKey, "name">): Promise<readonly PushRecord[]> =>
      all(incarnation, (store) => store.list({ incarnation, client })),

    /** Records of all clients on a topic, by client and name; undefined if the cursor belongs to another list. */
    async listOfTopic(incarnation: string, paging: Paging): Promise<Page<PushRecord> | undefined> {
      const after = textsOf(paging, 2);
      if (after === undefined) return undefined;
      const read = (from: readonly string[], range: RowRange) =>
        storeOf(incarnation).ofTopicAfter(incarnation, from, range);
      const keyOf = ({ client, name }: PushRecord) => [client, name];
      return validOf(await pageOf(paging, { after, beginning: ["", ""], read, keyOf }));
    },

    /**
     * Some records on a topic, by client and name, after one of them. `next`: the place of the last one, if more may
     * follow.
     */
    async ofTopicAfter(incarnation: string, client: string, name: string, limit: number) {
      const found = await storeOf(incarnation).ofTopicAfter(incarnation, [client, name], { limit, skip: 0 });
      const last = found.length < limit ? undefined : found.at(-1);
      return { records: await withRights(placeOf(incarnation), found), next: last && [last.client, last.name] };
    },

    /** Records that match, shard by shard, in each by id; undefined if the cursor belongs to another list. */
    async listAll(filter: PushFilter, paging: Paging): Promise<Page<PushRecord> | undefined> {
      const after = textsOf(paging, 1);
      if (after === undefined) return undefined;
      const read = ([from = ""]: readonly string[], range: RowRange) => matching(filter, from, range);
      return validOf(await pageOf(paging, { after, beginning: [""], read, keyOf: ({ id }) => [id] }));
    },

    /** Statement that counts the records of a shard as `n`, void ones included. */
    countIn: (shard: number): D1PreparedStatement => stores[shard]!.count(),

    /** Some records of a topic. */
    ofTopic: (incarnation: string, limit: number): Promise<readonly PushRecord[]> =>
      all(incarnation, (store) => store.some({ incarnation }, limit)),

    /** Some records of a client in the directory. */
    ofClient: (client: string, limit: number): Promise<readonly PushRecord[]> => directory.some({ client }, limit),

    /** Checks whether a record could be inserted now. */
    async admission(record: PushRecord, limits: PushLimits): Promise<Admission> {
      if (placeOf(record.id) === 0) return directory.admission(record, limits);
      const [refusal, outcome] = await Promise.all([
        refusalOf(record),
        admitted(record, () => storeOf(record.id).admission(record, limits)),
      ]);
      return refusal ?? outcome;
    },

    /**
     * Inserts a record if the topic is active, the client exists and has no subscription of that name on the topic, and
     * neither has too many. Returns the resulting admission. A repeat after a lost answer returns the same.
     */
    async insert(record: PushRecord, limits: PushLimits, row: AuditRecord): Promise<Exclude<Admission, "free">> {
      const shard = placeOf(record.id);
      const store = stores[shard]!;
      if (shard === 0) return store.insert(record, limits, row);
      const outcome = await admitted(record, () => store.insert(record, limits, row));
      if (outcome !== "inserted") return outcome;
      const { isTopicActive, clientCreatedAtMs } = await rights.counts(record);
      if (isTopicActive === 1 && clientCreatedAtMs !== null) {
        // If the clock of this machine is behind, the record would seem older than its client, and so void.
        if (clientCreatedAtMs > record.createdAtMs) await store.makeYounger(record.id, clientCreatedAtMs);
        await carry(shard);
        return outcome;
      }
      const gone = isTopicActive === 0 ? "no_topic" : "no_client";
      await store.remove(record.id, { ...row, action: "end push subscription", reason: "its topic or client is gone" });
      await carry(shard);
      return gone;
    },

    /** Writes an audit row about something that changes no record, such as a redelivery. */
    async noted(row: AuditRecord): Promise<void> {
      await audit.statement("always", row).run();
    },
    /** Changes and enables a subscription if it still has this version. Writes no audit row if nothing differs. */
    update: (id: string, version: number, to: PushChange, nowMs: number, row?: AuditRecord): Promise<boolean> =>
      changed(id, (store) => store.update(id, version, to, nowMs, row)),

    /** Stores other credentials if the record still has this version. Enables nothing. */
    renew: (
      record: PushRecord,
      sealed: Pick<PushRecord, "credentials" | "sealKey">,
      nowMs: number,
      row: AuditRecord,
    ): Promise<boolean> => changed(record.id, (store) => store.renew(record, sealed, nowMs, row)),

    /** Removes a record. True if it existed. */
    remove: (id: string, row: AuditRecord): Promise<boolean> => changed(id, (store) => store.remove(id, row)),

    /** Disables a record if it still has this version, so that a change by the client wins. */
    disable: (id: string, version: number, nowMs: number, row: AuditRecord): Promise<void> =>
      changed(id, (store) => store.disable(id, version, nowMs, row)),

    /** Stores the endpoint's answer to the handshake if the record still has this version and waits for it. */
    verify: (id: string, version: number, to: "done" | "failed", nowMs: number, row: AuditRecord): Promise<void> =>
      changed(id, (store) => store.verify(id, version, to, nowMs, row)),

    /** Stores what the object says of its deliveries. */
    report: (id: string, trouble: Trouble | undefined): Promise<void> => storeOf(id).report(id, trouble),

    /** Records in trouble, at most `most` of each kind and shard. */
    inTrouble: async (most: number): Promise<readonly PushRecord[]> =>
      (await ofEach(async (store, shard) => withRights(shard, await store.inTrouble(most)))).flat(),

    /** Removes all records of a topic. `rows` are the audit rows of those that the caller has read. */
    removeOfTopic: (incarnation: string, rows: readonly AuditRecord[]): Promise<void> =>
      changed(incarnation, (store) => store.removeOfTopic(incarnation, rows)),

    /** Statements that remove a client's records in the directory, for the transaction that removes the client. */
    removeOfClientStatements: directory.removeOfClientStatements,

    /**
     * Removes a client's records in the other shards, after the client itself. Records of a client that was created
     * again since stay. `rowsOf` returns the audit rows of the records found.
     */
    async removeOfClientElsewhere(
      client: string,
      atMs: number,
      most: number,
      rowsOf: (found: readonly PushRecord[]) => readonly AuditRecord[],
    ): Promise<void> {
      await inParallel(elsewhere, SHARDS_AT_ONCE, async (shard) => {
        const found = await stores[shard]!.some({ client }, most);
        if (found.length === 0) return;
        await stores[shard]!.removeOfClient(client, atMs, rowsOf(found));
        await carry(shard);
      });
    },

    /** About `limit` active or unverified records, some of each shard and others at each call. */
    async someActive(random: Random, limit: number): Promise<readonly PushRecord[]> {
      const share = Math.ceil(limit / stores.length);
      const found = await ofEach(async (store, shard) => {
        const from = idIn(shard, random);
        const some = await store.activeAfter(from, share);
        // Wrap around, since records with low ids would otherwise seldom be chosen.
        if (some.length === share) return some;
        const first = await store.activeAfter("", share - some.length);
        return [...some, ...first.filter(({ id }) => id <= from)];
      });
      return found.flat();
    },

    /** Some records whose credentials are sealed under another key. */
    sealedOtherwise: async (sealKey: string, limit: number): Promise<readonly PushRecord[]> =>
      (await ofEach((store) => store.sealedOtherwise(sealKey, limit))).flat().slice(0, limit),

    /** Counts the records under each key, up to `most` of each in each shard. */
    async countSealed(most: number): Promise<ReadonlyMap<string, number>> {
      const counts = new Map<string, number>();
      for (const [key, count] of (await ofEach((store) => store.countSealed(most))).flatMap((of) => [...of]))
        counts.set(key, (counts.get(key) ?? 0) + count);
      return counts;
    },

    /** Stores the same credentials sealed under another key, unless they changed meanwhile. */
    reseal: (record: PushRecord, credentials: string, sealKey: string): Promise<void> =>
      storeOf(record.id).reseal(record, credentials, sealKey),

    /** Removes void records, and carries rows of the audit log that were left. */
    async sweep(nowMs: number): Promise<void> {
      await inParallel(elsewhere, SHARDS_AT_ONCE, async (shard) => {
        await removeLeftOver(shard, nowMs);
        await trails[shard - 1]!.carry();
      });
    },
  };
}

/** A cached right, as the isolates of a location share it. */
interface Copy {
  readonly right?: KnownRight | undefined;
  readonly readAtMs: number;
}

/**
 * The position where a page starts: this many texts, empty for the first page. Undefined if the cursor belongs to
 * another list.
 */
function textsOf({ cursor }: Paging, count: number): readonly string[] | undefined {
  const parts: readonly CursorPart[] = cursor ?? Array.from({ length: count }, () => "");
  const texts = parts.filter((part) => typeof part === "string");
  return texts.length === count && parts.length === count ? texts : undefined;
}
