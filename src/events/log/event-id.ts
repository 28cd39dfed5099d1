import { toHex } from "../../platform/text/encoding.ts";
import type { Random } from "../../platform/runtime/random.ts";
import { TOPIC } from "../model/limits.ts";

/**
 * Event ids: 64 random bits in hex, so that they are unique and hard to guess, then "-" and one number in base 36 that
 * holds shard and position, so that an event is found by its id without an index. Clients treat ids as opaque.
 */
export const newEventIds = (count: number, shard: number, firstSeq: number, random: Random): string[] =>
  idsOf(toHex(random.bytes(count * RANDOM_BYTES)), firstSeq * SHARD_FACTOR + shard);

/** Packs the ids of one call of `newEventIds` into less than two thirds of their size. */
export function packIds(ids: readonly string[]): string {
  const [first] = ids;
  return first === undefined ? "" : ids.map((id) => id.slice(0, RANDOM_CHARS)).join("") + first.slice(RANDOM_CHARS);
}

export function unpackIds(packed: string): string[] {
  const [random = "", first = ""] = packed.split("-");
  return idsOf(random, parseInt(first, 36));
}

/** `random` holds the random parts of all ids; `firstPlace` is the first one's shard and position as one number. */
function idsOf(random: string, firstPlace: number): string[] {
  const ids: string[] = [];
  let place = firstPlace;
  for (let at = 0; at < random.length; at += RANDOM_CHARS) {
    ids.push(`${random.slice(at, at + RANDOM_CHARS)}-${place.toString(36)}`);
    place += SHARD_FACTOR;
  }
  return ids;
}

/** Returns the shard and position in an event id; undefined if the text is not an event id. */
export function positionOf(id: string): Position | undefined {
  const place = parseInt(/^[0-9a-f]{16}-([0-9a-z]{1,10})$/.exec(id)?.[1] ?? "", 36);
  if (!Number.isSafeInteger(place) || place < SHARD_FACTOR) return undefined;
  return { shard: place % SHARD_FACTOR, seq: Math.floor(place / SHARD_FACTOR) };
}

export interface Position {
  readonly shard: number;
  readonly seq: number;
}

const RANDOM_BYTES = 8;
const RANDOM_CHARS = 2 * RANDOM_BYTES;
/** Number of shards that an id can distinguish. */
const SHARD_FACTOR = TOPIC.maxShards;
