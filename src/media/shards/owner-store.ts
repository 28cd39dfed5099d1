import { IS_COMING } from "./moved-store.ts";
import { requesterOf } from "../erasure/erasure-store.ts";

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
/** SQL: marks owners of pending files during the transaction of a change. */
const CHANGED = `'changed ' || ?4`;
/** SQL: ids of the owners of pending files of this client. */
const pendingOf = (client: string): string => `SELECT id FROM owner WHERE client = ${client} AND ${PENDING}`;
/** SQL: gives pending files of other owners (whose ids follow) to those of the client ?1. */
const GIVE_PENDING = `UPDATE file INDEXED BY file_pending SET owner_id = (${pendingOf("?1")}
      AND visibility = (SELECT visibility FROM owner AS giver WHERE giver.id = file.owner_id))
    WHERE state = 'pending' AND owner_id IN`;
const listOf = (ids: string): string => `json((SELECT json_group_array(id) FROM (${ids})))`;
/** SQL: the id is in this list of `Rest`. */
const isRest = (list: 0 | 1 | 2): string => `id IN (SELECT value FROM json_each(?2, '$[${list}]'))`;

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
  clients: `SELECT client FROM owner UNION SELECT client FROM requester`,
  begunBefore: `${CLOSING} WHERE begun_at <= ?1 ORDER BY begun_at LIMIT 100`,
  ofClient: `${CLOSING} WHERE kind = 'client' AND (name = ?1 OR client = ?2)`,
  rest: `SELECT json_array(${listOf(pendingOf("?1"))}, ${listOf("SELECT id FROM requester WHERE client = ?1")},
    ${listOf(`SELECT id FROM moved_file WHERE ${LEAVING}`)}) AS rest`,
  deletePending: `DELETE FROM owner WHERE client = ?1 AND ${PENDING}`,
  deleteRequester: `DELETE FROM requester WHERE client = ?1`,
  deleteLeaving: `DELETE FROM moved_file WHERE ${LEAVING}`,
  // Files that the client has made under its new name go to the owner that is about to get this name.
  mergePending: `${GIVE_PENDING} (${pendingOf("?2")} AND visibility IN (SELECT visibility FROM owner
      WHERE client = ?1 AND ${PENDING}))`,
  deleteMerged: `DELETE FROM owner WHERE client = ?2 AND ${PENDING} AND visibility IN (SELECT visibility FROM owner
      WHERE client = ?1 AND ${PENDING})`,
  mergeReports: `UPDATE erasure SET requester_id = ${requesterOf("?1")} WHERE requester_id = ${requesterOf("?2")}
    AND ${requesterOf("?1")} IS NOT NULL`,
  deleteMergedRequester: `DELETE FROM requester WHERE client = ?2 AND ${requesterOf("?1")} IS NOT NULL`,
  renamePending: `UPDATE owner SET client = ?2 WHERE client = ?1 AND ${PENDING}`,
  renameRequester: `UPDATE requester SET client = ?2 WHERE client = ?1`,
  // A new number, so that a call with the earlier name that comes late does not count as the file's arrival.
  renameLeaving: `UPDATE moved_file SET row = json_set(row, '$.client', ?2), hop = hop + 1 WHERE ${LEAVING}`,
  retire: `UPDATE owner SET erasure_id = ${CHANGED} WHERE client = ?1 AND ${PENDING}`,
  renew: `INSERT INTO owner (client, tenant, visibility)
    SELECT client, tenant, visibility FROM owner WHERE erasure_id = ${CHANGED}`,
  keepNew: `${GIVE_PENDING} (SELECT id FROM owner WHERE erasure_id = ${CHANGED})
      AND created_at >= (SELECT begun_at FROM closing WHERE kind = 'client' AND name = ?3 AND change = ?4)`,
  deleteRetired: `DELETE FROM owner WHERE erasure_id = ${CHANGED}`,
} as const;

const FORGETTING = [SQL.deletePending, SQL.deleteRequester, SQL.deleteLeaving];
const RENAMING = [
  SQL.mergePending,
  SQL.deleteMerged,
  SQL.renamePending,
  SQL.mergeReports,
  SQL.deleteMergedRequester,
  SQL.renameRequester,
  SQL.renameLeaving,
];
/** A client that changes its tenant loses its pending files, except those made since the change began. */
const CHANGING_TENANT = [SQL.retire, SQL.renew, SQL.keepNew, SQL.deleteRetired];

/** Lists of the ids that lie under a client's name in a shard, as JSON. Ids are never reused. */
export type Rest = string;
const NOTHING: Rest = "[[],[],[]]";

/** In the directory, triggers on clients change owners and reports; in other shards, `end` does. */
export function createOwnerStore(db: D1Database, isDirectory: boolean) {
  const prepared = (sql: string, ...values: unknown[]) => db.prepare(sql).bind(...values);
  const nameOf = ({ kind, name, change }: Closing) => [kind, name, change];

  /** Statements that require the closing to exist, so that only one of two parallel calls ends a change. */
  function ending({ name, tenant, change }: Closing, now: NamedClient | undefined): readonly D1PreparedStatement[] {
    const each = (sqls: readonly string[], from: string, to: string | null) =>
      sqls.map((sql) => prepared(`${sql} AND ${STILL_CLOSED}`, from, to, name, change));
    if (isDirectory)
      return now === undefined ? each([SQL.deleteLeaving], name, null) : each([SQL.renameLeaving], name, now.name);
    if (now === undefined) return each(FORGETTING, name, null);
    return [
      ...(now.name === name ? [] : each(RENAMING, name, now.name)),
      ...(now.tenant === tenant ? [] : each(CHANGING_TENANT, now.name, null)),
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
     * write. They join what the client has made under its new name.
     */
    async end(closing: Closing, now: NamedClient | undefined): Promise<void> {
      await db.batch([...ending(closing, now), prepared(SQL.open, ...nameOf(closing))]);
    },

    /** Returns the ids under the name. If no client has the name later than this, an earlier one left them. */
    rest: async (name: string): Promise<Rest> =>
      (await prepared(SQL.rest, name).first<{ rest: Rest }>())?.rest ?? NOTHING,

    /** Deletes what lies under the name and is in `rest`. */
    async forget(name: string, rest: Rest): Promise<void> {
      if (rest === NOTHING) return;
      const ofShard = [`${SQL.deletePending} AND ${isRest(0)}`, `${SQL.deleteRequester} AND ${isRest(1)}`];
      const sqls = [...(isDirectory ? [] : ofShard), `${SQL.deleteLeaving} AND ${isRest(2)}`];
      await db.batch(sqls.map((sql) => prepared(sql, name, rest)));
    },

    /** The names of all clients that have rows here. */
    clients: async (): Promise<readonly string[]> =>
      (await db.prepare(SQL.clients).all<{ client: string }>()).results.map(({ client }) => client),

    begunBefore: async (ms: number): Promise<readonly Closing[]> =>
      (await prepared(SQL.begunBefore, ms).all<Closing>()).results,
    /** Changes of clients of this name or id. */
    ofClient: async (name: string, id: string): Promise<readonly Closing[]> =>
      (await prepared(SQL.ofClient, name, id).all<Closing>()).results,
  };
}
