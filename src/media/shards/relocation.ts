import { callerOf, personOf, type Asked, type TenantAccess } from "../model/access.ts";
import { shardOfId } from "../model/file.ts";
import { LIMITS } from "../model/limits.ts";
import { throwTogether } from "../../platform/runtime/attempt-each.ts";
import { inParallel } from "../../platform/runtime/parallel.ts";
import { SHARDS_AT_ONCE } from "../../platform/storage/shards.ts";
import type { HomeDeps } from "./at-home.ts";
import type { Moved } from "./moved-store.ts";
import { inParts } from "../../platform/runtime/parts.ts";

/**
 * The files of a tenant lie in its shard. A pending file has no tenant yet: it lies in the shard of the tenant that its
 * token was for. If the commit names a tenant of another shard, the file moves there first:
 *
 *   pending here ── leave: one transaction ──→ a row of `moved_file` here, with the file as it was
 *     ── arrive: one transaction there ──→ pending there, with the number of the move ── arrived ──→ the row here has
 *     only the place
 *   pending there ── the commit is refused or fails ──→ it moves back in the same way, since only here its tenant's
 *     quota counts it
 *
 * - The file is in one place at each moment: here until `leave`, and there after it. A request that looks for it there
 *   makes it arrive first. After a crash between two steps, the next request or the sweep does the rest.
 * - A repeated `arrive` finds the move noted, and a late one finds a higher number, so both change nothing. The notes
 *   are deleted with the last row of the file, those of other shards first.
 * - A rename of the client gives the move a new number. So a file that arrives with the earlier name does not count as
 *   arrived, and follows its client when it arrives once more.
 * - The file's id keeps the number of its first shard. A request that does not find it there follows `moved_file`.
 * - Bytes in R2 belong to no shard.
 */
export interface RelocationDeps extends TenantAccess, HomeDeps {}

/** More moves than a file can have in practice. */
export const MOST_HOPS = 8;

/** The shard in a file's id; the directory if the id has no such shard. */
export async function firstPlace({ placement }: Pick<HomeDeps, "placement">, fileId: string): Promise<number> {
  const shard = shardOfId(fileId);
  return (await placement.exists(shard)) ? shard : 0;
}

/** Our choice: characters of one call, since a value of D1 has at most 2 MB. */
const ARRIVE_CHARS = 500_000;

/** Makes sure that a file has arrived, and returns its shard. */
export async function arriveAt(
  deps: Pick<HomeDeps, "moved">,
  from: number,
  place: Moved,
  nowMs: number,
): Promise<number> {
  if (place.row !== null) await arriveAll(deps, from, place.shard, [place], nowMs);
  return place.shard;
}

/** Lets files arrive that left a shard, all for the same one. */
export async function arriveAll(
  { moved }: Pick<HomeDeps, "moved">,
  from: number,
  to: number,
  places: readonly Moved[],
  nowMs: number,
): Promise<void> {
  for (const some of inParts(places, ARRIVE_CHARS, ({ row }) => row?.length ?? 0)) {
    await moved.at(to).arrive(some, nowMs);
    await moved.at(from).arrived(some);
  }
}

/**
 * Moves a pending file of the caller to this shard. Returns the shards on the way; the last one is where to look for
 * the file.
 */
export async function bringTo(
  deps: RelocationDeps,
  { principal, visibility, fileId, nowMs }: Asked,
  home: number,
  from: number,
): Promise<readonly number[]> {
  const way = [from];
  if (from === home) return way;
  const caller = callerOf(principal, visibility, principal.tenant);
  const person = await personOf(deps, principal, nowMs);
  for (let shard = from; way.length <= MOST_HOPS && shard !== home; way.push(shard)) {
    const place = await deps.moved.at(shard).leave(fileId, caller, person, home, nowMs);
    if (place === undefined) break;
    shard = await arriveAt(deps, shard, place, nowMs);
  }
  return way;
}

/** Moves a pending file of the caller from this shard to the one that it came from, unless it has left already. */
export async function giveBack(
  deps: RelocationDeps,
  { principal, visibility, fileId, nowMs }: Asked,
  from: number,
  to: number,
): Promise<void> {
  const caller = callerOf(principal, visibility, principal.tenant);
  const person = await personOf(deps, principal, nowMs);
  const place = await deps.moved.at(from).leave(fileId, caller, person, to, nowMs);
  if (place !== undefined) await arriveAt(deps, from, place, nowMs);
}

/**
 * Lets files arrive whose move from one of these shards broke off. A file that is just arriving arrives twice, which
 * does no harm. A shard that fails holds up only the files that move to it: a page that they may have filled is read
 * again without them.
 */
export async function finishMoves(deps: HomeDeps, from: readonly number[], nowMs: number): Promise<void> {
  if (deps.isOne) return;
  const failures: unknown[] = [];
  await inParallel(from, SHARDS_AT_ONCE, async (here) => {
    const failed: number[] = [];
    const finishPage = async (): Promise<void> => {
      const places = await deps.moved.at(here).underWay(LIMITS.sweepRows, { without: failed });
      const before = failed.length;
      for (const [to, there] of Map.groupBy(places, ({ shard }) => shard))
        await arriveAll(deps, here, to, there, nowMs).catch((thrown: unknown) => {
          failures.push(thrown);
          failed.push(to);
        });
      if (failed.length > before && places.length === LIMITS.sweepRows) await finishPage();
    };
    await finishPage().catch((thrown: unknown) => failures.push(thrown));
  });
  throwTogether(failures);
}
