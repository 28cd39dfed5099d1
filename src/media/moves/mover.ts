import type { HomeDeps } from "../shards/at-home.ts";
import { arriveAll } from "../shards/relocation.ts";
import type { Clock } from "../../platform/runtime/clock.ts";
import { mapInParallel } from "../../platform/runtime/parallel.ts";
import { SHARDS_AT_ONCE } from "../../platform/storage/shards.ts";
import { isTenantObject, type OfShards } from "../../platform/storage/tenant-objects.ts";
import type { ComingStore } from "./coming-store.ts";
import { movedMark, type LeavingStore, type MovingFile, type Run } from "./leaving-store.ts";
import { inParts } from "../../platform/runtime/parts.ts";

/**
 * Moves the files of a tenant from one shard to another while the tenant works:
 *
 *   step        old shard                            new shard
 *   begin       leaving: changes are noted           coming: owners are hidden, so nobody finds their files
 *   copy        copied page by page; `follow` then copies what changed since, until little is left
 *   close       closed: read-only; pending files     coming
 *               leave, each with its own note
 *   arrive      closed                               arrived: visible, read-only. Both shards have the same files
 *   the directory names the new shard, in one conditional write. From here on the move can only go forward
 *   depart      departed: hidden; requests are       arrived
 *               sent on to the new shard
 *   open        departed                             open: the tenant works here
 *   clean       hidden rows are deleted
 *
 * - Reads always get an answer: from the old shard until it has departed, from the new one from its arrival on. Changes
 *   get 503 with `Retry-After` from `close` to `open`, which takes some round trips.
 * - Each step is a transaction in one shard that requires the current run. So a second run, a run that broke off and a
 *   late call change nothing. A repeated step finds that it is done.
 * - Only committed and pending files move, with their index and renditions. Removed files and reports of deletions stay
 *   in the old shard, which deletes the bytes and proves it as before.
 * - A rendition that is being made gets a new name in the new shard. Both may be made; the old shard's job deletes the
 *   one that it wrote.
 * - Rows in the old shard stay for some minutes, so that a list that was begun before the move ends whole.
 */
export interface Mover {
  /**
   * Counts the tenant objects that a search for a file may ask, if it comes past the shard that this tenant leaves: for
   * the first shard of an id from which it asks most. `moving`: moves that have not ended, which count as if they had.
   * `own`: the tenant's object if it has one, which does not count. 0 if this tenant has no files.
   */
  departures(tenant: string, from: number, moving: readonly Way[], own: number | undefined): Promise<number>;
  /** The last moves to or from a shard that ended there, with greater ids than this, as many as one call reads. */
  endedAfter(move: string, shard: number): Promise<readonly Pick<Run, "tenant" | "move">[]>;
  begin(run: Run, way: Way): Promise<Begun | undefined>;
  /** Copies a page; undefined: another run has overtaken this one. */
  copy(run: Run, way: Way, at: Progress): Promise<Progress | undefined>;
  /** Copies files that changed. `more`: there may be more of them. Undefined: another run has overtaken this one. */
  follow(run: Run, way: Way): Promise<"more" | "all" | undefined>;
  /** False: another run has overtaken this one, or the tenant is being removed. The other steps likewise. */
  close(run: Run, way: Way): Promise<boolean>;
  arrive(run: Run, way: Way): Promise<boolean>;
  depart(run: Run, way: Way): Promise<boolean>;
  open(run: Run, way: Way): Promise<boolean>;
  /** Deletes a page of the hidden rows in both shards. True: there are more. */
  clean(move: string, way: Way): Promise<boolean>;
}

interface Way {
  readonly from: number;
  readonly to: number;
}

interface Begun {
  readonly from: "leaving" | "closed";
  readonly to: "coming" | "arrived";
}

interface Progress {
  readonly owner: number;
  readonly file: string;
  /** The number of files that were copied. */
  readonly files: number;
  readonly isEnd: boolean;
}

export interface MoverDeps extends Pick<HomeDeps, "moved"> {
  readonly leaving: OfShards<LeavingStore>;
  readonly coming: OfShards<ComingStore>;
  readonly clock: Clock;
}

