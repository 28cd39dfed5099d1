import { KEEP_PLACE } from "./placement-store.ts";

/** The table of moves of tenants between shards, in the directory (moves.ts). */
export type MoveStore = ReturnType<typeof createMoveStore>;

const MOVE_STATES = ["copying", "switching", "opening", "cleaning", "done"] as const;
export type MoveState = (typeof MOVE_STATES)[number];

export interface Move {
  readonly tenant: string;
  readonly move: string;
  readonly from: number;
  readonly to: number;
  readonly state: MoveState;
  /** The number of the run. It grows with each run. */
  readonly turn: number;
  /** The owner and the id of the last file that was copied. */
  readonly atOwner: number;
  readonly atFile: string;
  /** The number of files that were copied. */
  readonly files: number;
  readonly begunAt: number;
  readonly doneAt: number | null;
}

export type EndedMove = Pick<Move, "tenant" | "move">;

const COLUMNS = `tenant, move, from_shard AS "from", to_shard AS "to", state, turn, at_owner AS atOwner,
  at_file AS atFile, files, begun_at AS begunAt, done_at AS doneAt`;
const RUN = `tenant = ?1 AND move = ?2 AND turn = ?3`;

const SQL = {
  place: KEEP_PLACE,
  begin: `INSERT INTO tenant_move (tenant, move, from_shard, to_shard, state, begun_at, due_at)
    SELECT tenant, ?2, shard, ?3, 'copying', ?4, ?4 FROM tenant_shard
    WHERE tenant = ?1 AND shard <> ?3 AND EXISTS (SELECT 1 FROM tenant WHERE id = ?1)
    ON CONFLICT DO UPDATE SET move = excluded.move, from_shard = excluded.from_shard, to_shard = excluded.to_shard,
      state = 'copying', turn = 0, at_owner = 0, at_file = '', files = 0, begun_at = excluded.begun_at,
      due_at = excluded.due_at, done_at = NULL WHERE tenant_move.state = 'done' AND tenant_move.move < excluded.move`,
  find: `SELECT ${COLUMNS} FROM tenant_move WHERE tenant = ?1`,
  underWay: `SELECT ${COLUMNS} FROM tenant_move WHERE due_at IS NOT NULL ORDER BY due_at LIMIT ?1`,
  leaving: `SELECT DISTINCT from_shard AS "from", to_shard AS "to" FROM tenant_move
    WHERE due_at IS NOT NULL AND state <> 'cleaning'`,
  due: `SELECT tenant FROM tenant_move WHERE due_at <= ?1 ORDER BY due_at LIMIT ?2`,
  claim: `UPDATE tenant_move SET turn = turn + 1, due_at = ?3 WHERE tenant = ?1 AND due_at <= ?2 RETURNING ${COLUMNS}`,
  progress: `UPDATE tenant_move SET at_owner = ?4, at_file = ?5, files = ?6, due_at = ?7
    WHERE ${RUN} AND state = 'copying' RETURNING state`,
  advance: `UPDATE tenant_move SET state = ?5, due_at = ?6, done_at = ?7 WHERE ${RUN} AND state = ?4 RETURNING state`,
  postpone: `UPDATE tenant_move SET due_at = ?4 WHERE ${RUN} AND state <> 'done'`,
  switch: `UPDATE tenant_shard SET shard = ?5, copied = ?6 WHERE tenant = ?1 AND shard = ?4 AND version = ?6
    AND EXISTS (SELECT 1 FROM tenant_move WHERE ${RUN} AND state = 'switching')`,
  switched: `UPDATE tenant_move SET state = 'opening' WHERE ${RUN} AND state = 'switching'
    AND EXISTS (SELECT 1 FROM tenant_shard WHERE tenant = ?1 AND shard = ?4)`,
  // A run notes when the next one may begin: ?4 or, when only old rows are left, ?5 after its last step. A tenant's
  // earlier moves are known only in the shards where they ended: ?3. They ended before the next one began.
  since: `SELECT tenant FROM tenant_move WHERE (from_shard = ?1 OR to_shard = ?1)
      AND coalesce(done_at, max(begun_at, due_at - iif(state = 'cleaning', ?5, ?4))) > ?2
    UNION ALL SELECT last.tenant FROM json_each(?3) AS ended
      CROSS JOIN tenant_move AS last ON last.tenant = ended.value ->> 'tenant' AND last.move > ended.value ->> 'move'
        AND last.begun_at > ?2
    LIMIT 1`,
  abandon: `DELETE FROM tenant_move WHERE tenant = ?1 AND move = ?2 AND turn = 0`,
} as const;

