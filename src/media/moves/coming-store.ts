import { FIRST_TENANT_OBJECT } from "../../platform/storage/tenant-objects.ts";
import { IS_COMING } from "../shards/moved-store.ts";
import {
  FILE_COLUMNS,
  movedMark,
  VARIANT_COLUMNS,
  type LeavingOwner,
  type MovingFile,
  type Run,
} from "./leaving-store.ts";

/** The shard that a tenant moves to (mover.ts). */
export type ComingStore = ReturnType<typeof createComingStore>;

/** Marks an owner whose files are still hidden. The id that the owner has in the old shard follows the mark. */
const comingMark = (move: string): string => `coming ${move} `;

/** ?1 to ?3: the run. */
const isState = (state: string): string =>
  `EXISTS (SELECT 1 FROM moving_tenant WHERE tenant = ?1 AND move = ?2 AND turn = ?3 AND state = '${state}')`;
const COMING = isState("coming");
/** The hidden files among the ids in ?4, a JSON array. */
const HIDDEN = `SELECT file.id FROM json_each(?4) AS named CROSS JOIN file ON file.id = named.value
  CROSS JOIN owner ON owner.id = file.owner_id AND owner.tenant = ?1 AND ${IS_COMING}`;
const field = (column: string): string => `(given.value ->> '$.${column}')`;
const fields = (columns: readonly string[]): string => columns.map((column) => field(`row.${column}`)).join(", ");
/** Columns that are not copied as they are. */
const VARIANT_FIELDS: Readonly<Record<string, string>> = {
  // A new nonce, since the job in the old shard deletes what it wrote under the old one.
  nonce: `iif(made.value ->> 'state' = 'pending', lower(hex(randomblob(length(made.value ->> 'nonce') / 2))), made.value ->> 'nonce')`,
  // So it has no message yet: the sweep wakes the lane (lanes/lane-store.ts).
  lane: `iif(made.value ->> 'state' = 'pending', made.value ->> 'lane', NULL)`,
  waits: `made.value ->> 'state' = 'pending' AND made.value ->> 'lane' IS NOT NULL`,
};
const variantFields = VARIANT_COLUMNS.map((column) => VARIANT_FIELDS[column] ?? `made.value ->> '${column}'`).join(
  ", ",
);

const SQL = {
  begin: `INSERT INTO moving_tenant (tenant, move, turn, state)
    SELECT ?1, ?2, ?3, 'coming' WHERE NOT EXISTS (SELECT 1 FROM closing WHERE kind = 'tenant' AND name = ?1)
      AND NOT EXISTS (SELECT 1 FROM ended_move WHERE tenant = ?1 AND move >= ?2)
    ON CONFLICT DO UPDATE SET turn = excluded.turn WHERE move = excluded.move AND turn < excluded.turn`,
  state: `SELECT state FROM moving_tenant WHERE tenant = ?1 AND move = ?2 AND turn = ?3`,
  removeVariants: `DELETE FROM variant WHERE file_id IN (${HIDDEN}) AND ${COMING}`,
  removeFiles: `DELETE FROM file WHERE id IN (${HIDDEN}) AND ${COMING}`,
  // A file that ends before its tenant has moved needs no note here. Only `notes` writes this time.
  removeNotes: `DELETE FROM moved_file WHERE moved_at = 0 AND id IN (SELECT value FROM json_each(?4)) AND ${COMING}`,
  // An operator's change of a client (shards/owner-changes.ts) and this exclude each other.
  owners: `INSERT INTO owner (client, tenant, visibility, erasure_id)
    SELECT DISTINCT ${field("row.client")}, ?1, ${field("row.visibility")}, ?5 || ${field("ownerId")}
    FROM json_each(?4) AS given WHERE ${COMING}
      AND NOT EXISTS (SELECT 1 FROM owner WHERE owner.erasure_id = ?5 || ${field("ownerId")})
      AND NOT EXISTS (SELECT 1 FROM closing WHERE kind = 'client' AND name = ${field("row.client")})`,
  files: `INSERT INTO file (id, owner_id, state, ${FILE_COLUMNS.join(", ")})
    SELECT ${field("id")}, owner.id, 'committed', ${fields(FILE_COLUMNS)}
    FROM json_each(?4) AS given CROSS JOIN owner ON owner.erasure_id = ?5 || ${field("ownerId")} WHERE ${COMING}`,
  variants: `INSERT INTO variant (file_id, ${VARIANT_COLUMNS.join(", ")})
    SELECT file.id, ${variantFields}
    FROM json_each(?4) AS given CROSS JOIN file ON file.id = ${field("id")} CROSS JOIN owner ON owner.id = file.owner_id
      AND owner.erasure_id = ?5 || ${field("ownerId")} CROSS JOIN json_each(given.value, '$.row.variants') AS made
    WHERE ${COMING}`,
  // The old shard's job may leave bytes of a pending rendition that no row here names.
  forgetPlaces: `UPDATE file SET known_places = NULL WHERE id IN (SELECT given.value ->> '$.id'
    FROM json_each(?4) AS given CROSS JOIN json_each(given.value, '$.row.variants') AS made
    WHERE made.value ->> 'state' = 'pending') AND ${COMING}`,
  // Keeps the shard where the file was before its commit; the removal of the file's last row needs it.
  // A tenant object that it leaves now keeps a note about it.
  notes: `INSERT INTO moved_file (id, shard, hop, moved_at, objects)
    SELECT ${field("id")}, ?5, ${field("hop")}, 0,
      iif(?5 >= ${FIRST_TENANT_OBJECT}, json_insert(coalesce(${field("objects")}, '[]'), '$[#]', ?5), ${field("objects")})
    FROM json_each(?4) AS given
    WHERE ${field("hop")} IS NOT NULL AND ${COMING} ON CONFLICT (id) DO UPDATE SET objects = excluded.objects`,
  countHere: `SELECT count(*) AS files FROM json_each(?4) AS given CROSS JOIN file ON file.id = ${field("id")}
    WHERE ${COMING}`,
  show: `UPDATE owner SET erasure_id = NULL, files = came.files, bytes = came.bytes
    FROM (SELECT ?5 || (value ->> 'id') AS mark, value ->> 'files' AS files, value ->> 'bytes' AS bytes
      FROM json_each(?4)) AS came
    WHERE owner.erasure_id = came.mark AND owner.tenant = ?1 AND ${COMING}`,
  // Hides owners that were retired in the old shard after they were copied.
  drop: `UPDATE owner SET erasure_id = ?4 WHERE tenant = ?1 AND ${IS_COMING} AND ${COMING}`,
  return: `DELETE FROM departed_tenant WHERE tenant = ?1 AND ${COMING}`,
  past: `INSERT INTO past_place (tenant, shard) SELECT ?1, value FROM json_each(?4) WHERE ${COMING} ON CONFLICT DO NOTHING`,
  arrive: `UPDATE moving_tenant SET state = 'arrived' WHERE tenant = ?1 AND move = ?2 AND turn = ?3 AND state = 'coming'`,
  note: `INSERT INTO ended_move (tenant, move) SELECT ?1, ?2 WHERE ${isState("arrived")}
    ON CONFLICT DO UPDATE SET move = excluded.move`,
  isOpen: `SELECT 1 FROM ended_move WHERE tenant = ?1 AND move >= ?2`,
  open: `DELETE FROM moving_tenant WHERE tenant = ?1 AND move = ?2 AND turn = ?3 AND state = 'arrived'`,
} as const;

