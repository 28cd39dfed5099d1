import type { ImportOutcome, ImportPlace } from "../platform/storage/object-import.ts";
import { PLATFORM_PLACE, tenantStoreNames } from "./model/places.ts";
import type { MetricsStore } from "./store.do.ts";
import type { PackKey, StorePage } from "./store-pages.ts";

/** Reads and writes the stores, for a backup and its restore. Throws the error of an object: repeat the call then. */
export interface MetricsObjects {
  readonly storeNames: readonly string[];
  exportStore(name: string, after?: PackKey): Promise<StorePage>;
  importStore(name: string, place: ImportPlace, page: StorePage): Promise<ImportOutcome>;
}

export const metricsObjects = (stores: DurableObjectNamespace<MetricsStore>): MetricsObjects => ({
  storeNames: [PLATFORM_PLACE.store, ...tenantStoreNames()],
  exportStore: async (name, after) => stores.getByName(name).exportPage(after),
  importStore: async (name, place, page) => stores.getByName(name).importPage(place, page),
});
