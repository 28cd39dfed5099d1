import type { RowRange } from "../../../http/input/paging.ts";
import type { AuditRecord, AuditTrail } from "../../../platform/ports/audit.ts";
import {
  COLUMNS,
  SELECT,
  SELECT_IN_SHARD,
  stateBy,
  storedState,
  toRecord,
  withRight,
  type ClientRight,
  type PlacedRecord,
  type PushKey,
  type PushRecord,
  type PushRow,
  type Trouble,
} from "./record.ts";

/** Fields that an update may change. `made` is set if it was unknown. */
export type PushChange = Pick<
  PushRecord,
  "endpoint" | "username" | "credentials" | "sealKey" | "made" | "verification"
>;

/** Maximum numbers of subscriptions. */
export interface PushLimits {
  readonly ofClient: number;
  readonly ofTopic: number;
}

/** The operator's filter. */
export interface PushFilter {
  readonly client?: string | undefined;
  /** `<owner>.<eventType>` */
  readonly topic?: string | undefined;
  readonly maker?: "unknown" | undefined;
}

/** `free`: a record may be inserted. `inserted`: this record exists already. Others: why it may not be inserted. */
export type Admission = "free" | "inserted" | "no_topic" | "no_client" | "exists" | "too_many";

/**
 * Admission of a record: ?1 to ?5 are its id, topic, incarnation, client and name, ?6 and ?7 the limits. No record may
 * outlive its client, or a new client with the same id would own it and its endpoint. Shards other than the directory
 * have neither topics nor clients (push-store.ts).
 */
const admissionOf = (ofDirectory: string): string => `CASE
  WHEN EXISTS (SELECT 1 FROM push_subscription WHERE id = ?1) THEN 'inserted' ${ofDirectory}
  WHEN EXISTS (SELECT 1 FROM push_subscription WHERE incarnation = ?3 AND client = ?4 AND name = ?5) THEN 'exists'
  WHEN (SELECT count(*) FROM push_subscription WHERE incarnation = ?3 AND client = ?4) >= ?6
    OR (SELECT count(*) FROM push_subscription WHERE incarnation = ?3) >= ?7 THEN 'too_many'
  ELSE 'free' END`;
const IN_DIRECTORY = `
  WHEN NOT EXISTS (SELECT 1 FROM topic WHERE name = ?2 AND incarnation = ?3 AND state = 'active') THEN 'no_topic'
  WHEN NOT EXISTS (SELECT 1 FROM client WHERE id = ?4) THEN 'no_client'`;

