import { env } from "cloudflare:workers";
import { attributesOf } from "../../../src/media/metadata/attributes.ts";
import type { FileCaller } from "../../../src/media/model/file.ts";
import { unique } from "../../support/platform/unique.ts";

/** A committed file, made by SQL with many others at once, in the state that a commit leaves. */
export interface PlainFile {
  readonly id: string;
  readonly metadata: unknown;
  readonly type: string;
}

export async function makeOwner(db = env.DB): Promise<{ caller: FileCaller; ownerId: number }> {
  const caller = { client: `${unique("c")}.shop`, tenant: "acme", visibility: "private" as const, isPerson: false };
  const made = await db
    .prepare("INSERT INTO owner (client, tenant, visibility) VALUES (?, ?, ?) RETURNING id")
    .bind(caller.client, caller.tenant, caller.visibility)
    .first<{ id: number }>();
  return { caller, ownerId: made!.id };
}

export async function addFiles(ownerId: number, files: readonly PlainFile[], db = env.DB): Promise<void> {
  const rows = files.map(({ id, metadata, type }) => {
    const text = JSON.stringify(metadata);
    const { unindexed, ...attributes } = attributesOf(text, type);
    return { id, type, metadata: text, unindexed, attributes: JSON.stringify(attributes) };
  });
  await db.batch([
    db
      .prepare(
        `INSERT INTO file (id, owner_id, state, content_type, created_at, committed_at, size_bytes, etag, metadata, attributes, unindexed_pairs)
      SELECT value ->> 'id', ?1, 'committed', value ->> 'type', 1, 2, 3, 'e', value ->> 'metadata', value ->> 'attributes', value ->> 'unindexed'
      FROM json_each(?2)`,
      )
      .bind(ownerId, JSON.stringify(rows)),
    db.prepare(`UPDATE owner SET files = files + ?2 WHERE id = ?1`).bind(ownerId, files.length),
  ]);
}
