import type { Clock } from "../platform/runtime/clock.ts";
import { describeError, type Log } from "../platform/runtime/log.ts";
import { toHex } from "../platform/text/encoding.ts";
import type { Random } from "../platform/runtime/random.ts";
import type { Shards } from "../platform/storage/shards.ts";
import type { LocationHint } from "../platform/storage/object-shards.ts";
import { isTenantObject, ofShards } from "../platform/storage/tenant-objects.ts";
import { createCopyStore } from "./copy-store.ts";
import type { EndedMove, Move, MoveState, MoveStore } from "./move-store.ts";
import type { PlacementStore } from "./placement-store.ts";
import type { OwnObjects } from "./service.ts";
import type { TenantObject, TenantObjectStore } from "./tenant-object-store.ts";
import { DAY_MS } from "../platform/runtime/clock.ts";

/**
 * Moves of tenants to another shard. The directory keeps the state of a move; the media service does the steps in the
 * two shards (src/media/moves/mover.ts):
 *
 *   an operator begins it ──▶ copying ── everything is copied ──▶ switching
 *   switching ── changes followed, closed, arrived; the directory names the new shard ──▶ opening
 *   opening ── departed from the old shard, open in the new one ──▶ cleaning ── old rows deleted ──▶ done
 *
 * A run does as much as one invocation may, and stores its progress. The cron starts the runs that are due. If a run
 * breaks off, the next one has a higher turn, and the shards refuse late calls of the first. Until the directory names
 * the new shard, the old shard has everything; after that the move can only go forward.
 */
export interface Moves {
  /** Begins a move. `row` makes the audit row of the same transaction. */
  begin(tenant: string, to: Target, nowMs: number, row: (move: string) => D1PreparedStatement): Promise<Begun>;
  find(tenant: string): Promise<Move | undefined>;
  underWay(): Promise<readonly Move[]>;
  /**
   * A tenant with a step of a move to or from a shard after this time: a restore of this shard alone would lose its
   * files, or show them in two shards. A move is none that a restore of the directory has undone.
   */
  movedSince(shard: number, timeMs: number): Promise<string | undefined>;
  /** Runs a tenant's move if it is due. It never throws: the next run continues. */
  run(tenant: string): Promise<void>;
  /** Runs moves that are due. */
  sweep(): Promise<void>;
}

/**
 * A shard, or the tenant's object (platform/storage/tenant-objects.ts). `near`: its location if it is new; undefined:
 * that of the setting.
 */
export type Target = number | { readonly near: LocationHint | undefined };

/**
 * `no_objects`: the deployment has no tenant objects, or all numbers are used. `crowded`: a
 * file of the shard would be looked for in too many objects (`MOVE_LIMITS`).
 */
type Begun =
  | { readonly kind: "begun"; readonly move: Move }
  /** `isAsked`: the move that is under way does what was asked. */
  | { readonly kind: "under_way"; readonly move: Move; readonly isAsked: boolean }
  | { readonly kind: "no_tenant" | "no_shard" | "no_objects" | "crowded" | "there_already" | "backup" };

interface Way {
  readonly from: number;
  readonly to: number;
}

/** The port to the media service, which does the steps of a move (src/media/moves/mover.ts). */
export interface FileMover {
  /** Counts the tenant objects that a search asks for a file of the tenant's shard; 0 if this tenant has no files. */
  departures(tenant: string, from: number, moving: readonly Way[], own: number | undefined): Promise<number>;
  /** Moves to or from a shard that ended there, with greater ids than this. */
  endedAfter(move: string, shard: number): Promise<readonly EndedMove[]>;
  begin(run: Move, way: Way): Promise<{ readonly from: string; readonly to: string } | undefined>;
  copy(run: Move, way: Way, at: Copied): Promise<Copied | undefined>;
  follow(run: Move, way: Way): Promise<"more" | "all" | undefined>;
  close(run: Move, way: Way): Promise<boolean>;
  arrive(run: Move, way: Way): Promise<boolean>;
  depart(run: Move, way: Way): Promise<boolean>;
  open(run: Move, way: Way): Promise<boolean>;
  clean(move: string, way: Way): Promise<boolean>;
}

interface Copied {
  readonly owner: number;
  readonly file: string;
  readonly files: number;
  readonly isEnd: boolean;
}

export interface MovesDeps {
  readonly shards: Shards;
  readonly objects: OwnObjects | undefined;
  readonly objectStore: Pick<TenantObjectStore, "allot" | "find" | "ofTenants" | "renumber">;
  readonly store: MoveStore;
  readonly places: Pick<PlacementStore, "find" | "copyOf">;
  readonly mover: FileMover;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** A backup reads one shard after the other, so a move must not run meanwhile. */
  readonly isBackupRunning: () => Promise<boolean>;
}