/** In each statement that reads records, `?1` is the prefix of topic scopes (record.ts). */
const sqlOf = (select: string, admission: string) => ({
  find: `${select} WHERE incarnation = ?2 AND client = ?3 AND name = ?4`,
  findById: `${select} WHERE id = ?2`,
  list: `${select} WHERE incarnation = ?2 AND client = ?3 ORDER BY name`,
  listOfTopic: `${select} WHERE incarnation = ?2 AND (client, name) > (?3, ?4) ORDER BY client, name LIMIT ?5 OFFSET ?6`,
  ofTopic: `${select} WHERE incarnation = ?2 LIMIT ?3`,
  ofClient: `${select} WHERE client = ?2 LIMIT ?3`,
  admission: `SELECT ${admission} AS admission`,
  insert: `INSERT INTO push_subscription (${COLUMNS})
    SELECT ?1, ?2, ?3, ?4, ?5, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20 WHERE ${admission} = 'free'`,
  update: `UPDATE push_subscription SET endpoint = ?3, username = ?4, credentials = ?5, seal_key = ?6, state = ?11, verification = ?12,
    made_in_tenant = ?8, made_by_request = ?9, made_by_scope = ?10, version = version + 1, updated_at = ?7
    WHERE id = ?1 AND version = ?2`,
  renew: `UPDATE push_subscription SET credentials = ?3, seal_key = ?4, version = version + 1, updated_at = ?5
    WHERE id = ?1 AND version = ?2`,
  remove: `DELETE FROM push_subscription WHERE id = ?`,
  disable: `UPDATE push_subscription SET state = 'disabled', version = version + 1, updated_at = ?3
    WHERE id = ?1 AND version = ?2 AND state = 'active'`,
  verify: `UPDATE push_subscription SET verification = ?3, state = iif(?3 = 'done', 'active', 'disabled'),
    version = version + 1, updated_at = ?4 WHERE id = ?1 AND version = ?2 AND verification = 'pending'`,
  removeOfTopic: `DELETE FROM push_subscription WHERE incarnation = ?`,
  removeOfClient: `DELETE FROM push_subscription WHERE client = ?`,
  report: `UPDATE push_subscription SET trouble = ?2 WHERE id = ?1 AND trouble IS NOT ?2`,
  inTrouble: [
    `push_subscription_in_trouble WHERE trouble = 'deliveries' AND state = 'active'`,
    `push_subscription_in_trouble WHERE trouble = 'right' AND state = 'active'`,
    `push_subscription_disabled WHERE state = 'disabled' AND verification IS NOT 'pending'`,
  ]
    .map((rows) => `SELECT * FROM (${select} INDEXED BY ${rows} ORDER BY id LIMIT ?2)`)
    .join(" UNION ALL "),
  activeAfter: `${select} WHERE id > ?2 AND (state = 'active' OR verification = 'pending') ORDER BY id LIMIT ?3`,
  // Random order, so that records that do not open do not block the others.
  sealedOtherwise: `${select} WHERE rowid IN (
      SELECT rowid FROM push_subscription WHERE seal_key < ?2 OR seal_key > ?2 ORDER BY random() LIMIT ?3)`,
  nextSealKey: `SELECT min(seal_key) AS key FROM push_subscription WHERE seal_key > ?1`,
  count: `SELECT count(*) AS n FROM push_subscription`,
  countSealed: `SELECT count(*) AS n FROM (SELECT 1 FROM push_subscription WHERE seal_key = ?1 LIMIT ?2)`,
  reseal: `UPDATE push_subscription SET credentials = ?3, seal_key = ?4 WHERE id = ?1 AND credentials = ?2`,
});
export const PUSH_SQL = sqlOf(SELECT, admissionOf(IN_DIRECTORY));
const SQL_IN_SHARD = sqlOf(SELECT_IN_SHARD, admissionOf(""));
/** Statements about records that may be void (push-store.ts). */
const LEFT_OVER_SQL = {
  removeEarlier: `DELETE FROM push_subscription WHERE client = ?1 AND created_at < ?2`,
  makeYounger: `UPDATE push_subscription SET created_at = ?2 WHERE id = ?1 AND created_at < ?2`,
  part: `SELECT id, topic, incarnation, client, created_at AS createdAtMs FROM push_subscription
    WHERE id > ?1 AND id < ?2 ORDER BY id LIMIT ?3`,
} as const;

/** Maximum number of keys that are counted; far more than are in use at once. */
const MOST_SEAL_KEYS = 20;

/** Conditions of the operator's list; ?2 is the last id of the previous page. */
const FILTERS = {
  client: (at: number) => `client = ?${at}`,
  topic: (at: number) => `topic = ?${at}`,
  maker: () => `made_by_request IS NULL`,
} as const satisfies Record<keyof PushFilter, (at: number) => string>;

/** `from`: the number of the first parameter. */
function conditionsOf(
  filter: PushFilter,
  from: number,
): { readonly where: string; readonly values: readonly unknown[] } {
  const given = (["client", "topic", "maker"] as const).filter((name) => filter[name] !== undefined);
  const conditions = given.map((name, index) => FILTERS[name](index + from));
  const values = given.filter((name) => name !== "maker").map((name) => filter[name]);
  return { where: ["id > ?2", ...conditions].join(" AND "), values };
}

export type RecordStore = ReturnType<typeof createRecordStore>;

/**
 * The records of push subscriptions in one database. A row of the audit log is written if and only if its change is.
 * The directory returns records with their rights, another shard without (push-store.ts).
 */
