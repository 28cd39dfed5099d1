/**
 * Media service: files, their variants, search and deletion.
 *
 * Files lie in shards. one-shard.ts is the service over one database. This file puts the shards together;
 * shards/dispatch.ts sends each request to one of them.
 *
 * States of a file, in its row:
 *
 *   create → pending ── commit ──→ committed ── delete ──→ removed → (no row)
 *              └────── delete, or a day without commit ──────↑ (bytes deleted → proven gone)
 *
 * - A pending file belongs to its client, not yet to a tenant. If the client is deleted or moved, a trigger removes the
 *   owner row, and the sweep deletes the file within a day.
 * - Bytes arrive by `PUT` to the signed link. They go to R2 on condition that the key is free; the state of the row
 *   does not change (uploads/worker.ts). With S3 credentials the link is presigned: bytes go to a key of their own, and
 *   the commit copies them (uploads/presigned-upload.ts).
 * - Commit, delete and sweep each change the row in one write on condition of its state, so exactly one of them wins.
 *   The commit pins ETag and size; no link can overwrite the bytes then.
 * - A consistency run by the operator removes committed files whose bytes are missing (consistency/run.ts).
 * - A removed file is unreadable at once. So are all files of a retired owner, which become removed page by page. The
 *   request, the queue or the sweep then deletes the bytes and records when (erasure/erase.ts). A day after creation
 *   and an hour after removal, nobody can write bytes any more: once R2 then has none, the row is deleted.
 * - Each deletion has a report, written in the same batch, that counts its files through these steps
 *   (erasure/reports.ts).
 *
 * States of a variant, one row for each rendition, named by a nonce; bulk operations use the same:
 *
 *   create with clip/crop → declared ── commit of the file ──→ pending ──→ ready
 *   POST variants → pending                                       └─────→ failed (with a reason)
 *   any of them ── delete ──→ removed → (no row)
 *   failed ── POST variants for it ──→ removed, and a new rendition of the same variant is pending
 *   any of them ── its file is removed, and its bytes are deleted or proven gone ──→ (no row)
 *   ready without bytes ── repair by the operator ──→ pending, under a new nonce (consistency/repair.ts)
 *
 * - The row is written before its message is sent, which is when its turn comes (lanes/lane-store.ts). The sweep sends
 *   lost messages again; a repeated message does nothing. Only the consumer writes `ready` and `failed`, both from
 *   `pending`. It writes `ready` only while the file is committed; otherwise it deletes the bytes that it wrote
 *   (variants/make.ts).
 *
 * The metadata index has no state of its own: `file.attributes` (metadata/attributes.ts) lists the rows of `attribute`
 * that a file has, and triggers write one with the other. Listings and deletions by query read the index
 * (search/filter-store.ts, search/listing-store.ts).
 *
 * `due_at` is the time at which the sweep looks at a row. A committed file has one only after an upload by a presigned
 * link, because until the link ends its holder can still write bytes to `incoming/`.
 */
import type { Route } from "../http/route.ts";
import { inParallel } from "../platform/runtime/parallel.ts";
import { SHARDS_AT_ONCE, type Shard } from "../platform/storage/shards.ts";
import { isTenantObject, ofShards, type OfShards } from "../platform/storage/tenant-objects.ts";
import { throwTogether } from "../platform/runtime/attempt-each.ts";
import { createBlobStore } from "./blobs/blob-store.ts";
import { createExpectedStore } from "./consistency/expected-store.ts";
import { createRepairStore } from "./consistency/repair-store.ts";
import { createRunStore } from "./consistency/run-store.ts";
import { createConsistency, type Consistency } from "./consistency/run.ts";
import { createEdgeCache, noEdgeCache } from "./content/edge-cache.ts";
import { createDeadWorkStore, type DeadWorkStore } from "./dead/dead-work-store.ts";
import { createLinks } from "./files/links.ts";
import type { MediaDeps } from "./media-deps.ts";
import { createBacklogStore, type BacklogStore } from "./dead/backlog-store.ts";
import { createUsageStore, type Usage } from "./files/usage-store.ts";
import { createTransformer } from "./images/transformer.ts";
import { isMissingFile } from "./model/failure.ts";
import { createJobQueue } from "./model/job.ts";
import { createComingStore } from "./moves/coming-store.ts";
import { createLeavingStore } from "./moves/leaving-store.ts";
import { createMover, type Mover } from "./moves/mover.ts";
import { notingCopies } from "./moves/noting-copies.ts";
import { findInAll, type FindByName } from "./operated/find-by-name.ts";
import { createFindStore } from "./operated/find-store.ts";
import { operatedFiles, type OperatedFiles } from "./operated/operated-files.ts";
import { LIMITS } from "./model/limits.ts";
import { createOneShard, type OneShard } from "./one-shard.ts";
import { atHome } from "./shards/at-home.ts";
import { dispatch } from "./shards/dispatch.ts";
import { backlogOfAll, expectedOfAll, repairsOfAll, usageOfAll, type UsageOfAll } from "./shards/every-shard.ts";
import { createClientObjects, notingArrivals } from "./shards/client-objects.ts";
import { NEXT_DUE, REPORTED_DUE } from "./shards/due-store.ts";
import { createObjectsOfFiles } from "./shards/objects-of-files.ts";
import { createMovedStore } from "./shards/moved-store.ts";
import { createOwnerStore } from "./shards/owner-store.ts";
import { createOwnerChanges, type OwnerChanges } from "./shards/owner-changes.ts";
import { look } from "./shards/look.ts";
import { finishMoves, firstPlace } from "./shards/relocation.ts";
import { consumeJobs } from "./variants/consumer.ts";
import { createPatience } from "./variants/patience.ts";
import type { WaitUntil } from "../platform/runtime/wait-until.ts";

