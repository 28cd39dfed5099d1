import { env } from "cloudflare:workers";
import { nameOf, pushObjectName, type Topic } from "../../../../src/events/model/topic.ts";
import type { PushRecord } from "../../../../src/events/push/record/record.ts";
import { everywhere } from "../../../support/shards.ts";
import { pushStore } from "./push-store.ts";

/** All records of a topic. */
export async function recordsOf(topic: Topic): Promise<PushRecord[]> {
  const { results } = await everywhere
    .prepare(`SELECT id FROM push_subscription WHERE incarnation = ? ORDER BY id`)
    .bind(topic.incarnation)
    .all<{ id: string }>();
  const found = await Promise.all(results.map(async ({ id }) => pushStore.findById(id)));
  return found.filter((record) => record !== undefined);
}

export const objectNamesOf = async (topic: Topic): Promise<string[]> =>
  (await recordsOf(topic)).map(({ id }) => pushObjectName(topic, id));

/** Inserts `count` more records directly into the database. */
export async function fill(topic: Topic, client: string, count: number): Promise<void> {
  await env.DB.prepare(
    `WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < ?4)
     INSERT INTO push_subscription (id, topic, incarnation, client, name, as_owner, endpoint, username, credentials,
       seal_key, state, version, created_at, updated_at)
     SELECT lower(hex(randomblob(16))), ?1, ?2, ?3, 'many' || n, 1, 'https://e.example', 'u', 'x', 't1', 'active', 1, 0, 0
     FROM number`,
  )
    .bind(nameOf(topic), topic.incarnation, client, count)
    .run();
}
