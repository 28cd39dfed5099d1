import {
  checkPreviousPage,
  toPage,
  type CursorPart,
  type Page,
  type Paging,
  type RowRange,
} from "../../http/paging.ts";
import type { AuditRecord, AuditTrail } from "../../platform/audit.ts";
import type { Names } from "../../platform/names.ts";
import {
  COLUMNS,
  SELECT,
  stateBy,
  storedState,
  toRecord,
  type PushKey,
  type PushRecord,
  type PushRow,
} from "./record.ts";

/** What an update may change (specification, "Endpoints"), and who made it where nobody knew. */
export type PushChange = Pick<
  PushRecord,
  "endpoint" | "username" | "credentials" | "sealKey" | "made" | "verification"
>;

/** How many there may be. */
export interface PushLimits {
  readonly ofClient: number;
  readonly ofTopic: number;
}

/** Which the operator looks for. */
export interface PushFilter {
  readonly client?: string | undefined;
  /** `<owner>.<eventType>` */
  readonly topic?: string | undefined;
  readonly maker?: "unknown" | undefined;
}

/** How a new record stands: `free` may be inserted, `inserted` is there, anything else is in its way. */
export type Admission = "free" | "inserted" | "no_topic" | "no_client" | "exists" | "too_many";

/** D1: which push subscriptions there are. The row of the audit log is written if and only if the change is. */
export interface PushStore {
  find(key: PushKey): Promise<PushRecord | undefined>;
  findById(id: string): Promise<PushRecord | undefined>;
  /** All of a client's on a topic, by name; there are at most as many as `insert` lets in. */
  list(of: Omit<PushKey, "name">): Promise<readonly PushRecord[]>;
  /** Everybody's on a topic, by client and name; undefined where the cursor is none of this list. */
  listOfTopic(incarnation: string, paging: Paging): Promise<Page<PushRecord> | undefined>;
  /** By id; undefined where the cursor is none of this list. */
  listAll(filter: PushFilter, paging: Paging): Promise<Page<PushRecord> | undefined>;
  /** Some, of a topic or of a client. */
  some(
    of: { readonly incarnation: string } | { readonly client: string },
    limit: number,
  ): Promise<readonly PushRecord[]>;
  /** Whether a record could be inserted now. */
  standing(record: PushRecord, limits: PushLimits): Promise<Admission>;
  /**
   * Inserts while the topic is active, the client is there and has nothing of that name on it, and neither holds too many.
   * Gives how the record stands afterwards: a repeat after a lost answer says the same.
   */
  insert(record: PushRecord, limits: PushLimits, audit: AuditRecord): Promise<Exclude<Admission, "free">>;
  /** Changes a subscription and enables it, if it is still at that version; without a row where nothing differs. */
  update(id: string, version: number, change: PushChange, nowMs: number, audit?: AuditRecord): Promise<boolean>;
  /** Gives whether it was there. */
  remove(id: string, audit: AuditRecord): Promise<boolean>;
  /** If it is still at that version: one that was changed meanwhile stays as it was asked for. */
  disable(id: string, version: number, nowMs: number, audit: AuditRecord): Promise<void>;
  /** What came of asking the endpoint, if the record is still at that version and waits for it. */
  verify(id: string, version: number, to: "done" | "failed", nowMs: number, audit: AuditRecord): Promise<void>;
  /** Removes all of a topic; the rows tell of those that were there a moment ago. */
  removeOfTopic(incarnation: string, audits: readonly AuditRecord[]): Promise<void>;
  /** Removes all of a client's, with the client. */
  removeOfClientStatements(client: string, audits: readonly AuditRecord[]): readonly D1PreparedStatement[];
  /** Some that deliver, or ask whether they may, by id, after an id. */
  activeAfter(id: string, limit: number): Promise<readonly PushRecord[]>;
  /** Some that are sealed under another key than this one. */
  sealedOtherwise(sealKey: string, limit: number): Promise<readonly PushRecord[]>;
  /** Puts the same credentials under another key, unless they were changed meanwhile. */
  reseal(record: PushRecord, credentials: string, sealKey: string): Promise<void>;
  /** How many there are under each key, up to `most` of each. */
  countSealed(most: number): Promise<ReadonlyMap<string, number>>;
}

