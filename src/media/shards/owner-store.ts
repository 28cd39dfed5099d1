import { IS_COMING } from "./moved-store.ts";

/** A shard's part in changes of clients and tenants by an operator (owner-changes.ts). */
export type OwnerStore = ReturnType<typeof createOwnerStore>;

/** A client (by its name) or tenant that is being changed: its files cannot be committed meanwhile. */
export interface Closing {
  readonly kind: "client" | "tenant";
  readonly name: string;
  /** The client's id and tenant; null for a tenant. */
  readonly client: string | null;
  readonly tenant: string | null;
  /** The id of this change. */
  readonly change: string;
}

/** A client as the directory has it now. */
export interface NamedClient {
  readonly name: string;
  readonly tenant: string;
}

const CLOSE = `INSERT INTO closing (kind, name, client, tenant, change, begun_at) SELECT ?1, ?2, ?3, ?4, ?5, ?6`;
const CLOSING = `SELECT kind, name, client, tenant, change FROM closing`;
/** SQL: owners of pending files. */
const PENDING = `tenant = '' AND erasure_id IS NULL`;
const STILL_CLOSED = `EXISTS (SELECT 1 FROM closing WHERE kind = 'client' AND name = ?3 AND change = ?4)`;
/** SQL: files of the client that have left and not arrived; an index has only these. */
const LEAVING = `row IS NOT NULL AND moved_at >= 0 AND row ->> 'client' = ?1`;

const SQL = {
  /** ?7: the tenant whose files prevent the closing; empty: those of all tenants do. */
  closeClient: `${CLOSE} WHERE NOT EXISTS (SELECT 1 FROM owner WHERE client = ?2 AND (?7 = '' OR tenant = ?7)
      AND (erasure_id IS NULL AND files > 0 OR ${IS_COMING}))
    ON CONFLICT DO NOTHING`,
  closeTenant: `${CLOSE} WHERE ?7 = '' AND NOT EXISTS (SELECT 1 FROM owner WHERE tenant = ?2
      AND erasure_id IS NULL AND files > 0)
      AND NOT EXISTS (SELECT 1 FROM moving_tenant WHERE tenant = ?2)
      AND NOT EXISTS (SELECT 1 FROM departed_tenant WHERE tenant = ?2)
    ON CONFLICT DO NOTHING`,
  isClosed: `SELECT 1 FROM closing WHERE kind = ?1 AND name = ?2 AND change = ?3`,
  open: `DELETE FROM closing WHERE kind = ?1 AND name = ?2 AND change = ?3`,
  begunBefore: `${CLOSING} WHERE begun_at <= ?1 ORDER BY begun_at LIMIT 100`,
  ofClient: `${CLOSING} WHERE kind = 'client' AND name = ?1`,
  deletePending: `DELETE FROM owner WHERE client = ?1 AND ${PENDING}`,
  deleteRequester: `DELETE FROM requester WHERE client = ?1`,
  deleteLeaving: `DELETE FROM moved_file WHERE ${LEAVING}`,
  renamePending: `UPDATE owner SET client = ?2 WHERE client = ?1 AND ${PENDING}`,
  renameRequester: `UPDATE requester SET client = ?2 WHERE client = ?1`,
  renameLeaving: `UPDATE moved_file SET row = json_set(row, '$.client', ?2) WHERE ${LEAVING}`,
} as const;

/** In the directory, triggers on clients change owners and reports; in other shards, `end` does. */
export function createOwnerStore(db: D1Database, isDirectory: boolean) {
  const prepared = (sql: string, ...values: unknown[]) => db.prepare(sql).bind(...values);
  const nameOf = ({ kind, name, change }: Closing) => [kind, name, change];
  const FORGETTING = [SQL.deletePending, SQL.deleteRequester, SQL.deleteLeaving];

  /** Statements that require the closing to exist, so that only one of two parallel calls ends a change. */
  function ending({ name, tenant, change }: Closing, now: NamedClient | undefined): readonly D1PreparedStatement[] {
    const each = (sqls: readonly string[], from: string, to: string | null) =>
      sqls.map((sql) => prepared(`${sql} AND ${STILL_CLOSED}`, from, to, name, change));
    if (isDirectory)
      return now === undefined ? each([SQL.deleteLeaving], name, null) : each([SQL.renameLeaving], name, now.name);
    if (now === undefined) return each(FORGETTING, name, null);
    return [
      ...(now.name === name
        ? []
        : [
            ...each(FORGETTING, now.name, null),
            ...each([SQL.renamePending, SQL.renameRequester, SQL.renameLeaving], name, now.name),
          ]),
      ...(now.tenant === tenant ? [] : each([SQL.deletePending], now.name, null)),
    ];
  }

  return {
    /**
     * Closes an owner without committed files here; `onlyTenant`: without committed files in that tenant. False: there
     * are such files, or another change has closed the owner.
     */
    async close(closing: Closing, onlyTenant: string, nowMs: number): Promise<boolean> {
      const { kind, name, client, tenant, change } = closing;
      const results = await db.batch([
        prepared(
          kind === "client" ? SQL.closeClient : SQL.closeTenant,
          kind,
          name,
          client,
          tenant,
          change,
          nowMs,
          onlyTenant,
        ),
        prepared(SQL.isClosed, kind, name, change),
      ]);
      return results[1]?.results.length === 1;
    },

    /** Reopens an owner whose change did not happen. */
    open: async (closing: Closing): Promise<void> => void (await prepared(SQL.open, ...nameOf(closing)).run()),

    /**
     * Carries out a change or removal of a client: pending files and reports follow, and the closing ends, in one
     * write.
     */
    async end(closing: Closing, now: NamedClient | undefined): Promise<void> {
      await db.batch([...ending(closing, now), prepared(SQL.open, ...nameOf(closing))]);
    },

    /**
     * Deletes the rest of an earlier client of this name, which its last tokens made. Runs before a new one gets the
     * name.
     */
    async clearName(name: string): Promise<void> {
      if (!isDirectory) await db.batch(FORGETTING.map((sql) => prepared(sql, name)));
    },

    begunBefore: async (ms: number): Promise<readonly Closing[]> =>
      (await prepared(SQL.begunBefore, ms).all<Closing>()).results,
    ofClient: async (name: string): Promise<readonly Closing[]> =>
      (await prepared(SQL.ofClient, name).all<Closing>()).results,
  };
}
