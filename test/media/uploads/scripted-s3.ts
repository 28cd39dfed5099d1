import { env } from "cloudflare:workers";
import type { MediaDeps } from "../../../src/media/media-deps.ts";
import { toHex, utf8 } from "../../../src/platform/text/encoding.ts";

/**
 * Plays R2's S3 API on the test's real bucket: PutObject and CopyObject. It checks signatures by its own implementation
 * of AWS Signature Version 4, and runs a hook around each copy.
 */
export interface ScriptedS3 {
  readonly access: NonNullable<MediaDeps["s3"]>;
  /** Sends a request as the holder of the link. */
  put(link: string, body: BodyInit, headers: Record<string, string>): Promise<Response>;
  /** The hook around each copy. It returns the answer to the Worker. */
  onCopy: (perform: () => Promise<Response>) => Promise<Response>;
  /** The copies, by source and target. */
  readonly copies: string[];
}

const ENDPOINT = "https://account.s3.test/r2";
const BUCKET = "a-bucket";
const SECRET = "a+secret/of=S3";

export function scriptedS3(nowMs: () => number, bucket: R2Bucket = env.MEDIA): ScriptedS3 {
  const handle = async (request: Request): Promise<Response> => {
    const fault = await signatureFault(request, nowMs());
    if (fault !== undefined) return problem(403, fault);
    const url = new URL(request.url);
    const prefix = `/r2/${BUCKET}/`;
    if (request.method !== "PUT" || !url.pathname.startsWith(prefix)) return problem(404, "NoSuchBucket");
    const key = url.pathname.slice(prefix.length);
    const source = request.headers.get("x-amz-copy-source");
    if (source !== null) {
      if (!source.startsWith(`/${BUCKET}/`)) return problem(404, "NoSuchBucket");
      const from = source.slice(BUCKET.length + 2);
      return s3.onCopy(() => copy(bucket, s3.copies, from, key, request.headers));
    }
    const object = await bucket.put(key, await request.arrayBuffer(), { httpMetadata: request.headers });
    return new Response(null, { headers: { etag: object.httpEtag } });
  };
  const s3: ScriptedS3 = {
    access: { endpoint: ENDPOINT, bucket: BUCKET, accessKeyId: "an-id", secretAccessKey: SECRET, fetch: handle },
    put: (link, body, headers) => handle(new Request(link, { method: "PUT", body, headers })),
    onCopy: (perform) => perform(),
    copies: [],
  };
  return s3;
}

async function copy(bucket: R2Bucket, copies: string[], from: string, to: string, headers: Headers): Promise<Response> {
  const ifMatch = headers.get("x-amz-copy-source-if-match") ?? "";
  const object = await bucket.get(from);
  if (object === null) return problem(404, "NoSuchKey");
  if (object.httpEtag !== ifMatch) return problem(412, "PreconditionFailed");
  const { httpMetadata, customMetadata } = object;
  const onlyIf = headers.get("cf-copy-destination-if-none-match") === "*" ? { etagDoesNotMatch: "*" } : {};
  const made: R2Object | null = await bucket.put(to, await object.arrayBuffer(), {
    onlyIf,
    httpMetadata,
    customMetadata,
  });
  if (made === null) return problem(412, "PreconditionFailed");
  copies.push(`${from} → ${to}`);
  return new Response(`<CopyObjectResult><ETag>${made.httpEtag}</ETag></CopyObjectResult>`);
}

export const problem = (status: number, code: string): Response =>
  new Response(`<?xml version="1.0"?><Error><Code>${code}</Code></Error>`, { status });

/** Checks AWS Signature Version 4 as AWS describes it, in the query of a link or in the header `Authorization`. */
async function signatureFault(request: Request, nowMs: number): Promise<string | undefined> {
  const url = new URL(request.url);
  const inQuery = url.searchParams.has("X-Amz-Signature");
  const authorization = request.headers.get("authorization") ?? "";
  const given = (name: string) =>
    inQuery
      ? (url.searchParams.get(`X-Amz-${name}`) ?? "")
      : (new RegExp(`${name}=([^, ]+)`).exec(authorization)?.[1] ?? "");
  const date = (inQuery ? url.searchParams.get("X-Amz-Date") : request.headers.get("x-amz-date")) ?? "";
  const signedAtMs = Date.parse(date.replace(/^(....)(..)(..)T(..)(..)(..)Z$/, "$1-$2-$3T$4:$5:$6Z"));
  const [id, ...scope] = given("Credential").split("/");
  const signed = given("SignedHeaders").split(";");
  const [day = "", region = "", service = "", last = ""] = scope;
  if (id !== "an-id" || service !== "s3" || last !== "aws4_request" || day !== date.slice(0, 8)) return "AccessDenied";
  if (!signed.includes("host")) return "AccessDenied";
  for (const [name] of request.headers) if (/^x-amz-|^cf-/.test(name) && !signed.includes(name)) return "AccessDenied";
  const ends = inQuery ? signedAtMs + Number(given("Expires")) * 1000 : signedAtMs + 15 * 60_000;
  if (!(nowMs <= ends)) return "ExpiredRequest";

  const signature = given("Signature");
  url.searchParams.delete("X-Amz-Signature");
  const query = [...url.searchParams].map((pair) => pair.map(encode).join("=")).toSorted();
  const headers = signed.map((name) => `${name}:${name === "host" ? url.host : (request.headers.get(name) ?? "")}\n`);
  const payload = inQuery ? "UNSIGNED-PAYLOAD" : (request.headers.get("x-amz-content-sha256") ?? "");
  const canonical = [request.method, url.pathname, query.join("&"), headers.join(""), signed.join(";"), payload];
  const digest = toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", utf8(canonical.join("\n")))));
  let key = utf8(`AWS4${SECRET}`);
  for (const part of [day, region, service, last]) key = await hmac(key, part);
  const text = ["AWS4-HMAC-SHA256", date, scope.join("/"), digest].join("\n");
  return toHex(await hmac(key, text)) === signature ? undefined : "SignatureDoesNotMatch";
}

const encode = (text: string): string =>
  encodeURIComponent(text).replaceAll(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);

async function hmac(key: Uint8Array<ArrayBuffer>, text: string): Promise<Uint8Array<ArrayBuffer>> {
  const imported = await crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", imported, utf8(text)));
}
