/**
 * The baseline: a Worker that keeps files in the same D1 tables and in R2, with as many statements in as many round
 * trips and the same calls to R2.
 *
 * - In one request: the rows of a creation, the bytes, the rows of a commit.
 * - Create: the row; its client's owner first, if there is none. Upload: checks row and key, puts the bytes only if the
 *   key is free, checks the row again. Commit: the head of the object, then the row, whose triggers write the metadata
 *   index.
 * - Fetch of a file: one statement. Content: the same, then the object of R2; public content comes from the edge cache
 *   and is put there on a miss. List: one statement for owner and term, one that reads the page.
 *
 * It leaves out everything else: tokens and rights, signed links, a router, validation, limits, variants, quotas,
 * repeated commits, ranges and most conditions, request ids and headers, failures.
 */
export default {
  async fetch(request, env, ctx) {
    const url = new URL(request.url);
    const [, , , first = "", second = "", third = "", fourth = ""] = url.pathname.split("/");
    const isPublic = first === "public";
    const [kind, id, action] = isPublic ? [second, third, fourth] : [first, second, third];
    const call: Call = { request, url, env, ctx, id, visibility: isPublic ? "public" : "private" };
    switch (`${request.method} ${kind}${id === "" ? "" : "/id"}${action === "" ? "" : `/${action}`}`) {
      case "POST files":
        return create(call);
      case "PUT uploads/id":
        return upload(call);
      case "POST files/id/commit":
        return commit(call);
      case "GET files/id":
        return fetchFile(call);
      case "GET content/id":
        return content(call);
      case "GET files":
        return list(call);
      default:
        return new Response(null, { status: 404 });
    }
  },
} satisfies ExportedHandler<BareEnv>;

interface BareEnv {
  readonly DB: D1Database;
  readonly MEDIA: R2Bucket;
}

interface Call {
  readonly request: Request;
  readonly url: URL;
  readonly env: BareEnv;
  readonly ctx: ExecutionContext;
  readonly id: string;
  readonly visibility: "private" | "public";
}

const DAY_MS = 86_400_000;
const clientOf = (request: Request): string => request.headers.get("bench-client") ?? "";
const keyOf = (id: string): string => `blob/${id}`;

const ENSURE_OWNER = `INSERT INTO owner (client, tenant, visibility) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING`;
const OWNER = `FROM owner WHERE client = ?1 AND tenant = ?2 AND visibility = ?3 AND erasure_id IS NULL`;

async function create(call: Call): Promise<Response> {
  const { request, url, visibility } = call;
  const isForm = request.headers.get("content-type")?.startsWith("multipart/form-data");
  if (isForm === true) return store(call, await request.formData());
  const body: { "Content-Type": string } = await request.json();
  const id = await createPending(call, body["Content-Type"]);
  const base = `${url.origin}/media/v2`;
  const type = encodeURIComponent(body["Content-Type"]);
  return Response.json({
    id,
    uploadLink: `${base}/uploads/${id}?type=${type}`,
    commitLink: `${base}${visibility === "public" ? "/public" : ""}/files/${id}/commit`,
  });
}

/** The three steps in one request. */
async function store(call: Call, form: FormData): Promise<Response> {
  const [file, metadata] = [form.get("file"), form.get("metadata")];
  if (!(file instanceof File) || typeof metadata !== "string") return new Response(null, { status: 400 });
  const id = await createPending(call, file.type);
  const options = { onlyIf: { etagDoesNotMatch: "*" }, httpMetadata: { contentType: file.type } };
  const object = await call.env.MEDIA.put(keyOf(id), file.stream(), options);
  if (object === null) return new Response(null, { status: 409 });
  await commitRow(call, { id, contentType: file.type, object, metadata });
  return Response.json({ id, link: `${call.url.origin}${call.url.pathname}/${id}` }, { status: 202 });
}

