import { StoreUnavailable } from "../../platform/storage/database.ts";
import { isTenantObject } from "../../platform/storage/tenant-objects.ts";
import type { MovedStore } from "./moved-store.ts";

/**
 * The tenant objects in which a client may have files or reports. A change of a client asks every shard of the
 * deployment, and of the tenant objects only these (owner-changes.ts). So the directory notes the object before the
 * client's first row is written there, and never forgets it:
 *
 *   noted, unless the client is closed in the directory ──▶ the row is written
 *   closed in the directory ──▶ the noted objects are read ──▶ closed in each of them
 *
 * One of the two comes first. Clients are noted by name, since rows have their names.
 */
export interface ClientObjects {
  /** Notes clients in a tenant object, before they write there. Throws if one of them is being changed. */
  note(clients: readonly string[], shard: number): Promise<void>;
}

/** Port to the directory. */
export interface ClientObjectTable {
  /** Notes the object for each client that is not being changed. Returns the clients that are noted. */
  note(clients: readonly string[], object: number): Promise<readonly string[]>;
}

/** Our choice: pairs that an isolate remembers. */
const MOST_KNOWN = 20_000;

export function createClientObjects(table: ClientObjectTable): ClientObjects {
  const known = new Set<string>();
  return {
    async note(clients, shard) {
      if (!isTenantObject(shard)) return;
      const keyOf = (client: string): string => `${shard} ${client}`;
      const asked = [...new Set(clients)].filter((client) => !known.has(keyOf(client)));
      if (asked.length === 0) return;
      const noted = await table.note(asked, shard);
      if (known.size > MOST_KNOWN) known.clear();
      for (const client of noted) known.add(keyOf(client));
      if (noted.length < asked.length) throw new StoreUnavailable("a client is being changed");
    },
  };
}

/** Notes the clients of files that arrive. */
export const notingArrivals = (store: MovedStore, shard: number, objects: ClientObjects): MovedStore => ({
  ...store,
  async arrive(files, nowMs) {
    await objects.note(files.map(clientIn), shard);
    await store.arrive(files, nowMs);
  },
});

/** The client in a row of a file, as JSON. */
export const clientIn = ({ row }: { readonly row: string | null }): string =>
  (JSON.parse(row ?? "{}") as { client?: string }).client ?? "";
