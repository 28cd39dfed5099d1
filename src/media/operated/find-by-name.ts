import { mapInParallel } from "../../platform/runtime/parallel.ts";
import { SHARDS_AT_ONCE } from "../../platform/storage/shards.ts";
import type { OfShards } from "../../platform/storage/tenant-objects.ts";
import type { ObjectReports } from "../shards/object-reports.ts";
import { FIND_LIMITS, uniqueById, type FindStore, type FoundFile, type FoundFiles } from "./find-store.ts";

/** Finds files of these tenants; undefined: of all tenants. */
export type FindByName = (text: string, tenants: readonly string[] | undefined) => Promise<FoundFiles>;

export interface FindDeps {
  readonly stores: OfShards<FindStore>;
  /** Undefined: the platform has no tenant objects. */
  readonly objects: Pick<ObjectReports, "ofTenants"> | undefined;
}

/** Our choice: tenant objects that one search asks. */
const MOST_OBJECTS = 100;

/** Searches the shards of the deployment and the first tenant objects, some at a time. */
export async function findInAll(
  { stores, objects }: FindDeps,
  text: string,
  tenants: readonly string[] | undefined,
): Promise<FoundFiles> {
  const known = (await objects?.ofTenants(tenants, MOST_OBJECTS + 1)) ?? [];
  const asked = [...stores.listed, ...known.slice(0, MOST_OBJECTS).map((object) => stores.at(object))];
  const parts = await mapInParallel(asked, SHARDS_AT_ONCE, (store) => store.byName(text, tenants));
  const whole = text.toLowerCase();
  const isWhole = ({ name }: FoundFile): boolean => name.toLowerCase() === whole;
  const found = uniqueById(parts.flatMap(({ files }) => files));
  const sorted = [...found.filter(isWhole), ...found.filter((one) => !isWhole(one))];
  const isCut = sorted.length > FIND_LIMITS.files || known.length > MOST_OBJECTS;
  const more = isCut || parts.some((part) => part.more);
  return { files: sorted.slice(0, FIND_LIMITS.files), more };
}