async function createPending({ request, env, visibility }: Call, contentType: string): Promise<string> {
  const nowMs = Date.now();
  const id = `${Math.floor(nowMs / 1000).toString(16)}00${crypto.randomUUID().replaceAll("-", "").slice(0, 14)}`;
  const client = clientOf(request);
  const creation = env.DB.prepare(
    `INSERT INTO file (id, owner_id, state, content_type, created_at, due_at)
      SELECT ?4, id, 'pending', ?5, ?6, ?7 ${OWNER} RETURNING id`,
  ).bind(client, "", visibility, id, contentType, nowMs, nowMs + DAY_MS);
  if ((await creation.all()).results.length === 0)
    await env.DB.batch([env.DB.prepare(ENSURE_OWNER).bind(client, "", visibility), creation]);
  return id;
}

async function upload({ request, env, id }: Call): Promise<Response> {
  const isAlive = () => env.DB.prepare(`SELECT 1 FROM file WHERE id = ?1 AND state <> 'removed'`).bind(id).first();
  const [row, present] = await Promise.all([isAlive(), env.MEDIA.head(keyOf(id))]);
  if (row === null || present !== null) return new Response(null, { status: 409 });
  const contentType = request.headers.get("content-type") ?? "";
  const options = { onlyIf: { etagDoesNotMatch: "*" }, httpMetadata: { contentType } };
  const object = await env.MEDIA.put(keyOf(id), request.body, options);
  if (object === null || (await isAlive()) === null) return new Response(null, { status: 409 });
  return new Response(null, { headers: { etag: object.httpEtag } });
}

async function commit(call: Call): Promise<Response> {
  const { request, url, env, id } = call;
  const metadata = await request.text();
  const object = await env.MEDIA.head(keyOf(id));
  const contentType = object?.httpMetadata?.contentType;
  if (object === null || contentType === undefined) return new Response(null, { status: 409 });
  await commitRow(call, { id, contentType, object, metadata });
  return Response.json({ id, link: url.href.slice(0, url.href.lastIndexOf("/commit")) }, { status: 202 });
}

interface Commit {
  readonly id: string;
  readonly contentType: string;
  readonly object: R2Object;
  readonly metadata: string;
}

async function commitRow(
  { request, url, env, visibility }: Call,
  { id, contentType, object, metadata }: Commit,
): Promise<void> {
  const owner = [clientOf(request), url.searchParams.get("tenant") ?? "", visibility];
  const pairs = [...pairsOf("", JSON.parse(metadata)), ["#type", contentType], ["#keys", "some"]];
  const attributes = JSON.stringify({ rows: pairs.map((pair) => [...pair, 1]) });
  const ask = (sql: string, ...values: unknown[]) => env.DB.prepare(sql).bind(...owner, ...values);
  const committed = ask(
    `UPDATE file SET owner_id = (SELECT id ${OWNER}), state = 'committed', due_at = NULL, committed_at = ?5,
      size_bytes = ?6, etag = ?7, metadata = ?8, attributes = ?9
      WHERE id = ?4 AND state = 'pending' AND (SELECT id ${OWNER}) IS NOT NULL RETURNING id`,
    id,
    Date.now(),
    object.size,
    object.etag,
    metadata,
    attributes,
  );
  if ((await committed.all()).results.length === 0) await env.DB.batch([ask(ENSURE_OWNER), committed]);
}

/** The metadata as pairs of path and value. */
function* pairsOf(path: string, value: unknown): Generator<[string, string | number]> {
  if (Array.isArray(value)) for (const element of value) yield* pairsOf(path, element);
  else if (typeof value === "object" && value !== null)
    for (const [name, member] of Object.entries(value)) yield* pairsOf(`${path}.${name}`, member);
  else yield [path, typeof value === "number" ? value : String(value)];
}

interface FileRow {
  readonly content_type: string;
  readonly etag: string;
  readonly size_bytes: number;
  readonly committed_at: number;
  readonly blob_key: string;
}

const findFile = (env: BareEnv, id: string): Promise<FileRow | null> =>
  env.DB.prepare(
    `SELECT file.content_type, file.etag, file.size_bytes, file.committed_at,
      coalesce(file.blob_key, 'blob/' || file.id) AS blob_key, owner.client, owner.tenant, owner.visibility FROM file JOIN owner ON owner.id = file.owner_id WHERE file.id = ?1 AND file.state = 'committed'`,
  )
    .bind(id)
    .first<FileRow>();