/**
 * How a record stands: ?1 to ?5 are its id, topic, incarnation, client and name, ?6 and ?7 the limits. A client that was
 * removed must leave none behind: one that is registered again under its id would own it, endpoint and all.
 */
const STANDING = `CASE
  WHEN EXISTS (SELECT 1 FROM push_subscription WHERE id = ?1) THEN 'inserted'
  WHEN NOT EXISTS (SELECT 1 FROM topic WHERE name = ?2 AND incarnation = ?3 AND state = 'active') THEN 'no_topic'
  WHEN NOT EXISTS (SELECT 1 FROM client WHERE id = ?4) THEN 'no_client'
  WHEN EXISTS (SELECT 1 FROM push_subscription WHERE incarnation = ?3 AND client = ?4 AND name = ?5) THEN 'exists'
  WHEN (SELECT count(*) FROM push_subscription WHERE incarnation = ?3 AND client = ?4) >= ?6
    OR (SELECT count(*) FROM push_subscription WHERE incarnation = ?3) >= ?7 THEN 'too_many'
  ELSE 'free' END`;

/** Where records are read, `?1` is the beginning of the scope of a topic (record.ts). */
export const PUSH_SQL = {
  find: `${SELECT} WHERE incarnation = ?2 AND client = ?3 AND name = ?4`,
  findById: `${SELECT} WHERE id = ?2`,
  list: `${SELECT} WHERE incarnation = ?2 AND client = ?3 ORDER BY name`,
  listOfTopic: `${SELECT} WHERE incarnation = ?2 AND (client, name) > (?3, ?4) ORDER BY client, name LIMIT ?5 OFFSET ?6`,
  ofTopic: `${SELECT} WHERE incarnation = ?2 LIMIT ?3`,
  ofClient: `${SELECT} WHERE client = ?2 LIMIT ?3`,
  standing: `SELECT ${STANDING} AS standing`,
  insert: `INSERT INTO push_subscription (${COLUMNS})
    SELECT ?1, ?2, ?3, ?4, ?5, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20 WHERE ${STANDING} = 'free'`,
  update: `UPDATE push_subscription SET endpoint = ?3, username = ?4, credentials = ?5, seal_key = ?6, state = ?11, verification = ?12,
    made_in_tenant = ?8, made_by_request = ?9, made_by_scope = ?10, version = version + 1, updated_at = ?7
    WHERE id = ?1 AND version = ?2`,
  remove: `DELETE FROM push_subscription WHERE id = ?`,
  disable: `UPDATE push_subscription SET state = 'disabled', version = version + 1, updated_at = ?3
    WHERE id = ?1 AND version = ?2 AND state = 'active'`,
  verify: `UPDATE push_subscription SET verification = ?3, state = iif(?3 = 'done', 'active', 'disabled'),
    version = version + 1, updated_at = ?4 WHERE id = ?1 AND version = ?2 AND verification = 'pending'`,
  removeOfTopic: `DELETE FROM push_subscription WHERE incarnation = ?`,
  removeOfClient: `DELETE FROM push_subscription WHERE client = ?`,
  activeAfter: `${SELECT} WHERE id > ?2 AND (state = 'active' OR verification = 'pending') ORDER BY id LIMIT ?3`,
  // In any order, or some that do not open would keep the others from it for ever.
  sealedOtherwise: `${SELECT} WHERE rowid IN (
      SELECT rowid FROM push_subscription WHERE seal_key < ?2 OR seal_key > ?2 ORDER BY random() LIMIT ?3)`,
  nextSealKey: `SELECT min(seal_key) AS key FROM push_subscription WHERE seal_key > ?1`,
  countSealed: `SELECT count(*) AS n FROM (SELECT 1 FROM push_subscription WHERE seal_key = ?1 LIMIT ?2)`,
  reseal: `UPDATE push_subscription SET credentials = ?3, seal_key = ?4 WHERE id = ?1 AND credentials = ?2`,
} as const;