export interface Media {
  readonly routes: readonly Route[];
  /** The routes of content, which may have an origin of its own. */
  readonly contentRoutes: readonly Route[];
  /** Consumes batches of the media queue and of its dead-letter queue. */
  consume(batch: MessageBatch, waitUntil: WaitUntil): Promise<void>;
  /** Removes expired files, erases removed files, and sends lost jobs again. */
  sweep(nowMs: number): Promise<void>;
  /** Private and public files, and their bytes, that all clients of a tenant store. */
  usage(tenant: string): Promise<Usage>;
  /** Files and bytes of each tenant whose name lies between the two. */
  storedByTenant: UsageOfAll["byTenant"];
  /** The committed files of a shard, and their bytes. */
  storedIn(shard: number): Promise<Pick<Usage, "files" | "bytes">>;
  /** Files and bytes that all tenants store. */
  stored: UsageOfAll["total"];
  nearQuota: UsageOfAll["nearQuota"];
  /** The committed files of a client, by its name, in one tenant if given. */
  filesOfClient: UsageOfAll["filesOfClient"];
  filesOfTenant: UsageOfAll["filesOfTenant"];
  /** Applies changes of clients and tenants to the owners of files. */
  readonly ownerChanges: OwnerChanges;
  /** Overdue work, for the check of the platform's health. */
  readonly backlog: BacklogStore & Pick<DeadWorkStore, "lastOutageMs">;
  /** Moves the files of a tenant to another shard. */
  readonly mover: Mover;
  /** Compares R2 with D1 for the operator. */
  readonly consistency: Consistency;
  /** Files of all clients, for the operator service. */
  readonly operatedFiles: OperatedFiles & { readonly find: FindByName };
}

