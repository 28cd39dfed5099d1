import { mapInParallel } from "../../platform/runtime/parallel.ts";
import { SHARDS_AT_ONCE } from "../../platform/storage/shards.ts";
import { FIND_LIMITS, uniqueById, type FindStore, type FoundFile, type FoundFiles } from "./find-store.ts";

/** Finds files of these tenants; undefined: of all tenants. */
export type FindByName = (text: string, tenants: readonly string[] | undefined) => Promise<FoundFiles>;

/** Searches several databases, some at a time. */
export async function findInAll(
  stores: readonly FindStore[],
  text: string,
  tenants: readonly string[] | undefined,
): Promise<FoundFiles> {
  const parts = await mapInParallel(stores, SHARDS_AT_ONCE, (store) => store.byName(text, tenants));
  const whole = text.toLowerCase();
  const isWhole = ({ name }: FoundFile): boolean => name.toLowerCase() === whole;
  const found = uniqueById(parts.flatMap(({ files }) => files));
  const sorted = [...found.filter(isWhole), ...found.filter((one) => !isWhole(one))];
  const more = sorted.length > FIND_LIMITS.files || parts.some((part) => part.more);
  return { files: sorted.slice(0, FIND_LIMITS.files), more };
}
