import type { TopicAddress } from "../topic.ts";

/** A push subscription as D1 keeps it: what was asked for. How far it is, its object knows (push-subscription.do.ts). */
export interface PushRecord extends PushKey {
  /** Random; names the object, and a subscription that is made again has another one. */
  readonly id: string;
  /** `<owner>.<eventType>` */
  readonly topic: string;
  /** Whether the client owns the topic, and so needs no scope for it. */
  readonly asOwner: boolean;
  readonly endpoint: string;
  readonly username: string;
  /** See push-credentials.ts. */
  readonly credentials: string;
  /** The id of the key that `credentials` is sealed under. */
  readonly sealKey: string;
  readonly state: RecordState;
  /** Grows with every change by a client, and when it is disabled. */
  readonly version: number;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

/** `disabled`: the endpoint said 410. An update enables it again. */
export type RecordState = "active" | "disabled";

/** What a client knows a subscription by. */
export interface PushKey {
  readonly incarnation: string;
  readonly client: string;
  readonly name: string;
}

/** What an update may change (specification, "Endpoints"). */
export type PushChange = Pick<PushRecord, "endpoint" | "username" | "credentials" | "sealKey">;

/** How many there may be. */
export interface PushLimits {
  readonly ofClient: number;
  readonly ofTopic: number;
}

/** How a new record stands: `free` may be inserted, `inserted` is there, anything else is in its way. */
export type Admission = "free" | "inserted" | "no_topic" | "no_client" | "exists" | "too_many";

/** D1: which push subscriptions there are. */
export interface PushStore {
  find(key: PushKey): Promise<PushRecord | undefined>;
  findById(id: string): Promise<PushRecord | undefined>;
  /** All of a client's on a topic, by name; there are at most as many as `insert` lets in. */
  list(of: Omit<PushKey, "name">): Promise<readonly PushRecord[]>;
  /** Whether a record could be inserted now. */
  standing(record: PushRecord, limits: PushLimits): Promise<Admission>;
  /**
   * Inserts while the topic is active, the client is there and has nothing of that name on it, and neither holds too many.
   * Gives how the record stands afterwards: a repeat after a lost answer says the same.
   */
  insert(record: PushRecord, limits: PushLimits): Promise<Exclude<Admission, "free">>;
  /** Changes a subscription and enables it, if it is still at that version. */
  update(id: string, version: number, change: PushChange, nowMs: number): Promise<boolean>;
  /** Gives whether it was there. */
  remove(id: string): Promise<boolean>;
  /** If it is still at that version: one that was changed meanwhile stays as it was asked for. */
  disable(id: string, version: number, nowMs: number): Promise<void>;
  removeOfTopic(topic: TopicAddress): Promise<void>;
  /** Removes all of a client's, with the client. */
  removeOfClientStatement(client: string): D1PreparedStatement;
  /** Some that are active, by id, after an id. */
  activeAfter(id: string, limit: number): Promise<readonly PushRecord[]>;
  /** Some that are sealed under another key than this one. */
  sealedOtherwise(sealKey: string, limit: number): Promise<readonly PushRecord[]>;
  /** Puts the same credentials under another key, unless they were changed meanwhile. */
  reseal(record: PushRecord, credentials: string, sealKey: string): Promise<void>;
}

const COLUMNS = `id, topic, incarnation, client, name, as_owner, endpoint, username, credentials, seal_key, state, version,
  created_at, updated_at`;

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

export const PUSH_SQL = {
  find: `SELECT ${COLUMNS} FROM push_subscription WHERE incarnation = ? AND client = ? AND name = ?`,
  findById: `SELECT ${COLUMNS} FROM push_subscription WHERE id = ?`,
  list: `SELECT ${COLUMNS} FROM push_subscription WHERE incarnation = ? AND client = ? ORDER BY name`,
  standing: `SELECT ${STANDING} AS standing`,
  insert: `INSERT INTO push_subscription (${COLUMNS})
    SELECT ?1, ?2, ?3, ?4, ?5, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16 WHERE ${STANDING} = 'free'`,
  update: `UPDATE push_subscription SET endpoint = ?3, username = ?4, credentials = ?5, seal_key = ?6, state = 'active',
    version = version + 1, updated_at = ?7 WHERE id = ?1 AND version = ?2`,
  remove: `DELETE FROM push_subscription WHERE id = ?`,
  disable: `UPDATE push_subscription SET state = 'disabled', version = version + 1, updated_at = ?3
    WHERE id = ?1 AND version = ?2 AND state = 'active'`,
  removeOfTopic: `DELETE FROM push_subscription WHERE incarnation = ?`,
  removeOfClient: `DELETE FROM push_subscription WHERE client = ?`,
  activeAfter: `SELECT ${COLUMNS} FROM push_subscription WHERE id > ? AND state = 'active' ORDER BY id LIMIT ?`,
  // In any order, or some that do not open would keep the others from it for ever.
  sealedOtherwise: `SELECT ${COLUMNS} FROM push_subscription WHERE rowid IN (
      SELECT rowid FROM push_subscription WHERE seal_key < ?1 OR seal_key > ?1 ORDER BY random() LIMIT ?2)`,
  reseal: `UPDATE push_subscription SET credentials = ?3, seal_key = ?4 WHERE id = ?1 AND credentials = ?2`,
} as const;

interface PushRow {
  id: string;
  topic: string;
  incarnation: string;
  client: string;
  as_owner: number;
  name: string;
  endpoint: string;
  username: string;
  credentials: string;
  seal_key: string;
  state: RecordState;
  version: number;
  created_at: number;
  updated_at: number;
}

export function createPushStore(db: D1Database): PushStore {
  const one = async (sql: string, ...values: unknown[]): Promise<PushRecord | undefined> => {
    const row = await db
      .prepare(sql)
      .bind(...values)
      .first<PushRow>();
    return row === null ? undefined : toRecord(row);
  };
  const many = async (sql: string, ...values: unknown[]): Promise<PushRecord[]> => {
    const { results } = await db
      .prepare(sql)
      .bind(...values)
      .all<PushRow>();
    return results.map(toRecord);
  };
  const placeOf = ({ id, topic, incarnation, client, name }: PushRecord, { ofClient, ofTopic }: PushLimits) =>
    [id, topic, incarnation, client, name, ofClient, ofTopic] as const;
  const standing = (record: PushRecord, limits: PushLimits) =>
    db.prepare(PUSH_SQL.standing).bind(...placeOf(record, limits));
  return {
    find: ({ incarnation, client, name }) => one(PUSH_SQL.find, incarnation, client, name),
    findById: (id) => one(PUSH_SQL.findById, id),
    list: ({ incarnation, client }) => many(PUSH_SQL.list, incarnation, client),
    async standing(record, limits) {
      return (await standing(record, limits).first<Admission>("standing"))!;
    },
    async insert(record, limits) {
      const { asOwner, endpoint, username, credentials, sealKey, state, version, createdAtMs, updatedAtMs } = record;
      const insert = db
        .prepare(PUSH_SQL.insert)
        .bind(
          ...placeOf(record, limits),
          Number(asOwner),
          endpoint,
          username,
          credentials,
          sealKey,
          state,
          version,
          createdAtMs,
          updatedAtMs,
        );
      const results = await db.batch<{ standing: Admission }>([insert, standing(record, limits)]);
      return results[1]!.results[0]!.standing as Exclude<Admission, "free">;
    },
    async update(id, version, { endpoint, username, credentials, sealKey }, nowMs) {
      const { meta } = await db
        .prepare(PUSH_SQL.update)
        .bind(id, version, endpoint, username, credentials, sealKey, nowMs)
        .run();
      return meta.changes > 0;
    },
    async remove(id) {
      const { meta } = await db.prepare(PUSH_SQL.remove).bind(id).run();
      return meta.changes > 0;
    },
    async disable(id, version, nowMs) {
      await db.prepare(PUSH_SQL.disable).bind(id, version, nowMs).run();
    },
    async removeOfTopic({ incarnation }) {
      await db.prepare(PUSH_SQL.removeOfTopic).bind(incarnation).run();
    },
    removeOfClientStatement: (client) => db.prepare(PUSH_SQL.removeOfClient).bind(client),
    activeAfter: (id, limit) => many(PUSH_SQL.activeAfter, id, limit),
    sealedOtherwise: (sealKey, limit) => many(PUSH_SQL.sealedOtherwise, sealKey, limit),
    async reseal({ id, credentials: before }, credentials, sealKey) {
      await db.prepare(PUSH_SQL.reseal).bind(id, before, credentials, sealKey).run();
    },
  };
}

const toRecord = (row: PushRow): PushRecord => ({
  id: row.id,
  topic: row.topic,
  incarnation: row.incarnation,
  client: row.client,
  asOwner: row.as_owner === 1,
  name: row.name,
  endpoint: row.endpoint,
  username: row.username,
  credentials: row.credentials,
  sealKey: row.seal_key,
  state: row.state,
  version: row.version,
  createdAtMs: row.created_at,
  updatedAtMs: row.updated_at,
});
