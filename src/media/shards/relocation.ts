import type { Principal } from "../../http/callers/auth.ts";
import { callerOf, personOf, type TenantAccess } from "../model/access.ts";
import { StoreUnavailable } from "../../platform/storage/database.ts";
import { shardOfId, type Visibility } from "../model/file.ts";
import { LIMITS } from "../model/limits.ts";
import { throwTogether } from "../../platform/runtime/attempt-each.ts";
import { inParallel } from "../../platform/runtime/parallel.ts";
import { SHARDS_AT_ONCE } from "../../platform/storage/shards.ts";
import { inParts } from "../model/parts.ts";
import type { HomeDeps } from "./at-home.ts";
import type { Moved } from "./moved-store.ts";

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
const MOST_HOPS = 8;
/**
 * Our choice: how many moves a search follows that end while it runs. It has no limit of shards: once tenants went to
 * more of them, an id without a file would be 503 for ever. `MOVE_LIMITS.departures` keeps them few.
 */
const MOST_REPEATS = 64;

/** The shard in a file's id; the directory if the id has no such shard. */
export async function firstPlace({ placement }: Pick<HomeDeps, "placement">, fileId: string): Promise<number> {
  const shard = shardOfId(fileId);
  return (await placement.exists(shard)) ? shard : 0;
}

/** Our choice: characters of one call, since a value of D1 has at most 2 MB. */
const ARRIVE_CHARS = 500_000;

/** Makes sure that a file has arrived, and returns its shard. */
async function arriveAt(deps: Pick<HomeDeps, "moved">, from: number, place: Moved, nowMs: number): Promise<number> {
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
 * Looks for a file in the shard of its id, then follows its moves until a shard has it. A pending file moves by itself,
 * with a note. A committed one moves with its tenant, so it is looked for in every shard to which tenants moved from
 * there. The new shard shows a file before the old one hides it, and the old one names the new one in the same
 * transaction. A shard is asked again if another tenant moved to it meanwhile, and in the end if the file came to it by
 * itself, since it may have come after the first look. So a file that is not found does not exist, even if it moves at
 * the same time; to know that costs one more round trip. Shards are asked in the order in which they
 * are found, and one that will be asked anyway is not noted twice: so few are asked again while no tenant moves.
 *
 * `bring` moves a pending file from the shard that is next to the one where it belongs. It returns the way: `look` goes
 * on at its last shard. The notes on the way may be older than the last move of a tenant, so the shards before are
 * searched in the end, without `bring`: there `run` must change no pending file.
 *
 * `client`: the id of the caller's client. If the client was just renamed and its files have not followed yet, this
 * throws, since the caller would take its file for gone.
 */
export async function look<T>(
  deps: RelocationDeps,
  fileId: string,
  nowMs: number,
  run: (shard: number) => Promise<T>,
  isMissing: (found: T) => boolean,
  bring: (shard: number) => Promise<readonly number[]> = async (shard) => [shard],
  client?: string,
): Promise<T> {
  const ways = new Set<string>();
  /** By old and new shard: the number of moves between them that the search has followed. */
  const walked = new Map<string, number>();
  /** The shards to ask, in this order. */
  const next: number[] = [];
  const skipped: number[] = [];
  const broughtFrom = async (from: number): Promise<number> => {
    const way = await bring(from);
    skipped.push(...way.slice(0, -1));
    return way.at(-1)!;
  };
  let shard = await broughtFrom(await firstPlace(deps, fileId));
  for (let repeats = 0, hops = 0; repeats < MOST_REPEATS && hops < MOST_HOPS;) {
    const found = await run(shard);
    if (!isMissing(found)) return found;
    const { place, others, changing } = await deps.moved.at(shard).whereabouts(fileId);
    if (changing !== undefined && changing === client)
      throw new StoreUnavailable("the client of the file is being changed");
    for (const { shard: other, departures } of others) {
      const before = walked.get(`${shard} ${other}`);
      if (departures <= (before ?? 0)) continue;
      walked.set(`${shard} ${other}`, departures);
      if (before !== undefined) repeats++;
      if (!next.includes(other)) next.push(other);
    }
    if (place !== undefined && !ways.has(`${shard} ${place.shard} ${place.hop}`)) {
      ways.add(`${shard} ${place.shard} ${place.hop}`);
      hops++;
      if (place.shard === shard) next.push(shard);
      else next.unshift(await arriveAt(deps, shard, place, nowMs));
    }
    const following = next.shift();
    const onward = following ?? skipped.pop();
    if (onward === undefined) return found;
    shard = following === undefined ? onward : await broughtFrom(onward);
  }
  throw new StoreUnavailable("the file kept moving between shards");
}

/**
 * Moves a pending file of the caller to this shard. Returns the shards on the way; the last one is where to look for
 * the file.
 */
export async function bringTo(
  deps: RelocationDeps,
  principal: Principal,
  visibility: Visibility,
  fileId: string,
  home: number,
  from: number,
  nowMs: number,
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
  principal: Principal,
  visibility: Visibility,
  fileId: string,
  from: number,
  to: number,
  nowMs: number,
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
