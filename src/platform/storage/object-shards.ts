/**
 * Maximum number of shards of a deployment. A file's id has a byte for the number. The other 16 values of that byte are
 * those of tenant objects (tenant-objects.ts).
 */
export const MOST_SHARDS = 240;

/** Cloudflare's location hints for an object. */
export const LOCATION_HINTS = ["wnam", "enam", "sam", "weur", "eeur", "apac", "oc", "afr", "me"] as const;
export type LocationHint = (typeof LOCATION_HINTS)[number];

/** The shards that are objects, with their locations. Undefined: the location of the deployment's other objects. */
export type ObjectShards = ReadonlyMap<number, LocationHint | undefined>;

/** The location of a shard that has none of its own. */
export const ANY_PLACE = "auto";

/** Parses `2:auto 3:weur`: shard 2 and shard 3 are objects. Undefined if the text does not have this form. */
export function parseObjectShards(text: string): ObjectShards | undefined {
  const found = new Map<number, LocationHint | undefined>();
  for (const word of text.split(" ").filter((one) => one !== "")) {
    const [, number = "", place = ""] = /^(\d{1,3}):([a-z]+)$/.exec(word) ?? [];
    const hint = LOCATION_HINTS.find((known) => known === place);
    const shard = Number(number);
    if (number === "" || shard < 1 || shard >= MOST_SHARDS || (hint === undefined && place !== ANY_PLACE))
      return undefined;
    found.set(shard, hint);
  }
  return found;
}

export const formatObjectShards = (shards: ObjectShards): string =>
  [...shards].map(([number, place]) => `${number}:${place ?? ANY_PLACE}`).join(" ");