/**
 * Our choice: files and rows of a page, and the characters of a page of files and of one call: an object answers with
 * 16 MiB at most, and a value of D1 has 2 MB.
 */
const PAGE = { files: 100, rowChars: 2_000_000, chars: 500_000, rows: 1_000 } as const;

/** The shard, and all to which a search for one of its files may lead. What left a tenant object is left out. */
function reachedFrom(shard: number, departed: readonly (readonly number[])[]): ReadonlySet<number> {
  const reached = new Set([shard]);
  // A set is walked up to its end, also over what is added meanwhile.
  for (const at of reached) for (const to of departed[at] ?? []) reached.add(to);
  return reached;
}

export function createMover(deps: MoverDeps): Mover {
  const { leaving, coming, clock } = deps;

  /** Writes files to the new shard. False: another run has overtaken this one, or a client is being changed. */
  async function put(run: Run, { from, to }: Way, ids: readonly string[], files: readonly MovingFile[]) {
    const byId = new Map(files.map((file) => [file.id, file]));
    for (const some of inParts(ids, PAGE.chars, (id) => byId.get(id)?.row.length ?? 0)) {
      const there = some.flatMap((id) => byId.get(id) ?? []);
      if (!(await coming.at(to).put(run, from, some, there))) return false;
    }
    return true;
  }

  return {
    async departures(tenant, from, moving, own) {
      if (!(await leaving.at(from).hasFiles(tenant))) return 0;
      const ended = await mapInParallel(leaving.listed, SHARDS_AT_ONCE, (store) => store.departedTo());
      const departed = ended.map((to, shard) => [
        ...to,
        ...moving.filter((way) => way.from === shard).map((way) => way.to),
      ]);
      return Math.max(
        ...departed
          .map((_, shard) => reachedFrom(shard, departed))
          .filter((reached) => reached.has(from))
          .map((reached) => [...reached].filter((shard) => isTenantObject(shard) && shard !== own).length),
      );
    },

    endedAfter: (move, shard) => leaving.at(shard).endedAfter(move, PAGE.rows),

    async begin(run, { from, to }) {
      const there = await coming.at(to).begin(run);
      const here = there === undefined ? undefined : await leaving.at(from).begin(run);
      return there === undefined || here === undefined ? undefined : { from: here, to: there };
    },

    async copy(run, way, at) {
      const { files: page, isAll } = await leaving.at(way.from).page(run.tenant, at.owner, at.file, PAGE);
      const last = page.at(-1);
      if (last === undefined) return { ...at, isEnd: true };
      const ids = page.map(({ id }) => id);
      if (!(await put(run, way, ids, page))) return undefined;
      const files = at.files + page.length;
      return { owner: last.ownerId, file: last.id, files, isEnd: isAll && page.length < PAGE.files };
    },

    async follow(run, way) {
      const { changes, files } = await leaving.at(way.from).changes(run.tenant, PAGE);
      if (changes.length === 0) return "all";
      const ids = changes.map(({ fileId }) => fileId);
      if (!(await put(run, way, ids, files))) return undefined;
      await leaving.at(way.from).followed(run, changes);
      return "more";
    },

    close: (run, { from, to }) => leaving.at(from).close(run, to, clock.nowMs()),

    async arrive(run, { from, to }) {
      // All of them: the new shard counts the tenant's pending files for its quota. Other shards may be down.
      for (let left: number = PAGE.rows; left === PAGE.rows;) {
        const places = await deps.moved.at(from).underWay(PAGE.rows, { to });
        await arriveAll(deps, from, to, places, clock.nowMs());
        left = places.length;
      }
      const { owners, past } = await leaving.at(from).closed(run.tenant);
      return coming.at(to).arrive(run, owners, [...past, from]);
    },

    async depart(run, { from, to }) {
      await leaving.at(from).begin(run);
      return leaving.at(from).depart(run, to);
    },

    async open(run, { to }) {
      await coming.at(to).begin(run);
      return coming.at(to).open(run);
    },

    async clean(move, { from, to }) {
      const mark = movedMark(move);
      const isMore = await leaving.at(from).clean(mark, PAGE.files, PAGE.rows);
      return (await leaving.at(to).clean(mark, PAGE.files, PAGE.rows)) || isMore;
    },
  };
}