export function createComingStore(db: D1Database, shard: number) {
  const prepared = (sql: string, ...values: unknown[]) => db.prepare(sql).bind(...values);
  const of = ({ tenant, move, turn }: Run) => [tenant, move, turn];
  type State = "coming" | "arrived";
  return {
    /** Begins a run and returns its state. Undefined: another run has overtaken it, or the tenant is being removed. */
    async begin(run: Run): Promise<State | undefined> {
      const [, found] = await db.batch<{ state: State }>([
        prepared(SQL.begin, ...of(run)),
        prepared(SQL.state, ...of(run)),
      ]);
      return found?.results[0]?.state;
    },

    /**
     * Replaces the copies of these files, in one transaction. A file that is in `ids` and not in `files` has ended, so
     * its copy is removed. False: another run has overtaken this one, or a client of a file is being changed.
     */
    async put(run: Run, from: number, ids: readonly string[], files: readonly MovingFile[]): Promise<boolean> {
      const named = [...of(run), JSON.stringify(ids)];
      const given = JSON.stringify(files.map((file) => ({ ...file, row: JSON.parse(file.row) as object })));
      const mark = comingMark(run.move);
      const here = [...of(run), given];
      const results = await db.batch<{ files?: number; state?: string }>([
        prepared(SQL.removeVariants, ...named),
        prepared(SQL.removeFiles, ...named),
        prepared(SQL.removeNotes, ...named),
        prepared(SQL.owners, ...here, mark),
        prepared(SQL.files, ...here, mark),
        prepared(SQL.variants, ...here, mark),
        prepared(SQL.forgetPlaces, ...here),
        prepared(SQL.notes, ...here, from),
        prepared(SQL.countHere, ...here),
        prepared(SQL.state, ...of(run)),
      ]);
      return results.at(-1)?.results[0]?.state === "coming" && results.at(-2)?.results[0]?.files === files.length;
    },

    /** Shows the files, read-only. False: another run has overtaken this one. May be repeated. */
    async arrive(run: Run, owners: readonly LeavingOwner[], past: readonly number[]): Promise<boolean> {
      const others = JSON.stringify(past.filter((before) => before !== shard));
      const results = await db.batch<{ state: string }>([
        prepared(SQL.show, ...of(run), JSON.stringify(owners), comingMark(run.move)),
        prepared(SQL.drop, ...of(run), movedMark(run.move)),
        prepared(SQL.return, ...of(run)),
        prepared(SQL.past, ...of(run), others),
        prepared(SQL.arrive, ...of(run)),
        prepared(SQL.state, ...of(run)),
      ]);
      return results.at(-1)?.results[0]?.state === "arrived";
    },

    /** Allows changes of the tenant again. False: another run has overtaken this one. May be repeated. */
    async open(run: Run): Promise<boolean> {
      const results = await db.batch([
        prepared(SQL.note, ...of(run)),
        prepared(SQL.open, ...of(run)),
        prepared(SQL.isOpen, run.tenant, run.move),
      ]);
      return results.at(-1)?.results.length === 1;
    },
  };
}
