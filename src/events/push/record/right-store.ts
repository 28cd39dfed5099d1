import { RIGHT, type ClientRight, type PlacedRecord, type PushRecord } from "./record.ts";

/** The client, and the tenant of the creation. */
export type OfClient = Pick<PushRecord, "client" | "made">;

export interface KnownRight extends ClientRight {
  /** Older records belong to an earlier client with the same id. */
  readonly clientCreatedAtMs: number;
}

/** ?1: the prefix of topic scopes, ?2: pairs of a client and the tenant of a creation. */
const RIGHTS = `
  WITH push_subscription AS (
    SELECT value ->> 0 AS client, value ->> 1 AS made_in_tenant, NULL AS topic FROM json_each(?2))
  SELECT push_subscription.client, made_in_tenant AS tenant, ${RIGHT} AS clientRight, client.created_at AS createdAtMs
  FROM push_subscription CROSS JOIN client ON client.id = push_subscription.client`;
const COUNTS = `
  SELECT EXISTS (SELECT 1 FROM topic WHERE name = ?1 AND incarnation = ?2 AND state = 'active') AS isTopicActive, (
    SELECT created_at FROM client WHERE id = ?3) AS clientCreatedAtMs`;
/** Selects those of the records ?1 whose topic or client is gone. */
const LEFT_OVER = `
  SELECT value ->> 'id' AS id FROM json_each(?1)
  WHERE NOT EXISTS (SELECT 1 FROM topic WHERE name = value ->> 'topic' AND incarnation = value ->> 'incarnation')
    OR NOT EXISTS (SELECT 1 FROM client WHERE id = value ->> 'client' AND created_at <= value ->> 'createdAtMs')`;

export const rightKey = ({ client, made }: OfClient): string => JSON.stringify([client, made?.tenant ?? null]);

/** Queries of the directory for records that lie in other shards: their clients and topics, and the clients' rights. */
export function createRightStore(db: D1Database, topicScope: string) {
  return {
    /** The rights by `rightKey`, without clients that do not exist. */
    async rights(of: readonly OfClient[]): Promise<ReadonlyMap<string, KnownRight>> {
      const keys = [...new Set(of.map(rightKey))];
      if (keys.length === 0) return new Map();
      type Row = {
        readonly client: string;
        readonly tenant: string | null;
        readonly clientRight: string;
        readonly createdAtMs: number;
      };
      const asked = db.prepare(RIGHTS).bind(topicScope, `[${keys.join(",")}]`);
      const { results } = await asked.all<Row>();
      return new Map(
        results.map(({ client, tenant, clientRight, createdAtMs }) => [
          JSON.stringify([client, tenant]),
          { ...(JSON.parse(clientRight) as ClientRight), clientCreatedAtMs: createdAtMs },
        ]),
      );
    },

    /** Reads whether the topic is active, and when the client was created; null if it does not exist. */
    async counts({ topic, incarnation, client }: Pick<PushRecord, "topic" | "incarnation" | "client">): Promise<{
      readonly isTopicActive: 0 | 1;
      readonly clientCreatedAtMs: number | null;
    }> {
      const asked = db.prepare(COUNTS).bind(topic, incarnation, client);
      return (await asked.first<{ isTopicActive: 0 | 1; clientCreatedAtMs: number | null }>())!;
    },

    /** Ids of those records whose topic or client is gone. */
    async leftOver(records: readonly PlacedRecord[]): Promise<readonly string[]> {
      const { results } = await db.prepare(LEFT_OVER).bind(JSON.stringify(records)).all<{ id: string }>();
      return results.map(({ id }) => id);
    },
  };
}
