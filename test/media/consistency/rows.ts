import { env } from "cloudflare:workers";

export async function clear(): Promise<void> {
  await env.DB.batch(
    ["variant", "file", "owner", "consistency_run", "audit_entry"].map((table) =>
      env.DB.prepare(`DELETE FROM ${table}`),
    ),
  );
  const { objects } = await env.MEDIA.list();
  await env.MEDIA.delete(objects.map(({ key }) => key));
}

export const run = (sql: string, ...values: unknown[]): Promise<D1Result> =>
  env.DB.prepare(sql)
    .bind(...values)
    .run();

export const put = async (key: string, body: string): Promise<R2Object> => (await env.MEDIA.put(key, body))!;

/** Makes an owner. `retired`: a deletion of all files has retired it. */
export async function makeOwner(retired = false): Promise<number> {
  const { results } = await run(
    "INSERT INTO owner (client, tenant, visibility, erasure_id) VALUES ('shop', 'acme', 'private', ?1) RETURNING id",
    retired ? "e1" : null,
  );
  return (results[0] as { id: number }).id;
}

let made = 0;

/** Returns ids in increasing order, with gaps for other ids between them. */
export const fileId = (): string => `65${(++made).toString(16).padStart(10, "0")}${"a".repeat(12)}`;

export const nonce = (): string => (++made).toString(16).padStart(32, "0");

export interface FileColumns {
  readonly owner: number;
  readonly state?: "pending" | "committed" | "removed";
  readonly sizeBytes?: number;
  readonly etag?: string;
  readonly blobKey?: string;
  readonly dueAt?: number;
  readonly id?: string;
}

export async function makeFile(given: FileColumns): Promise<string> {
  const id = given.id ?? fileId();
  await run(
    `INSERT INTO file (id, owner_id, state, content_type, created_at, due_at, committed_at, size_bytes, etag, blob_key,
     metadata, attributes) VALUES (?1, ?2, ?3, 'image/png', 0, ?4, 1, ?5, ?6, ?7, '{}', '[]')`,
    id,
    given.owner,
    given.state ?? "committed",
    given.dueAt ?? null,
    given.sizeBytes ?? null,
    given.etag ?? null,
    given.blobKey ?? null,
  );
  return id;
}

/** Makes a committed file with its bytes. `copied`: the bytes have the key of a presigned upload. */
export async function goodFile(owner: number, copied = false): Promise<string> {
  const id = fileId();
  const body = `bytes of ${id}`;
  const blobKey = copied ? `blob/${id}.copied` : `blob/${id}`;
  const { etag } = await put(blobKey, body);
  return makeFile({ owner, id, sizeBytes: body.length, etag, ...(copied ? { blobKey } : {}) });
}

let sizes = 0;

export async function makeVariant(file: string, state: string, sizeBytes?: number): Promise<string> {
  const name = nonce();
  await run(
    `INSERT INTO variant (file_id, nonce, type, size, state, created_at, size_bytes) VALUES (?1, ?2, 'clip', ?3, ?4, 0, ?5)`,
    file,
    name,
    `${++sizes}x1`,
    state,
    sizeBytes ?? null,
  );
  return name;
}

export async function goodVariant(file: string): Promise<string> {
  const name = await makeVariant(file, "ready", 5);
  await env.MEDIA.put(`variant/${file}/${name}`, "small");
  return name;
}