/** More than anybody rotates through at once. */
const MOST_SEAL_KEYS = 20;

/** Conditions of the operator's list; ?2 to ?4 are the id that it goes on from and the range. */
const FILTERS = {
  client: (at: number) => `client = ?${at}`,
  topic: (at: number) => `topic = ?${at}`,
  maker: () => `made_by_request IS NULL`,
} as const satisfies Record<keyof PushFilter, (at: number) => string>;

export function createPushStore(db: D1Database, audit: AuditTrail, names: Names): PushStore {
  const topicScope = names.scope("pubsub.topic=");
  const many = async (sql: string, ...values: unknown[]): Promise<PushRecord[]> => {
    const { results } = await db
      .prepare(sql)
      .bind(topicScope, ...values)
      .all<PushRow>();
    return results.map((row) => toRecord(row, topicScope));
  };
  const one = async (sql: string, ...values: unknown[]): Promise<PushRecord | undefined> =>
    (await many(sql, ...values))[0];
  /** Runs a change with its rows; gives whether it changed anything. */
  const change = async (statement: D1PreparedStatement, audits: readonly AuditRecord[]): Promise<boolean> => {
    const [changed] = await db.batch([statement, ...rowsIfChanged(audits)]);
    return changed!.meta.changes > 0;
  };
  /** Each row is written only if the one before it was, and so the first only if there was a change. */
  const rowsIfChanged = (audits: readonly AuditRecord[]) => audits.map((row) => audit.statement("if changed", row));
  const placeOf = ({ id, topic, incarnation, client, name }: PushRecord, { ofClient, ofTopic }: PushLimits) =>
    [id, topic, incarnation, client, name, ofClient, ofTopic] as const;
  const standing = (record: PushRecord, limits: PushLimits) =>
    db.prepare(PUSH_SQL.standing).bind(...placeOf(record, limits));
  return {
    find: ({ incarnation, client, name }) => one(PUSH_SQL.find, incarnation, client, name),
    findById: (id) => one(PUSH_SQL.findById, id),
    list: ({ incarnation, client }) => many(PUSH_SQL.list, incarnation, client),
    async listOfTopic(incarnation, paging) {
      const after = textsOf(paging, 2);
      if (after === undefined) return undefined;
      const read = (from: readonly string[], { limit, skip }: RowRange) =>
        many(PUSH_SQL.listOfTopic, incarnation, ...from, limit, skip);
      return pageOf(paging, after, read, ({ client, name }) => [client, name]);
    },
    async listAll(filter, paging) {
      const after = textsOf(paging, 1);
      if (after === undefined) return undefined;
      const given = (["client", "topic", "maker"] as const).filter((name) => filter[name] !== undefined);
      const conditions = given.map((name, index) => FILTERS[name](index + 5));
      const sql = `${SELECT} WHERE ${["id > ?2", ...conditions].join(" AND ")} ORDER BY id LIMIT ?3 OFFSET ?4`;
      const values = given.filter((name) => name !== "maker").map((name) => filter[name]);
      const read = (from: readonly string[], { limit, skip }: RowRange) => many(sql, ...from, limit, skip, ...values);
      return pageOf(paging, after, read, ({ id }) => [id]);
    },
    some: (of, limit) =>
      "client" in of ? many(PUSH_SQL.ofClient, of.client, limit) : many(PUSH_SQL.ofTopic, of.incarnation, limit),
    async standing(record, limits) {
      return (await standing(record, limits).first<Admission>("standing"))!;
    },
    async insert(record, limits, row) {
      const {
        asOwner,
        made,
        endpoint,
        username,
        credentials,
        sealKey,
        state,
        verification,
        version,
        createdAtMs,
        updatedAtMs,
      } = record;
      const insert = db
        .prepare(PUSH_SQL.insert)
        .bind(
          ...placeOf(record, limits),
          Number(asOwner),
          ...makingOf(made),
          endpoint,
          username,
          credentials,
          sealKey,
          storedState(state),
          verification ?? null,
          version,
          createdAtMs,
          updatedAtMs,
        );
      const asked = [insert, ...rowsIfChanged([row]), standing(record, limits)];
      const results = await db.batch<{ standing: Admission }>(asked);
      return results.at(-1)!.results[0]!.standing as Exclude<Admission, "free">;
    },
    update(id, version, { endpoint, username, credentials, sealKey, made, verification }, nowMs, row) {
      const state = storedState(stateBy(verification));
      const update = db
        .prepare(PUSH_SQL.update)
        .bind(
          id,
          version,
          endpoint,
          username,
          credentials,
          sealKey,
          nowMs,
          ...makingOf(made),
          state,
          verification ?? null,
        );
      return change(update, row === undefined ? [] : [row]);
    },
    remove: (id, row) => change(db.prepare(PUSH_SQL.remove).bind(id), [row]),
    async disable(id, version, nowMs, row) {
      await change(db.prepare(PUSH_SQL.disable).bind(id, version, nowMs), [row]);
    },
    async verify(id, version, to, nowMs, row) {
      await change(db.prepare(PUSH_SQL.verify).bind(id, version, to, nowMs), [row]);
    },
    async removeOfTopic(incarnation, rows) {
      await change(db.prepare(PUSH_SQL.removeOfTopic).bind(incarnation), rows);
    },
    removeOfClientStatements: (client, rows) => [
      db.prepare(PUSH_SQL.removeOfClient).bind(client),
      ...rowsIfChanged(rows),
    ],
    activeAfter: (id, limit) => many(PUSH_SQL.activeAfter, id, limit),
    sealedOtherwise: (sealKey, limit) => many(PUSH_SQL.sealedOtherwise, sealKey, limit),
    async countSealed(most) {
      const counts = new Map<string, number>();
      for (let key: string | null = ""; counts.size < MOST_SEAL_KEYS;) {
        key = await db.prepare(PUSH_SQL.nextSealKey).bind(key).first<string>("key");
        if (key === null) break;
        counts.set(key, (await db.prepare(PUSH_SQL.countSealed).bind(key, most).first<number>("n")) ?? 0);
      }
      return counts;
    },
    async reseal({ id, credentials: before }, credentials, sealKey) {
      await db.prepare(PUSH_SQL.reseal).bind(id, before, credentials, sealKey).run();
    },
  };
}

const makingOf = (made: PushRecord["made"]) => [made?.tenant ?? null, made?.requestId ?? null, made?.scope ?? null];

/** What a list goes on from: as many texts, empty at its beginning. Undefined where the cursor is another list's. */
function textsOf({ cursor }: Paging, count: number): readonly string[] | undefined {
  const parts: readonly CursorPart[] = cursor ?? Array.from({ length: count }, () => "");
  const texts = parts.filter((part) => typeof part === "string");
  return texts.length === count && parts.length === count ? texts : undefined;
}

async function pageOf(
  paging: Paging,
  after: readonly string[],
  read: (after: readonly string[], range: RowRange) => Promise<readonly PushRecord[]>,
  keyOf: (record: PushRecord) => readonly string[],
): Promise<Page<PushRecord>> {
  const rows = await read(after, { limit: paging.pageSize + 1, skip: paging.skip });
  const beginning = after.map(() => "");
  return checkPreviousPage(toPage(rows, paging, keyOf), paging, (range) => read(beginning, range));
}
