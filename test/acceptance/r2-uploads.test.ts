import { GetObjectCommand, HeadObjectCommand, ListObjectsV2Command, S3Client } from "@aws-sdk/client-s3";
import { beforeAll, describe, expect, test } from "vitest";
import { takesUnsignedHeaders } from "../../scripts/lib/local/deploy-s3.ts";
import { createS3 } from "../../src/media/blobs/s3.ts";
import { freePort } from "./support/process/state.ts";
import { useWorld } from "./support/use-world.ts";
import { makeClient, type Client } from "./support/world.ts";

/**
 * Uploads by presigned links, against a real S3 API: Miniflare's, on the very bucket of the platform. What is stored is
 * asked of it by the S3 client library of AWS.
 */
const CREDENTIALS = { accessKeyId: "acceptance-id", secretAccessKey: "an+acceptance/secret=" };
const BUCKET = "plinth-media";
const s3Port = await freePort();
const endpoint = `http://127.0.0.1:${s3Port}/cdn-cgi/local/r2/s3`;

const world = useWorld({
  R2_ACCESS_KEY_ID: CREDENTIALS.accessKeyId,
  R2_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey,
  R2_S3_ENDPOINT: endpoint,
  MAX_UPLOAD_BYTES: "3000000",
});
const s3 = new S3Client({ endpoint, region: "auto", forcePathStyle: true, credentials: CREDENTIALS });
let shop: Client;
let token: string;