export function createRecordStore(
  db: D1Database,
  audit: Pick<AuditTrail, "statement">,
  topicScope: string,
  isDirectory: boolean,
) {
  const sql = isDirectory ? PUSH_SQL : SQL_IN_SHARD;
  const rightOf = ({ clientRight }: PushRow): ClientRight | null =>
    clientRight === null ? null : (JSON.parse(clientRight) as ClientRight);
  const many = async (text: string, ...values: unknown[]): Promise<PushRecord[]> => {
    const { results } = await db
      .prepare(text)
      .bind(topicScope, ...values)
      .all<PushRow>();
    return results.map((row) => (isDirectory ? withRight(toRecord(row), rightOf(row), topicScope) : toRecord(row)));
  };
  const one = async (text: string, ...values: unknown[]): Promise<PushRecord | undefined> =>
    (await many(text, ...values))[0];
  /** Runs a change with its audit rows. True if it changed anything. */
  const change = async (statement: D1PreparedStatement, audits: readonly AuditRecord[]): Promise<boolean> => {
    const [changed] = await db.batch([statement, ...rowsIfChanged(audits)]);
    return changed!.meta.changes > 0;
  };
  /** Writes each row only if the statement before it changed something, so the first only if there was a change. */
  const rowsIfChanged = (audits: readonly AuditRecord[]) => audits.map((row) => audit.statement("if changed", row));
  const keyAndLimits = ({ id, topic, incarnation, client, name }: PushRecord, { ofClient, ofTopic }: PushLimits) =>
    [id, topic, incarnation, client, name, ofClient, ofTopic] as const;
  const admission = (record: PushRecord, limits: PushLimits) =>
    db.prepare(sql.admission).bind(...keyAndLimits(record, limits));
  return {
    find: ({ incarnation, client, name }: PushKey): Promise<PushRecord | undefined> =>
      one(sql.find, incarnation, client, name),

    findById: (id: string): Promise<PushRecord | undefined> => one(sql.findById, id),

    /** All records of a client on a topic, by name. `insert` bounds their number. */
    list: ({ incarnation, client }: Omit<PushKey, "name">): Promise<readonly PushRecord[]> =>
      many(sql.list, incarnation, client),

    /** Some records on a topic, by client and name, after one of them. */
    ofTopicAfter: (
      incarnation: string,
      [client = "", name = ""]: readonly string[],
      { limit, skip }: RowRange,
    ): Promise<readonly PushRecord[]> => many(sql.listOfTopic, incarnation, client, name, limit, skip),

    /** Records that match the filter, by id, after an id. */
    matchingAfter(filter: PushFilter, after: string, { limit, skip }: RowRange): Promise<readonly PushRecord[]> {
      const { where, values } = conditionsOf(filter, 5);
      const text = `${isDirectory ? SELECT : SELECT_IN_SHARD} WHERE ${where} ORDER BY id LIMIT ?3 OFFSET ?4`;
      return many(text, after, limit, skip, ...values);
    },

    /** Statement that counts all records of this database as `n`. */
    count: (): D1PreparedStatement => db.prepare(sql.count),

    /** Number of records after an id that match the filter, up to `most`. */
    async countAfter(filter: PushFilter, after: string, most: number): Promise<number> {
      const { where, values } = conditionsOf(filter, 4);
      const text = `SELECT count(*) AS n FROM (SELECT 1 FROM push_subscription WHERE ${where} LIMIT ?3)`;
      const counting = db.prepare(text).bind(null, after, most, ...values);
      return (await counting.first<number>("n")) ?? 0;
    },

    /** Some records of a topic or of a client. */
    some: (
      of: { readonly incarnation: string } | { readonly client: string },
      limit: number,
    ): Promise<readonly PushRecord[]> =>
      "client" in of ? many(sql.ofClient, of.client, limit) : many(sql.ofTopic, of.incarnation, limit),

    /** Checks whether a record could be inserted now. */
    admission: async (record: PushRecord, limits: PushLimits): Promise<Admission> =>
      (await admission(record, limits).first<Admission>("admission"))!,

    /**
     * Inserts a record if its admission is `free`. Returns the admission afterwards. A repeat after a lost answer
     * returns the same.
     */
    async insert(record: PushRecord, limits: PushLimits, row: AuditRecord): Promise<Exclude<Admission, "free">> {
      const insert = db
        .prepare(sql.insert)
        .bind(
          ...keyAndLimits(record, limits),
          Number(record.asOwner),
          ...makingColumns(record.made),
          record.endpoint,
          record.username,
          record.credentials,
          record.sealKey,
          storedState(record.state),
          record.verification ?? null,
          record.version,
          record.createdAtMs,
          record.updatedAtMs,
        );
      const asked = [insert, ...rowsIfChanged([row]), admission(record, limits)];
      const results = await db.batch<{ admission: Admission }>(asked);
      return results.at(-1)!.results[0]!.admission as Exclude<Admission, "free">;
    },

    /** Changes and enables a subscription if it still has this version. Writes no audit row if nothing differs. */
    update(id: string, version: number, to: PushChange, nowMs: number, row?: AuditRecord): Promise<boolean> {
      const { endpoint, username, credentials, sealKey, made, verification } = to;
      const state = storedState(stateBy(verification));
      const update = db
        .prepare(sql.update)
        .bind(
          id,
          version,
          endpoint,
          username,
          credentials,
          sealKey,
          nowMs,
          ...makingColumns(made),
          state,
          verification ?? null,
        );
      return change(update, row === undefined ? [] : [row]);
    },

    /** Stores other credentials if the record still has this version. Enables nothing. */
    renew: (
      { id, version }: PushRecord,
      { credentials, sealKey }: Pick<PushRecord, "credentials" | "sealKey">,
      nowMs: number,
      row: AuditRecord,
    ): Promise<boolean> => change(db.prepare(sql.renew).bind(id, version, credentials, sealKey, nowMs), [row]),

    /** Removes a record. True if it existed. */
    remove: (id: string, row: AuditRecord): Promise<boolean> => change(db.prepare(sql.remove).bind(id), [row]),

    /** Disables a record if it still has this version, so that a change by the client wins. */
    async disable(id: string, version: number, nowMs: number, row: AuditRecord): Promise<void> {
      await change(db.prepare(sql.disable).bind(id, version, nowMs), [row]);
    },

    /** Stores the endpoint's answer to the handshake if the record still has this version and waits for it. */
    async verify(id: string, version: number, to: "done" | "failed", nowMs: number, row: AuditRecord): Promise<void> {
      await change(db.prepare(sql.verify).bind(id, version, to, nowMs), [row]);
    },

    /** Stores what the object says of its deliveries. */
    async report(id: string, trouble: Trouble | undefined): Promise<void> {
      await db
        .prepare(sql.report)
        .bind(id, trouble ?? null)
        .run();
    },

    /** Records in trouble, at most `limit` of each kind: with failing deliveries, without a right, disabled. */
    inTrouble: (limit: number): Promise<readonly PushRecord[]> => many(sql.inTrouble, limit),

    /** Removes all records of a topic. `rows` are the audit rows of those that the caller has read. */
    async removeOfTopic(incarnation: string, rows: readonly AuditRecord[]): Promise<void> {
      await change(db.prepare(sql.removeOfTopic).bind(incarnation), rows);
    },

    /** Removes the records of a client that are not younger than `untilMs`. */
    async removeOfClient(client: string, untilMs: number, rows: readonly AuditRecord[]): Promise<void> {
      await change(db.prepare(LEFT_OVER_SQL.removeEarlier).bind(client, untilMs + 1), rows);
    },

    /** Removes the records of an earlier client with the same id, made before this time. True if there were any. */
    removeEarlier: (client: string, beforeMs: number): Promise<boolean> =>
      change(db.prepare(LEFT_OVER_SQL.removeEarlier).bind(client, beforeMs), []),

    /** Raises the creation time of a record to that of its client, which another machine's clock gave. */
    async makeYounger(id: string, createdAtMs: number): Promise<void> {
      await db.prepare(LEFT_OVER_SQL.makeYounger).bind(id, createdAtMs).run();
    },

    /** Some records between two ids, by id. */
    part: async (after: string, to: string, limit: number): Promise<readonly PlacedRecord[]> =>
      (await db.prepare(LEFT_OVER_SQL.part).bind(after, to, limit).all<PlacedRecord>()).results,

    /** Statements that remove a client's records, for the transaction that removes the client. */
    removeOfClientStatements: (client: string, rows: readonly AuditRecord[]): readonly D1PreparedStatement[] => [
      db.prepare(sql.removeOfClient).bind(client),
      ...rowsIfChanged(rows),
    ],

    /** Some records that are active or unverified, by id, after an id. */
    activeAfter: (id: string, limit: number): Promise<readonly PushRecord[]> => many(sql.activeAfter, id, limit),

    /** Some records whose credentials are sealed under another key. */
    sealedOtherwise: (sealKey: string, limit: number): Promise<readonly PushRecord[]> =>
      many(sql.sealedOtherwise, sealKey, limit),

    /** Counts the records under each key, up to `most` of each. */
    async countSealed(most: number): Promise<ReadonlyMap<string, number>> {
      const counts = new Map<string, number>();
      for (let key: string | null = ""; counts.size < MOST_SEAL_KEYS;) {
        key = await db.prepare(sql.nextSealKey).bind(key).first<string>("key");
        if (key === null) break;
        counts.set(key, (await db.prepare(sql.countSealed).bind(key, most).first<number>("n")) ?? 0);
      }
      return counts;
    },

    /** Stores the same credentials sealed under another key, unless they changed meanwhile. */
    async reseal({ id, credentials: before }: PushRecord, credentials: string, sealKey: string): Promise<void> {
      await db.prepare(sql.reseal).bind(id, before, credentials, sealKey).run();
    },
  };
}

const makingColumns = (made: PushRecord["made"]) => [
  made?.tenant ?? null,
  made?.requestId ?? null,
  made?.scope ?? null,
];