export function createMoveStore(db: D1Database) {
  const prepared = (sql: string, ...values: unknown[]) => db.prepare(sql).bind(...values);
  const of = ({ tenant, move, turn }: Pick<Move, "tenant" | "move" | "turn">) => [tenant, move, turn];
  return {
    /**
     * Begins a move, unless one is under way or the tenant is in that shard already. Returns the tenant's move: the new
     * one, the one under way, or the last one; undefined if the tenant never moved. `row` writes to the audit log.
     */
    async begin(
      tenant: string,
      move: string,
      to: number,
      nowMs: number,
      row: D1PreparedStatement,
    ): Promise<Move | undefined> {
      const results = await db.batch<Move>([
        prepared(SQL.place, tenant),
        prepared(SQL.begin, tenant, move, to, nowMs),
        row,
        prepared(SQL.find, tenant),
      ]);
      return results.at(-1)?.results[0];
    },
    /** Deletes a move that has not run yet. */
    abandon: async ({ tenant, move }: Move): Promise<void> => void (await prepared(SQL.abandon, tenant, move).run()),
    find: async (tenant: string): Promise<Move | undefined> =>
      (await prepared(SQL.find, tenant).first<Move>()) ?? undefined,
    underWay: async (limit: number): Promise<readonly Move[]> =>
      (await prepared(SQL.underWay, limit).all<Move>()).results,
    /** The ways of all moves whose tenants have not left their shards for certain. */
    leaving: async (): Promise<readonly Pick<Move, "from" | "to">[]> =>
      (await prepared(SQL.leaving).all<Pick<Move, "from" | "to">>()).results,
    due: async (nowMs: number, limit: number): Promise<readonly string[]> =>
      (await prepared(SQL.due, nowMs, limit).all<{ tenant: string }>()).results.map(({ tenant }) => tenant),
    /**
     * A tenant that moved to or from a shard after this time. `ended`: moves that the shard knows. Those that the
     * directory does not know have been undone by a restore of it. `leaseMs`, `graceMs`: as in MOVE_LIMITS.
     */
    async since(
      shard: number,
      timeMs: number,
      ended: readonly EndedMove[],
      { leaseMs, graceMs }: { readonly leaseMs: number; readonly graceMs: number },
    ): Promise<string | undefined> {
      const found = prepared(SQL.since, shard, timeMs, JSON.stringify(ended), leaseMs, graceMs);
      return (await found.first<string>("tenant")) ?? undefined;
    },
    /** Begins a run of a move that is due. No other run begins until `untilMs`. */
    claim: async (tenant: string, nowMs: number, untilMs: number): Promise<Move | undefined> =>
      (await prepared(SQL.claim, tenant, nowMs, untilMs).first<Move>()) ?? undefined,
    /** Stores the progress of the copy. False: another run has overtaken this one. */
    progress: async (run: Move, owner: number, file: string, files: number, dueMs: number): Promise<boolean> =>
      (await prepared(SQL.progress, ...of(run), owner, file, files, dueMs).first()) !== null,
    advance: async (run: Move, state: MoveState, dueMs: number | null, doneMs: number | null): Promise<boolean> =>
      (await prepared(SQL.advance, ...of(run), run.state, state, dueMs, doneMs).first()) !== null,
    postpone: async (run: Move, dueMs: number): Promise<void> =>
      void (await prepared(SQL.postpone, ...of(run), dueMs).run()),
    /**
     * Makes the new shard the tenant's, if the tenant's record still has this version, which the caller copied there.
     * Returns the state after that; undefined: another run has overtaken this one.
     */
    async switch(run: Move, version: number): Promise<MoveState | undefined> {
      const results = await db.batch<Move>([
        prepared(SQL.switch, ...of(run), run.from, run.to, version),
        prepared(SQL.switched, ...of(run), run.to),
        prepared(SQL.find, run.tenant),
      ]);
      const now = results.at(-1)?.results[0];
      return now?.move === run.move && now.turn === run.turn ? now.state : undefined;
    },
  };
}
