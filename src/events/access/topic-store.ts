import type { CursorPart, Page, Paging } from "../../http/paging.ts";
import { checkPreviousPage, toPage } from "../../http/paging.ts";
import { nameOf, type Topic, type TopicId, type TopicState } from "../model/topic.ts";

/** D1: which topics exist. */
export interface TopicStore {
  find(id: TopicId): Promise<Topic | undefined>;
  /** Creates the topic unless one of that name is there; gives the one that is there afterwards. */
  insert(topic: Topic): Promise<Topic>;
  /** Topics whose name lies in one of the ranges, by name. */
  list(ranges: readonly NameRange[], paging: Paging): Promise<Page<Topic>>;
  /** Marks the topic as being deleted; gives it as it is then. */
  markDeleting(id: TopicId): Promise<Topic | undefined>;
  /** Some of the topics that are being deleted, others each time: in any order. */
  listDeleting(limit: number): Promise<readonly Topic[]>;
  /** Some topics of an owner, as rows `{kind, id}`. */
  ownedBy(owner: string, limit: number): D1PreparedStatement;
  /** Removes the row of a topic that is being deleted. */
  remove(topic: Topic): Promise<void>;
}

/** Names from `from` up to, not including, `to`. */
export type NameRange = readonly [from: string, to: string];

const COLUMNS = "owner, event_type, description, shards, incarnation, state, created_at";

export const TOPIC_SQL = {
  find: `SELECT ${COLUMNS} FROM topic WHERE name = ?`,
  insert: `INSERT INTO topic (name, ${COLUMNS})
    VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (name) DO NOTHING`,
  // CROSS JOIN keeps the order: each range is one search in the primary key, whatever SQLite guesses of their number.
  list: `SELECT ${COLUMNS} FROM json_each(?1) AS range CROSS JOIN topic
    WHERE name >= range.value ->> 0 AND name < range.value ->> 1
    ORDER BY name LIMIT ?2 OFFSET ?3`,
  markDeleting: `UPDATE topic SET state = 'deleting' WHERE name = ? AND state = 'active'`,
  // Neither which come nor which come first is fixed, or some that cannot be cleared away would keep the others from it for ever.
  listDeleting: `SELECT ${COLUMNS} FROM topic WHERE state = 'deleting' ORDER BY random() LIMIT ?`,
  // "/" follows "." in ASCII: every name that starts with the owner and a dot.
  ownedBy: `SELECT 'topic' AS kind, name AS id FROM topic WHERE name >= ?1 || '.' AND name < ?1 || '/' LIMIT ?2`,
  remove: `DELETE FROM topic WHERE name = ? AND incarnation = ? AND state = 'deleting'`,
} as const;

interface TopicRow {
  owner: string;
  event_type: string;
  description: string;
  shards: number;
  incarnation: string;
  state: TopicState;
  created_at: number;
}

export function createTopicStore(db: D1Database): TopicStore {
  const find = (id: TopicId) => db.prepare(TOPIC_SQL.find).bind(nameOf(id));
  return {
    async find(id) {
      const row = await find(id).first<TopicRow>();
      return row === null ? undefined : toTopic(row);
    },
    async insert(topic) {
      const { owner, eventType, description, shards, incarnation, state, createdAtMs } = topic;
      const insert = db
        .prepare(TOPIC_SQL.insert)
        .bind(nameOf(topic), owner, eventType, description, shards, incarnation, state, createdAtMs);
      const results = await db.batch<TopicRow>([insert, find(topic)]);
      return toTopic(results[1]!.results[0]!);
    },
    async list(ranges, paging) {
      const read = async (after: string, limit: number, skip: number): Promise<readonly Topic[]> => {
        const listed = db.prepare(TOPIC_SQL.list).bind(JSON.stringify(disjoint(ranges, after)), limit, skip);
        return (await listed.all<TopicRow>()).results.map(toTopic);
      };
      const after = paging.cursor === undefined ? "" : namesAfter(String(paging.cursor[0]));
      const topics = await read(after, paging.pageSize + 1, paging.skip);
      const page = toPage(topics, paging, (topic): readonly CursorPart[] => [nameOf(topic)]);
      return checkPreviousPage(page, paging, ({ limit, skip }) => read("", limit, skip));
    },
    async markDeleting(id) {
      const results = await db.batch<TopicRow>([db.prepare(TOPIC_SQL.markDeleting).bind(nameOf(id)), find(id)]);
      const row = results[1]!.results[0];
      return row === undefined ? undefined : toTopic(row);
    },
    async listDeleting(limit) {
      const { results } = await db.prepare(TOPIC_SQL.listDeleting).bind(limit).all<TopicRow>();
      return results.map(toTopic);
    },
    ownedBy: (owner, limit) => db.prepare(TOPIC_SQL.ownedBy).bind(owner, limit),
    async remove(topic) {
      await db.prepare(TOPIC_SQL.remove).bind(nameOf(topic), topic.incarnation).run();
    },
  };
}

const toTopic = (row: TopicRow): Topic => ({
  owner: row.owner,
  eventType: row.event_type,
  description: row.description,
  shards: row.shards,
  incarnation: row.incarnation,
  state: row.state,
  createdAtMs: row.created_at,
});

/** All that begins with `prefix`, and the one of exactly this name: "~" and " " sort after and before what names are made of. */
export const namesFrom = (prefix: string): NameRange => [prefix, `${prefix}~`];
export const nameExactly = (name: string): NameRange => [name, namesAfter(name)];
const namesAfter = (name: string): string => `${name} `;

/** Ranges that overlap become one, so that no topic is listed twice; what lies before `start` is cut off. */
function disjoint(ranges: readonly NameRange[], start: string): NameRange[] {
  const merged: NameRange[] = [];
  const clipped = ranges.map(([from, to]): NameRange => [from < start ? start : from, to]);
  for (const [from, to] of clipped.toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))) {
    const last = merged.at(-1);
    if (last !== undefined && from <= last[1]) merged[merged.length - 1] = [last[0], to > last[1] ? to : last[1]];
    else merged.push([from, to]);
  }
  return merged;
}
