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
  readonly state: PushState;
  /** Grows with every change by a client, and when it is disabled. */
  readonly version: number;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

/** `disabled`: the endpoint said 410. An update enables it again. */
export type PushState = "active" | "disabled";

/** What a client knows a subscription by. */
export interface PushKey {
  readonly incarnation: string;
  readonly client: string;
  readonly name: string;
}

/** What an update may change (specification, "Endpoints"). */
export type PushChange = Pick<PushRecord, "endpoint" | "username" | "credentials" | "sealKey">;

/** D1: which push subscriptions there are. */
export interface PushStore {
  find(key: PushKey): Promise<PushRecord | undefined>;
  findById(id: string): Promise<PushRecord | undefined>;
  /** All of a client's on a topic, by name; there are at most as many as `insert` lets in. */
  list(of: Omit<PushKey, "name">): Promise<readonly PushRecord[]>;
  /**
   * Inserts while the topic is active, has nothing of that name of the client, and neither holds too many. Gives whether
   * the row is there afterwards: a repeat after a lost answer says the same.
   */
  insert(record: PushRecord, limits: { readonly ofClient: number; readonly ofTopic: number }): Promise<boolean>;
  /** Changes a subscription and enables it, if it is still at that version. */
  update(id: string, version: number, change: PushChange, nowMs: number): Promise<boolean>;
  /** Gives the id of the one that it removed. */
  remove(key: PushKey): Promise<string | undefined>;
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

const COLUMNS = `id, topic, incarnation, client, as_owner, name, endpoint, username, credentials, seal_key, state, version,
  created_at, updated_at`;

export const PUSH_SQL = {
  find: `SELECT ${COLUMNS} FROM push_subscription WHERE incarnation = ? AND client = ? AND name = ?`,
  findById: `SELECT ${COLUMNS} FROM push_subscription WHERE id = ?`,
  list: `SELECT ${COLUMNS} FROM push_subscription WHERE incarnation = ? AND client = ? ORDER BY name`,
  insert: `INSERT INTO push_subscription (${COLUMNS})
    SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14
    WHERE EXISTS (SELECT 1 FROM topic WHERE name = ?2 AND incarnation = ?3 AND state = 'active')
      AND (SELECT count(*) FROM push_subscription WHERE incarnation = ?3 AND client = ?4) < ?15
      AND (SELECT count(*) FROM push_subscription WHERE incarnation = ?3) < ?16
    ON CONFLICT DO NOTHING`,
  isThere: `SELECT 1 AS there FROM push_subscription WHERE id = ?`,
  update: `UPDATE push_subscription SET endpoint = ?3, username = ?4, credentials = ?5, seal_key = ?6, state = 'active',
    version = version + 1, updated_at = ?7 WHERE id = ?1 AND version = ?2`,
  remove: `DELETE FROM push_subscription WHERE incarnation = ? AND client = ? AND name = ? RETURNING id`,
  disable: `UPDATE push_subscription SET state = 'disabled', version = version + 1, updated_at = ?3
    WHERE id = ?1 AND version = ?2 AND state = 'active'`,
  removeOfTopic: `DELETE FROM push_subscription WHERE incarnation = ?`,
  removeOfClient: `DELETE FROM push_subscription WHERE client = ?`,
  activeAfter: `SELECT ${COLUMNS} FROM push_subscription WHERE id > ? AND state = 'active' ORDER BY id LIMIT ?`,
  sealedOtherwise: `SELECT ${COLUMNS} FROM push_subscription WHERE seal_key < ?1 OR seal_key > ?1 LIMIT ?2`,
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
  state: PushState;
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
  return {
    find: ({ incarnation, client, name }) => one(PUSH_SQL.find, incarnation, client, name),
    findById: (id) => one(PUSH_SQL.findById, id),
    list: ({ incarnation, client }) => many(PUSH_SQL.list, incarnation, client),
    async insert(record, limits) {
      const insert = db
        .prepare(PUSH_SQL.insert)
        .bind(
          record.id,
          record.topic,
          record.incarnation,
          record.client,
          Number(record.asOwner),
          record.name,
          record.endpoint,
          record.username,
          record.credentials,
          record.sealKey,
          record.state,
          record.version,
          record.createdAtMs,
          record.updatedAtMs,
          limits.ofClient,
          limits.ofTopic,
        );
      const results = await db.batch([insert, db.prepare(PUSH_SQL.isThere).bind(record.id)]);
      return results[1]!.results.length > 0;
    },
    async update(id, version, { endpoint, username, credentials, sealKey }, nowMs) {
      const { meta } = await db
        .prepare(PUSH_SQL.update)
        .bind(id, version, endpoint, username, credentials, sealKey, nowMs)
        .run();
      return meta.changes > 0;
    },
    async remove({ incarnation, client, name }) {
      const row = await db.prepare(PUSH_SQL.remove).bind(incarnation, client, name).first<{ id: string }>();
      return row?.id;
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
