import type { Principal } from "../../../src/http/callers/auth.ts";
import { attributesOf } from "../../../src/media/metadata/attributes.ts";
import { toHex } from "../../../src/platform/text/encoding.ts";
import { everywhere, shardDb } from "../../support/shards.ts";
import { keysOf } from "./keys-of.ts";
import { START_MS, type MediaApp } from "./media-app.ts";
import { testPlacement } from "./placement.ts";
import { expectJson } from "../../support/platform/call.ts";

/** The report at a `Location`. */
export const reportAt = async (app: MediaApp, as: Principal, location: string): Promise<any> =>
  expectJson(await app.call(location, { as }), 200);

export const rowsOf = async (fileId: string): Promise<object[]> =>
  (await everywhere.prepare("SELECT * FROM file WHERE id = ?").bind(fileId).all<object>()).results;

let inserted = 0;

/** Committed files of five bytes, made by SQL, with their index rows. `given`: the shard, if it is not the tenant's. */
export async function insertCommitted(
  as: Principal,
  count: number,
  metadata = "{}",
  visibility: "private" | "public" = "private",
  createdAt = START_MS,
  given?: number,
): Promise<string[]> {
  const shard = given ?? (await testPlacement.shardOf(as.tenant, 0));
  const db = shardDb(shard);
  const first = inserted;
  inserted += count;
  const { rows, at } = attributesOf(metadata, "text/plain");
  const attributes = JSON.stringify({ rows, at });
  const ids = Array.from(
    { length: count },
    (_, index) => `eeee0000${toHex(new Uint8Array([shard]))}${(first + index).toString(16).padStart(14, "0")}`,
  );
  const list = JSON.stringify(ids);
  const owner = [as.clientName, as.tenant, visibility];
  await db.batch([
    db.prepare("INSERT INTO owner (client, tenant, visibility) VALUES (?, ?, ?) ON CONFLICT DO NOTHING").bind(...owner),
    db
      .prepare(
        `INSERT INTO file (id, owner_id, state, content_type, created_at, committed_at, size_bytes, etag, metadata, attributes,
         known_places)
       SELECT value, owner.id, 'pending', 'text/plain', ?4, ?4, 5, 'e', ?6, ?7, 1 FROM json_each(?5), owner
       WHERE client = ?1 AND tenant = ?2 AND visibility = ?3 AND erasure_id IS NULL`,
      )
      .bind(...owner, createdAt, list, metadata, attributes),
    db.prepare("UPDATE file SET state = 'committed' WHERE id IN (SELECT value FROM json_each(?))").bind(list),
  ]);
  return ids;
}

/** The number of files in each state, and those of them with bytes. */
export async function allFiles(ids: readonly string[]): Promise<Record<string, unknown>> {
  const sql = "SELECT state, count(*) AS n FROM file WHERE id IN (SELECT value FROM json_each(?1)) GROUP BY state";
  const { results } = await everywhere.prepare(sql).bind(JSON.stringify(ids)).all<{ state: string; n: number }>();
  const sample = [...ids.slice(0, 10), ids[300] ?? ids[0]!, ids[500] ?? ids[0]!, ids.at(-1)!];
  const bytes = (await Promise.all(sample.map(keysOf))).flat();
  const counts: Record<string, number> = {};
  for (const { state, n } of results) counts[state] = (counts[state] ?? 0) + n;
  return { ...counts, bytes };
}

/** Index rows and key sets of all owners that the client ever had. */
export async function indexRows(files: readonly string[]): Promise<number> {
  const sql = "SELECT count(*) AS n FROM attribute WHERE file_id IN (SELECT value FROM json_each(?1))";
  return (await everywhere.prepare(sql).bind(JSON.stringify(files)).first<number>("n")) ?? 0;
}