async function fetchFile({ request, url, env, id, visibility }: Call): Promise<Response> {
  const file = await findFile(env, id);
  if (file === null) return new Response(null, { status: 404 });
  const etag = `"${file.etag}"`;
  const headers = { etag, "cache-control": "no-cache, private" };
  if (request.headers.get("if-none-match") === etag) return new Response(null, { status: 304, headers });
  const link = `${url.origin}/media/v2/content/${id}`;
  if (visibility === "private") return Response.json({ link: `${link}?expires=0&signature=none` }, { headers });
  return new Response(null, { status: 302, headers: { ...headers, location: link } });
}

/** Looks up the copy and two marks of deletion, as the platform does. */
async function content({ url, env, ctx, id }: Call): Promise<Response> {
  const isSigned = url.searchParams.has("signature");
  const address = `${url.origin}${url.pathname}`;
  const cache = caches.default;
  if (!isSigned) {
    const [copy] = await Promise.all([cache.match(address), cache.match(`${address}/deleted`)]);
    if (copy !== undefined && (await cache.match(`${url.origin}/deleted`)) === undefined) return copy;
  }
  const file = await findFile(env, id);
  const object = file === null ? null : await env.MEDIA.get(file.blob_key);
  if (file === null || object === null) return new Response(null, { status: 404 });
  const headers = {
    etag: object.httpEtag,
    "content-type": file.content_type,
    "content-length": String(file.size_bytes),
    "last-modified": new Date(file.committed_at).toUTCString(),
    "cache-control": isSigned ? "private, no-store" : "public, max-age=300",
  };
  if (isSigned) return new Response(object.body, { headers });
  const [sent, kept] = object.body.tee();
  ctx.waitUntil(cache.put(address, new Response(kept, { headers })));
  return new Response(sent, { headers });
}

/** The first page, of one term or of none. */
async function list({ request, url, env, visibility }: Call): Promise<Response> {
  const tenant = url.searchParams.get("tenant") ?? "";
  const pageSize = Number(url.searchParams.get("pageSize"));
  const [key, value] = (url.searchParams.get("q") ?? "").split(":");
  const found = await env.DB.prepare(
    `SELECT id, (SELECT count(*) FROM (
      SELECT 1 FROM attribute WHERE owner_id = owner.id AND key = ?4 AND value = ?5 LIMIT ?6)) AS matches ${OWNER}`,
  )
    .bind(clientOf(request), tenant, visibility, `.${key}`, value ?? "", pageSize)
    .first<{ id: number }>();
  const files =
    value === undefined
      ? `SELECT * FROM file WHERE owner_id = ?1 AND state = 'committed' ORDER BY id LIMIT ?4`
      : `SELECT file.* FROM attribute CROSS JOIN file ON file.id = attribute.file_id
          WHERE attribute.owner_id = ?1 AND key = ?2 AND value = ?3 ORDER BY file_id LIMIT ?4`;
  const { results } = await env.DB.prepare(
    `SELECT id, content_type, size_bytes, etag, file_name, created_at, committed_at, metadata, (
      SELECT json_group_array(json_object('type', type, 'size', size, 'state', state)) FROM variant
      WHERE file_id = file.id AND state <> 'removed') AS variants FROM (${files}) AS file`,
  )
    .bind(found?.id ?? 0, `.${key}`, value ?? "", pageSize + 1)
    .all<ListedRow>();
  const body = results.slice(0, pageSize).map((row) => ({
    id: row.id,
    "Content-Type": row.content_type,
    size: row.size_bytes,
    etag: row.etag,
    fileName: row.file_name,
    tenant,
    createdAt: row.created_at,
    committedAt: row.committed_at,
    metadata: JSON.parse(row.metadata),
    variants: JSON.parse(row.variants),
  }));
  const last = results.length > pageSize ? body.at(-1)?.id : undefined;
  return Response.json(body, {
    headers: last === undefined ? {} : { link: `<${url.href}&cursor=${last}>; rel="next"` },
  });
}

interface ListedRow extends FileRow {
  readonly id: string;
  readonly file_name: string | null;
  readonly created_at: number;
  readonly metadata: string;
  readonly variants: string;
}