export function createMedia(deps: MediaDeps): Media {
  const { shards, objects, objectReports: reports, placement, clock } = deps;
  const [directory] = shards;
  const hasObjects = objects !== undefined;
  const isOne = shards.length === 1 && !hasObjects;
  const numbers = shards.map(({ number }) => number);
  const ofEach = <T>(make: (shard: Shard) => T): OfShards<T> => ofShards(shards, objects, make);
  const clientObjects = createClientObjects(deps.owners);
  const blobs = createBlobStore(deps.bucket);
  const moved = ofEach(({ db, number }) => notingArrivals(createMovedStore(db, number), number, clientObjects));
  const where = { moved, isOne, access: deps.access, placement, clientObjects };
  const common = {
    ...deps,
    blobs,
    links: createLinks(deps.sealer, deps.contentUrl),
    edge: deps.edgeCache === undefined ? noEdgeCache : createEdgeCache({ ...deps, ...deps.edgeCache }),
    transformer: createTransformer(deps.images),
    patience: createPatience(clock),
    where,
    dbs: ofEach(({ db }) => db),
  };
  const ofFiles = createObjectsOfFiles(moved, placement);
  const deadWork = createDeadWorkStore(directory.db);
  const expected = ofEach(({ db }) => createExpectedStore(db));
  const repairs = ofEach(({ db, number }) => createRepairStore(db, number));
  const consistency = createConsistency({
    ...common,
    queue: createJobQueue(deps.jobs, deps.tracing, directory.number),
    deadWork,
    expected: expectedOfAll(expected.listed, hasObjects ? { stores: expected, ofFiles } : undefined),
    rows: repairsOfAll(repairs.listed, hasObjects ? { stores: repairs, ofFiles } : undefined),
    objects: hasObjects
      ? { at: expected.at, next: async (after) => (await reports.page(after, 1))[0]?.number }
      : undefined,
    runs: createRunStore(directory.db),
    limits: LIMITS.consistency,
  });
  const parts = ofEach((shard) => createOneShard(common, shard, { consistency, sweepObject }));
  const inHome = <T>(tenant: string, ask: (part: OneShard) => Promise<T>): Promise<T> =>
    atHome(where, tenant, clock.nowMs(), (shard) => ask(parts.at(shard)));
  const routes = dispatch(
    where,
    each(parts, (part) => part.routes),
  );
  const ownerStores = ofEach(({ db, number }) => createOwnerStore(db, number === 0));
  const ownerChanges = createOwnerChanges({
    stores: ownerStores,
    isOne,
    hasObjects,
    owners: deps.owners,
    placement,
    clock,
    random: deps.random,
    log: deps.log,
  });
  const operated = operatedFiles(parts.at(0).operatedDeps, routes);
  const finding = { stores: ofEach(({ db }) => createFindStore(db)), objects: hasObjects ? reports : undefined };
  const usages = ofEach(({ db }) => createUsageStore(db));
  const usage = usageOfAll(usages.listed, hasObjects ? reports : undefined);
  return {
    routes,
    contentRoutes: dispatch(
      where,
      each(parts, (part) => part.contentRoutes),
    ),
    consume(batch, waitUntil) {
      const { noteOutage } = deadWork;
      return consumeJobs({ ...deps, doerOf: (shard) => parts.at(shard).doJob, noteOutage }, batch, waitUntil);
    },
    async sweep(nowMs) {
      const failures: unknown[] = [];
      const note = (thrown: unknown): void => void failures.push(thrown);
      // First, so that what expired on its way is found where it is.
      await finishMoves(where, numbers, nowMs).catch(note);
      await inParallel(parts.listed, SHARDS_AT_ONCE, (part) => part.sweep(nowMs).catch(note));
      await ownerChanges.sweep(nowMs, numbers).catch(note);
      throwTogether(failures);
    },
    usage: (tenant) => inHome(tenant, (part) => part.usage(tenant)),
    storedByTenant: usage.byTenant,
    storedIn: (shard) => parts.at(shard).stored(),
    stored: usage.total,
    nearQuota: usage.nearQuota,
    filesOfClient,
    filesOfTenant: async (tenant, limit) => {
      const shard = await placement.shardOf(tenant, clock.nowMs());
      return isTenantObject(shard) ? usages.at(shard).filesOfTenant(tenant, limit) : usage.filesOfTenant(tenant, limit);
    },
    ownerChanges,
    backlog: { ...backlogOfAll(shards.map(({ db }) => createBacklogStore(db))), lastOutageMs: deadWork.lastOutageMs },
    consistency,
    mover: createMover({
      ...where,
      leaving: ofEach(({ db, number }) => createLeavingStore(db, number)),
      coming: ofEach(({ db, number }) => notingCopies(createComingStore(db, number), number, clientObjects)),
      clock,
    }),
    operatedFiles: {
      ...operated,
      list: (owner, call) => inHome(owner.tenant, (part) => part.operated.list(owner, call)),
      show: (fileId, owner, call) =>
        look(where, {
          fileId,
          nowMs: call.nowMs,
          run: (shard) => parts.at(shard).operated.show(fileId, owner, call),
          isMissing: isMissingFile,
        }),
      ownerOf: (fileId) =>
        look(where, {
          fileId,
          nowMs: clock.nowMs(),
          run: (shard) => parts.at(shard).operated.ownerOf(fileId),
          isMissing: (owner) => owner === undefined,
        }),
      requesterOf: async (erasureId) => parts.at(await firstPlace(where, erasureId)).operated.requesterOf(erasureId),
      owners: (tenant) => inHome(tenant, (part) => part.operated.owners(tenant)),
      find: (text, tenants) => findInAll(finding, text, tenants),
      waiting: (owner) => inHome(owner.tenant, (part) => part.operated.waiting(owner)),
    },
  };

  /** The alarm of a tenant object asks for this. Throws if another attempt may succeed. */
  async function sweepObject(shard: number, nowMs: number): Promise<undefined> {
    const failures: unknown[] = [];
    const note = (thrown: unknown): void => void failures.push(thrown);
    await finishMoves(where, [shard], nowMs).catch(note);
    await parts.at(shard).sweep(nowMs).catch(note);
    await ownerChanges.sweep(nowMs, [shard]).catch(note);
    // A restore of the directory to an earlier time may have lost notes.
    await deps.owners.note(await ownerStores.at(shard).clients(), shard).catch(note);
    if (failures.length > 0) await reports.failed(shard, nowMs).catch(note);
    throwTogether(failures);
    // Before the report: a change after it has an alarm, so another sweep corrects what is reported here.
    await objects?.rest(shard, NEXT_DUE);
    await reports.report(shard, await parts.at(shard).report(REPORTED_DUE, nowMs), nowMs);
  }

  /** Asks the client's tenant objects too, until there are enough. */
  async function filesOfClient(client: string, limit: number, tenant?: string) {
    const found = [...(await usage.filesOfClient(client, limit, tenant))];
    const noted = hasObjects ? await deps.owners.objectsOf(client) : [];
    for (let at = 0; at < noted.length && found.length < limit; at += SHARDS_AT_ONCE) {
      const some = noted.slice(at, at + SHARDS_AT_ONCE).map((object) => usages.at(object));
      found.push(...(await Promise.all(some.map((store) => store.filesOfClient(client, limit, tenant)))).flat());
    }
    return found.slice(0, limit);
  }
}

/** The same part of the service of each shard. */
const each = <T, Part>({ listed, at }: OfShards<T>, take: (of: T) => Part): OfShards<Part> => ({
  listed: listed.map(take),
  at: (shard) => take(at(shard)),
});