beforeAll(async () => {
  shop = await makeClient(world(), "uploader", { grantTypes: ["client_credentials"] });
  const answer = await fetch(`${world().issuer}/token`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`${shop.id}:${shop.secret}`)}` },
    body: new URLSearchParams({ grant_type: "client_credentials" }),
  });
  token = ((await answer.json()) as { access_token: string }).access_token;
});

interface Created {
  readonly id: string;
  readonly uploadLink: string;
  readonly commitLink: string;
}

const ask = (address: string, init: RequestInit & { json?: unknown } = {}): Promise<Response> => {
  const { json, ...rest } = init;
  const body = json === undefined ? {} : { body: JSON.stringify(json) };
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  return fetch(new URL(address, world().url), { method: "POST", headers, ...body, ...rest });
};

async function create(type: string): Promise<Created> {
  const answer = await ask("/media/v2/files", { json: { "Content-Type": type } });
  expect(answer.status).toBe(200);
  return (await answer.json()) as Created;
}

const put = (link: string, body: BodyInit, type: string, more: Record<string, string> = {}): Promise<Response> =>
  fetch(link, { method: "PUT", body, headers: { "content-type": type, ...more } });

const commit = (file: Created): Promise<Response> => ask(file.commitLink, { json: { from: "S3" } });

/** What a reader gets. */
async function read(id: string): Promise<Response> {
  const answer = await ask(`/media/v2/files/${id}`, { method: "GET" });
  const { link } = (await answer.json()) as { link: string };
  return fetch(link);
}

async function keysOf(id: string): Promise<string[]> {
  const kinds = ["blob", "incoming"];
  const lists = await Promise.all(
    kinds.map((kind) => s3.send(new ListObjectsV2Command({ Bucket: BUCKET, Prefix: `${kind}/${id}` }))),
  );
  return lists.flatMap(({ Contents = [] }) => Contents.map(({ Key = "" }) => Key));
}

/** The work after a commit's answer takes the upload away. */
const kept = (id: string, keys: readonly string[]): Promise<void> =>
  expect.poll(() => keysOf(id), { timeout: 10_000 }).toEqual(keys);

describe("upload, commit, fetch", () => {
  // shows: media/upload-and-immutability/r2-mode
  test("the whole file, by its name, where S3 says it is; overwriting it by the link changes nothing", async () => {
    const bytes = new Uint8Array(2_500_000).map((_, at) => (at * 31) ^ (at >> 9));
    const file = await create("application/x-odd; a=b");
    expect(file.uploadLink.startsWith(`${endpoint}/${BUCKET}/incoming/${file.id}?`)).toBe(true);
    const disposition = `attachment; filename*=UTF-8''${encodeURIComponent("長崎 boats.bin")}`;
    await put(file.uploadLink, "a first attempt", "application/x-odd; a=b");
    const stored = await put(file.uploadLink, bytes, "application/x-odd; a=b", { "content-disposition": disposition });
    expect(stored.status).toBe(200);
    const etag = stored.headers.get("etag") ?? "";
    expect(etag).toMatch(/^"[0-9a-f]{32}"$/);
    expect((await commit(file)).status).toBe(202);
    const place = `blob/${file.id}.${etag.slice(1, -1)}`;
    await kept(file.id, [place]);
    const head = await s3.send(new HeadObjectCommand({ Bucket: BUCKET, Key: place }));
    expect([head.ContentLength, head.ETag]).toEqual([bytes.length, etag]);

    const overwritten = await put(file.uploadLink, "something else", "application/x-odd; a=b");
    expect(overwritten.status).toBe(200);
    expect((await commit(file)).status).toBe(202);
    await kept(file.id, [place]);
    const content = await read(file.id);
    expect(content.headers.get("etag")).toBe(etag);
    expect(content.headers.get("content-disposition")).toContain(encodeURIComponent("長崎 boats.bin"));
    expect(Buffer.from(await content.arrayBuffer()).equals(Buffer.from(bytes))).toBe(true);
    const object = await s3.send(new GetObjectCommand({ Bucket: BUCKET, Key: place }));
    expect(Buffer.from((await object.Body?.transformToByteArray()) ?? []).equals(Buffer.from(bytes))).toBe(true);
  });

  // shows: media/upload-and-immutability/the-commit-pins
  test("while somebody overwrites all the time, what is committed is one of the uploads, whole, and stays it", async () => {
    const file = await create("text/plain");
    const letters = ["a", "b", "c", "d", "e", "f", "g", "h"];
    const bodyOf = (letter: string) => letter.repeat(200_000);
    await put(file.uploadLink, bodyOf("a"), "text/plain");
    const ending = new AbortController();
    const overwriting = (async () => {
      for (let at = 0; !ending.signal.aborted; at++)
        await put(file.uploadLink, bodyOf(letters[at % 8] ?? ""), "text/plain");
    })();
    let status = 0;
    // Each commit may find the upload changed as often as it looks.
    while (status !== 202) {
      status = (await commit(file)).status;
      expect([202, 409]).toContain(status);
    }
    const first = await (await read(file.id)).text();
    ending.abort();
    await overwriting;
    expect(letters.map(bodyOf)).toContain(first);
    expect(await (await read(file.id)).text()).toBe(first);
    expect((await commit(file)).status).toBe(202);
    await expect.poll(async () => (await keysOf(file.id)).length, { timeout: 10_000 }).toBe(1);
    expect(await (await read(file.id)).text()).toBe(first);
  });

  test("413 at the commit, over the limit: nothing is kept", async () => {
    const file = await create("text/plain");
    expect((await put(file.uploadLink, new Uint8Array(3_000_001), "text/plain")).status).toBe(200);
    expect((await commit(file)).status).toBe(413);
    expect(await keysOf(file.id)).toEqual([]);
    expect((await commit(file)).status).toBe(409);
  });
});

describe("the link", () => {
  // shows: media/upload-and-immutability/wrong-type
  test("403 by S3: another type, no type, another key, another time, another signature", async () => {
    const file = await create("image/png");
    const other = await create("image/png");
    const link = file.uploadLink;
    const signature = /X-Amz-Signature=(\w+)/.exec(link)?.[1] ?? "";
    const flipped = signature.replace(/^./, (digit) => (digit === "0" ? "1" : "0"));
    expect((await put(link, "x", "image/jpeg")).status).toBe(403);
    expect((await fetch(link, { method: "PUT", body: new Uint8Array(1) })).status).toBe(403);
    expect((await fetch(link)).status).toBe(403);
    expect((await fetch(link, { method: "DELETE" })).status).toBe(403);
    for (const forged of [
      link.replace(file.id, other.id),
      link.replace("X-Amz-Expires=3600", "X-Amz-Expires=36000"),
      link.replace("content-type%3Bhost", "host"),
      link.replace(signature, flipped),
    ]) {
      expect(forged).not.toBe(link);
      expect((await put(forged, "x", "image/png")).status).toBe(403);
    }
    expect([...(await keysOf(file.id)), ...(await keysOf(other.id))]).toEqual([]);
  });

  // shows: media/upload-and-immutability/upload-link
  test("403 once its hour is over", async () => {
    const file = await create("image/png");
    const url = new URL(file.uploadLink);
    expect(url.searchParams.get("X-Amz-Expires")).toBe("3600");
    const signedAt = (url.searchParams.get("X-Amz-Date") ?? "").replace(
      /^(....)(..)(..)T(..)(..)(..)Z$/,
      "$1-$2-$3T$4:$5:$6Z",
    );
    expect(Math.abs(Date.now() - Date.parse(signedAt))).toBeLessThan(60_000);
    // The platform's own signer, at other times.
    const signer = createS3({ endpoint, bucket: BUCKET, ...CREDENTIALS }, fetch);
    const linkOf = (nowMs: number) => signer.presignPut(`incoming/${file.id}`, "image/png", nowMs);
    const expired = await put(await linkOf(Date.now() - 3_601_000), "x", "image/png");
    expect([expired.status, await expired.text()]).toEqual([403, expect.stringContaining("ExpiredRequest")]);
    expect((await put(await linkOf(Date.now() - 3_500_000), "x", "image/png")).status).toBe(200);
  });
});

test("the deploy script sees whether S3 takes headers that nobody signed", async () => {
  const [victim, thief] = [await create("text/plain"), await create("text/plain")];
  await put(victim.uploadLink, "private", "text/plain");
  const source = { "x-amz-copy-source": `/${BUCKET}/incoming/${victim.id}` };
  const answer = await put(thief.uploadLink, "", "text/plain", source);
  const wasCopied = answer.ok && (await answer.text()).includes("CopyObjectResult");
  expect(await takesUnsignedHeaders({ endpoint, bucket: BUCKET, ...CREDENTIALS })).toBe(wasCopied);
});