/**
 * Our choices. `leaseMs`: after this time without progress, another run may begin. `graceMs`: old rows stay for this
 * time, for requests that began before the move. `pages`: the pages of one invocation, which shares its limit of calls
 * with the other sweeps. `attempts`: the attempts of a step while changes are refused. `runs`: the moves of one sweep.
 * `departures`: the tenant objects in which a file may be looked for, one after the other: those to which tenants moved
 * with files from the shard in its id, and from the shards to which tenants moved from there.
 */
export const MOVE_LIMITS = {
  leaseMs: 60_000,
  graceMs: 600_000,
  pages: 100,
  attempts: 3,
  runs: 4,
  departures: 32,
} as const;

/** The pages that an invocation has left. */
interface Budget {
  pages: number;
}

/** Ends a run: another run has overtaken it, or a change of the tenant or of a client excludes it for the moment. */
class Overtaken extends Error {}

/** The answer of a step. None, or `false`: the step was refused. */
function orOvertaken<T>(answer: T | false | undefined): T {
  if (answer === undefined || answer === false) throw new Overtaken();
  return answer;
}

export function createMoves(deps: MovesDeps): Moves {
  const { shards, objects, objectStore, store, places, mover, clock, random, log } = deps;
  const copies = ofShards(shards, objects, createCopyStore);

  /** Ids sort by time. */
  const newId = (nowMs: number): string => beginningAt(nowMs) + toHex(random.bytes(6));

  async function advance(run: Move, state: MoveState, dueMs: number | null): Promise<Move> {
    const nowMs = clock.nowMs();
    orOvertaken(await store.advance(run, state, dueMs, state === "done" ? nowMs : null));
    return { ...run, state };
  }
  const soon = (): number => clock.nowMs() + MOVE_LIMITS.leaseMs;

  /** Copies the tenant's record from the directory to the new shard. Returns the version of the copy. */
  async function copyTenant({ tenant, to }: Move): Promise<number> {
    const known = await places.copyOf(tenant);
    if (known === undefined) throw new Error("the tenant that moves has no place");
    if (to !== 0 && !(await copies.at(to).write([known]))) throw new Error("the object is another tenant's");
    return known.version;
  }

  async function copy(given: Move, budget: Budget): Promise<Move | undefined> {
    let run = given;
    orOvertaken(await mover.begin(run, run));
    for (; budget.pages > 0; budget.pages--) {
      const at = { owner: run.atOwner, file: run.atFile, files: run.files, isEnd: false };
      const { owner, file, files, isEnd } = orOvertaken(await mover.copy(run, run, at));
      orOvertaken(await store.progress(run, owner, file, files, soon()));
      run = { ...run, atOwner: owner, atFile: file, files };
      if (isEnd) return advance(run, "switching", soon());
    }
    return undefined;
  }

  /** Closes the old shard and names the new one. Changes are refused meanwhile, so the caller retries at once. */
  async function switchOver(run: Move, budget: Budget): Promise<Move | undefined> {
    const begun = orOvertaken(await mover.begin(run, run));
    if (begun.from === "leaving") {
      for (; (await follow(run)) === "more"; budget.pages--) if (budget.pages <= 0) return undefined;
      orOvertaken(await mover.close(run, run));
    }
    if (begun.to === "coming") {
      while ((await follow(run)) === "more");
      // From here on the new shard shows files. Later changes of the tenant are copied to both (tenant-copies.ts).
      await copyTenant(run);
      orOvertaken(await mover.arrive(run, run));
    }
    for (let attempt = 0; attempt < MOVE_LIMITS.attempts; attempt++) {
      const state = orOvertaken(await store.switch(run, await copyTenant(run)));
      if (state === "opening") return { ...run, state };
    }
    throw new Error("the tenant's record changed in every attempt");
  }

  const follow = async (run: Move): Promise<"more" | "all"> => orOvertaken(await mover.follow(run, run));

  async function open(run: Move): Promise<Move> {
    orOvertaken(await mover.depart(run, run));
    orOvertaken(await mover.open(run, run));
    return advance(run, "cleaning", clock.nowMs() + MOVE_LIMITS.graceMs);
  }

  async function clean(run: Move, budget: Budget): Promise<undefined> {
    for (; budget.pages > 0; budget.pages--)
      if (!(await mover.clean(run.move, run))) {
        await advance(run, "done", null);
        return undefined;
      }
    return undefined;
  }

  /** Does the step of a state. Undefined: this run ends, and a later one continues. */
  async function step(run: Move, budget: Budget): Promise<Move | undefined> {
    switch (run.state) {
      case "copying":
        return copy(run, budget);
      case "switching":
        return withRetries(() => switchOver(run, budget));
      case "opening":
        return withRetries(() => open(run));
      case "cleaning":
        return clean(run, budget);
      case "done":
        return undefined;
    }
  }

  async function withRetries<T>(work: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++)
      try {
        return await work();
      } catch (thrown) {
        if (thrown instanceof Overtaken || attempt === MOVE_LIMITS.attempts) throw thrown;
      }
  }

  /** Gives a tenant an object, or returns the one that it has. The object remembers the tenant (copy-store.ts). */
  async function objectOf(tenant: string, from: number, near: LocationHint | undefined): Promise<number | undefined> {
    const allotted = await objectStore.allot(tenant, near ?? objects?.setting.near);
    let object: TenantObject | undefined = allotted;
    for (let beyond = 1; object !== undefined; beyond *= 2) {
      const isNew = allotted?.isNew === true || object !== allotted;
      objects?.place(object.number, object.near);
      if (object.number === from || (await copies.at(object.number).claim(tenant, isNew))) return object.number;
      object = await objectStore.renumber(tenant, object.number, beyond);
    }
    return undefined;
  }

  /** Counts tenants that are about to leave, too: an operator may begin many moves before the first of them ends. */
  async function isCrowded(tenant: string, from: number): Promise<boolean> {
    const [moving, [own]] = await Promise.all([store.leaving(), objectStore.ofTenants([tenant], 1)]);
    return (await mover.departures(tenant, from, moving, own)) >= MOVE_LIMITS.departures;
  }

  async function underWay(move: Move, target: Target): Promise<Begun> {
    const isAsked =
      typeof target === "number"
        ? move.to === target
        : isTenantObject(move.to) &&
          (target.near === undefined || (await objectStore.find(move.to))?.near === target.near);
    return { kind: "under_way", move, isAsked };
  }

  async function runDue(tenant: string, budget: Budget): Promise<void> {
    let now: Move | undefined;
    try {
      const nowMs = clock.nowMs();
      now = await store.claim(tenant, nowMs, nowMs + MOVE_LIMITS.leaseMs);
      // The first call of the new shard may create an object, so it must know where.
      if (now !== undefined && isTenantObject(now.to))
        objects?.place(now.to, (await objectStore.find(now.to))?.near ?? null);
      // A backup that began before the move may still be running. A later one finds the move, and ends.
      if (now?.state === "copying" && (await deps.isBackupRunning())) return;
      while (now !== undefined) {
        const then = await step(now, budget);
        // If the pages of this invocation are used up, the next run is due at once.
        if (then === undefined && budget.pages <= 0) await store.postpone(now, clock.nowMs());
        // Cleaning waits, because requests that began before the switch still read the old rows.
        now = then?.state === "cleaning" ? undefined : then;
      }
    } catch (thrown) {
      if (thrown instanceof Overtaken)
        return log.info("a run of a move was overtaken; the next run continues", { tenant });
      log.error("a move of a tenant broke off; the next run continues", { tenant, error: describeError(thrown) });
    }
  }

  return {
    async begin(tenant, target, nowMs, row) {
      if (typeof target === "number" && !(Number.isInteger(target) && target >= 0 && target < shards.length))
        return { kind: "no_shard" };
      const place = await places.find(tenant);
      if (place === undefined) return { kind: "no_tenant" };
      // Before the tenant gets an object, which it would keep although it does not move there.
      const last = await store.find(tenant);
      if (last !== undefined && last.state !== "done") return underWay(last, target);
      const from = place.shard;
      if (typeof target !== "number") {
        if (objects === undefined) return { kind: "no_objects" };
        if (!isTenantObject(from) && (await isCrowded(tenant, from))) return { kind: "crowded" };
      }
      if (await deps.isBackupRunning()) return { kind: "backup" };
      const to = typeof target === "number" ? target : await objectOf(tenant, from, target.near);
      if (to === undefined) return { kind: "no_objects" };
      const move = newId(nowMs);
      const found = await store.begin(tenant, move, to, nowMs, row(move));
      if (found?.move !== move)
        return found === undefined || found.state === "done" ? { kind: "there_already" } : underWay(found, target);
      // A move and a backup each store that they begin, and only then look for the other. So never both go on.
      if (!(await deps.isBackupRunning())) return { kind: "begun", move: found };
      await store.abandon(found);
      // If a run has begun the move already, the move stays, and waits for the end of the backup.
      const left = await store.find(tenant);
      return left?.move === move ? { kind: "begun", move: left } : { kind: "backup" };
    },
    find: store.find,
    underWay: () => store.underWay(MOST_SHOWN),
    async movedSince(shard, timeMs) {
      // A shard that must be restored may not answer. The directory knows the last move of each tenant.
      const ended = await mover.endedAfter(beginningAt(timeMs - LONGEST_MS), shard).catch(() => []);
      return store.since(shard, timeMs, ended, MOVE_LIMITS);
    },
    run: (tenant) => runDue(tenant, { pages: MOVE_LIMITS.pages }),
    async sweep() {
      const budget = { pages: MOVE_LIMITS.pages };
      for (const tenant of await store.due(clock.nowMs(), MOVE_LIMITS.runs))
        if (budget.pages > 0) await runDue(tenant, budget);
    },
  };
}

/** The beginning of the ids of moves that begin at a time. */
const beginningAt = (timeMs: number): string => Math.max(0, timeMs).toString(16).padStart(12, "0");

/** Our choice: no move takes longer. */
const LONGEST_MS = DAY_MS;
/** Our choice: in practice fewer moves are under way at a time. */
const MOST_SHOWN = 100;
