import type { Paging } from "../../http/input/paging.ts";
import { mapInParallel } from "../../platform/runtime/parallel.ts";
import { SHARDS_AT_ONCE } from "../../platform/storage/shards.ts";
import type { Authorization } from "../model/authorization.ts";
import type { UserRecord } from "../users/user-store.ts";
import type { Elsewhere } from "../homes/elsewhere.ts";
import type { ElsewhereStore } from "../homes/elsewhere-store.ts";
import type { GrantCursor, ListedGrant } from "../homes/listed-grant.ts";
import { FIRST, type GrantListStore } from "./grant-list-store.ts";

export type GrantLists = ReturnType<typeof createGrantLists>;

/** The grants of a person in all homes: those of the directory and those elsewhere, as one list. */
export function createGrantLists(directory: GrantListStore, elsewhere: Elsewhere) {
  const inHomes = <T>(email: string, ask: (store: ElsewhereStore) => Promise<T>): Promise<readonly T[]> =>
    mapInParallel(elsewhere.homes(email), SHARDS_AT_ONCE, ask);

  return {
    ...directory,
    /** A page of the grants of one client, and one row more if there are any. */
    async page(
      email: string,
      clientId: string,
      after: GrantCursor | undefined,
      rows: Pick<Paging, "pageSize" | "skip">,
    ): Promise<readonly ListedGrant[]> {
      if (elsewhere.homes(email).length === 0) return directory.page(email, clientId, after, rows);
      const until = rows.skip + rows.pageSize;
      const [here, listed] = await Promise.all([
        directory.page(email, clientId, after, { skip: 0, pageSize: until }),
        elsewhere.directory.listedFor(email, clientId),
      ]);
      if (listed === undefined) return [];
      const { clientName, signedOutAtMs } = listed;
      const found = await inHomes(email, (store) =>
        store.page(email, clientId, signedOutAtMs, after ?? FIRST, until + 1),
      );
      const others = found.flat().map((row) => ({
        ...row,
        clientName,
        authorization: JSON.parse(row.authorization) as Authorization,
      }));
      return [...here, ...others].sort(newestFirst).slice(rows.skip, until + 1);
    },
    /** The applications of a user from all homes, in the shape of `GrantListStore`. */
    async applications({ email, signedOutAtMs }: Pick<UserRecord, "email" | "signedOutAtMs">, limit: number) {
      const found = await inHomes(email, (store) => store.applications(email, signedOutAtMs, limit));
      return directory.applications(email, limit, found.flat());
    },
    /** At most `limit` grant ids. */
    async grantIds(email: string, clientId: string, limit: number): Promise<readonly string[]> {
      const [here, ...others] = await Promise.all([
        directory.grantIds(email, clientId, limit),
        ...elsewhere.homes(email).map((store) => store.grantIds(email, clientId, limit)),
      ]);
      return [here, ...others].flat().slice(0, limit);
    },
    async belongsToUser(email: string, clientId: string, grantId: string): Promise<boolean> {
      const found = await Promise.all([
        directory.belongsToUser(email, clientId, grantId),
        ...elsewhere.homes(email).map((store) => store.belongsToUser(email, clientId, grantId)),
      ]);
      return found.includes(true);
    },
    /** Removes grants and codes in other homes than the directory, and returns their number. */
    endAccessElsewhere: elsewhere.endAccess,
  };
}

const newestFirst = (a: ListedGrant, b: ListedGrant): number => b.createdAtMs - a.createdAtMs || (a.id < b.id ? 1 : -1);
