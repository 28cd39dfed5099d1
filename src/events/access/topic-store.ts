import { pageOf, type RowRange, type Page, type Paging } from "../../http/input/paging.ts";
import type { Random } from "../../platform/runtime/random.ts";
import { TOPIC } from "../model/limits.ts";
import { incarnationOf } from "../model/place.ts";
import { nameOf, type Topic, type TopicId } from "../model/topic.ts";

/** Names from `from` up to, not including, `to`. */
export type NameRange = readonly [from: string, to: string];

const COLUMNS = "owner, event_type, description, shards, incarnation, state, created_at";
const SELECTED = "owner, event_type AS eventType, description, shards, incarnation, state, created_at AS createdAtMs";

// CROSS JOIN fixes the order: each range is one search in the primary key.
const inRanges = (condition = ""): string => `SELECT ${SELECTED} FROM json_each(?1) AS range CROSS JOIN topic
    WHERE name >= range.value ->> 0 AND name < range.value ->> 1 ${condition}
    ORDER BY name LIMIT ?2 OFFSET ?3`;
/** A client's name may begin with the id of a tenant elsewhere: the platform's operators choose names freely. */
const NOT_FOREIGN = `AND NOT EXISTS (SELECT 1 FROM client JOIN tenant ON tenant.id = client.tenant
      WHERE client.name = topic.owner AND tenant.organization <> ?4)`;

/** SQL: the client has all the topics that it may have. */
const IS_FULL = `EXISTS (SELECT 1 FROM topic WHERE name >= ?1 || '.' AND name < ?1 || '/' AND owner = ?1
    LIMIT 1 OFFSET ${TOPIC.mostOfClient - 1})`;

export const TOPIC_SQL = {
  find: `SELECT ${SELECTED} FROM topic WHERE name = ?`,
  isFull: `SELECT ${IS_FULL} AS isFull`,
  insert: `INSERT INTO topic (name, ${COLUMNS})
    SELECT ?1 || '.' || ?2, ?1, ?2, ?3, ?4, ?5, ?6, ?7 WHERE NOT ${IS_FULL} ON CONFLICT (name) DO NOTHING`,
  list: inRanges(),
  listOwn: inRanges(NOT_FOREIGN),
  behind: `SELECT ${SELECTED} FROM topic WHERE name > ?1 ORDER BY name LIMIT ?2`,
  from: `SELECT ${SELECTED} FROM topic WHERE name >= ?1 ORDER BY name LIMIT ?2`,
  markDeleting: `UPDATE topic SET state = 'deleting' WHERE name = ? AND state = 'active'`,
  // Random order, so that topics that cannot be cleared do not block the others.
  listDeleting: `SELECT ${SELECTED} FROM topic WHERE state = 'deleting' ORDER BY random() LIMIT ?`,
  // "/" follows "." in ASCII, so this finds every name that starts with the owner and a dot.
  ownedBy: `SELECT 'topic' AS kind, name AS id FROM topic WHERE name >= ?1 || '.' AND name < ?1 || '/' LIMIT ?2`,
  remove: `DELETE FROM topic WHERE name = ? AND incarnation = ? AND state = 'deleting'`,
} as const;

export type TopicStore = ReturnType<typeof createTopicStore>;

/** The topics in D1. `databases`: number of databases that hold push records. */
export function createTopicStore(db: D1Database, databases = 1) {
  const find = (id: TopicId) => db.prepare(TOPIC_SQL.find).bind(nameOf(id));
  return {
    /** Makes the incarnation of a new topic of this name. */
    newIncarnation: (id: TopicId, random: Random): string => incarnationOf(nameOf(id), databases, random),

    find: async (id: TopicId): Promise<Topic | undefined> => (await find(id).first<Topic>()) ?? undefined,

    /** The topic of this name, and whether its client may have another one. One round trip. */
    async findWithRoom(id: TopicId): Promise<{ readonly topic: Topic | undefined; readonly hasRoom: boolean }> {
      const results = await db.batch([find(id), db.prepare(TOPIC_SQL.isFull).bind(id.owner)]);
      const [topic, full] = results.map(({ results: [row] }) => row);
      return { topic: topic as Topic | undefined, hasRoom: (full as { isFull: number }).isFull === 0 };
    },

    /**
     * Creates the topic unless its name is taken. Returns the topic that then has the name; undefined: its client has
     * all the topics that it may have.
     */
    async insert(topic: Topic): Promise<Topic | undefined> {
      const { owner, eventType, description, shards, incarnation, state, createdAtMs } = topic;
      const insert = db
        .prepare(TOPIC_SQL.insert)
        .bind(owner, eventType, description, shards, incarnation, state, createdAtMs);
      const results = await db.batch<Topic>([insert, find(topic)]);
      return results[1]!.results[0];
    },

    /**
     * Lists the topics whose names lie in one of the ranges, by name. With an organization, it leaves out those of
     * clients elsewhere.
     */
    async list(ranges: readonly NameRange[], paging: Paging, organization?: string): Promise<Page<Topic>> {
      const [sql, own] = organization === undefined ? [TOPIC_SQL.list, []] : [TOPIC_SQL.listOwn, [organization]];
      const read = async (after: string, { limit, skip }: RowRange): Promise<readonly Topic[]> => {
        const listed = db.prepare(sql).bind(JSON.stringify(disjoint(ranges, after)), limit, skip, ...own);
        return (await listed.all<Topic>()).results;
      };
      const after = paging.cursor === undefined ? "" : namesAfter(String(paging.cursor[0]));
      return pageOf(paging, { after, beginning: "", read, keyOf: (topic) => [nameOf(topic)] });
    },

    /** Topics of all owners by name, starting at a name (`from`) or after it (`behind`). */
    after: async (name: string, limit: number, where: "from" | "behind"): Promise<readonly Topic[]> =>
      (await db.prepare(TOPIC_SQL[where]).bind(name, limit).all<Topic>()).results,

    /** Marks the topic as being deleted and returns it. */
    async markDeleting(id: TopicId): Promise<Topic | undefined> {
      const results = await db.batch<Topic>([db.prepare(TOPIC_SQL.markDeleting).bind(nameOf(id)), find(id)]);
      return results[1]!.results[0];
    },

    /** Some topics that are being deleted. */
    listDeleting: async (limit: number): Promise<readonly Topic[]> =>
      (await db.prepare(TOPIC_SQL.listDeleting).bind(limit).all<Topic>()).results,

    /** Some topics of an owner, as rows `{kind, id}`. */
    ownedBy: (owner: string, limit: number): D1PreparedStatement => db.prepare(TOPIC_SQL.ownedBy).bind(owner, limit),

    /** Removes the row of a topic that is being deleted. */
    async remove(topic: Topic): Promise<void> {
      await db.prepare(TOPIC_SQL.remove).bind(nameOf(topic), topic.incarnation).run();
    },
  };
}

/** The range of a prefix and of one name: "~" sorts after every character of names, " " before every one. */
export const namesFrom = (prefix: string): NameRange => [prefix, `${prefix}~`];
export const nameExactly = (name: string): NameRange => [name, namesAfter(name)];
const namesAfter = (name: string): string => `${name} `;

/** Merges overlapping ranges, so that no topic is listed twice, and cuts off names before `start`. */
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
