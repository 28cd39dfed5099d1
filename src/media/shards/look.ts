import { StoreUnavailable } from "../../platform/storage/database.ts";
import type { Departure, Moved } from "./moved-store.ts";
import { arriveAt, firstPlace, MOST_HOPS, type RelocationDeps } from "./relocation.ts";

/**
 * Our choice: how many moves a search follows that end while it runs. It has no limit of shards: once tenants went to
 * more of them, an id without a file would be 503 for ever. `MOVE_LIMITS.departures` keeps them few.
 */
const MOST_REPEATS = 64;

export interface Search<T> {
  readonly fileId: string;
  readonly nowMs: number;
  /** Looks in one shard. */
  readonly run: (shard: number) => Promise<T>;
  readonly isMissing: (found: T) => boolean;
  /**
   * Moves a pending file from the shard that is next to the one where it belongs. Returns the way: the search goes on
   * at its last shard. The notes on the way may be older than the last move of a tenant, so the shards before are
   * searched in the end, without `bring`: there `run` must change no pending file.
   */
  readonly bring?: (shard: number) => Promise<readonly number[]>;
  /**
   * The id of the caller's client. If the client was just renamed and its files have not followed yet, the search
   * throws, since the caller would take its file for gone.
   */
  readonly client?: string | undefined;
}

/**
 * Looks for a file in the shard of its id, then follows its moves until a shard has it:
 *
 * - A pending file moves by itself, with a note (relocation.ts). A committed one moves with its tenant, so it is looked
 *   for in every shard to which tenants moved from there.
 * - The new shard shows a file before the old one hides it, and the old one names the new one in the same transaction.
 *   A shard is asked again if another tenant moved to it meanwhile, and in the end if the file came to it by itself,
 *   since it may have come after the first look. So a file that is not found does not exist, even if it moves at the
 *   same time; to know that costs one more round trip.
 * - Shards are asked in the order in which they are found, and one that will be asked anyway is not noted twice: so few
 *   are asked again while no tenant moves.
 */
export async function look<T>(
  deps: RelocationDeps,
  { fileId, nowMs, run, isMissing, bring = async (shard) => [shard], client }: Search<T>,
): Promise<T> {
  const route = new Route();
  const skipped: number[] = [];
  const broughtFrom = async (from: number): Promise<number> => {
    const way = await bring(from);
    skipped.push(...way.slice(0, -1));
    return way.at(-1)!;
  };
  let shard = await broughtFrom(await firstPlace(deps, fileId));
  while (!route.isTooLong) {
    const found = await run(shard);
    if (!isMissing(found)) return found;
    const { place, others, changing } = await deps.moved.at(shard).whereabouts(fileId);
    if (changing !== undefined && changing === client)
      throw new StoreUnavailable("the client of the file is being changed");
    route.followTenants(shard, others);
    if (place !== undefined && route.isNewHop(shard, place)) {
      if (place.shard === shard) route.next.push(shard);
      else route.next.unshift(await arriveAt(deps, shard, place, nowMs));
    }
    const following = route.next.shift();
    const onward = following ?? skipped.pop();
    if (onward === undefined) return found;
    shard = following === undefined ? onward : await broughtFrom(onward);
  }
  throw new StoreUnavailable("the file kept moving between shards");
}

/** The shards that a search still asks, and the moves that it has followed. */
class Route {
  /** The shards to ask, in this order. */
  readonly next: number[] = [];
  /** The moves of the file itself. */
  readonly #hops = new Set<string>();
  /** By old and new shard: the number of moves of tenants between them. */
  readonly #walked = new Map<string, number>();
  #repeats = 0;

  get isTooLong(): boolean {
    return this.#repeats >= MOST_REPEATS || this.#hops.size >= MOST_HOPS;
  }

  followTenants(from: number, others: readonly Departure[]): void {
    for (const { shard: to, departures } of others) {
      const before = this.#walked.get(`${from} ${to}`);
      if (departures <= (before ?? 0)) continue;
      this.#walked.set(`${from} ${to}`, departures);
      if (before !== undefined) this.#repeats++;
      if (!this.next.includes(to)) this.next.push(to);
    }
  }

  /** False if the search has followed this move of the file before. */
  isNewHop(from: number, { shard: to, hop }: Moved): boolean {
    const before = this.#hops.size;
    return this.#hops.add(`${from} ${to} ${hop}`).size > before;
  }
}
