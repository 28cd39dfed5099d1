import { AwsV4Signer } from "aws4fetch";
import { LIMITS } from "../model/limits.ts";

/** Access to the S3 API of the media bucket. */
export interface S3Access {
  /** Without a slash at the end; the bucket is the first segment after it. */
  readonly endpoint: string;
  readonly bucket: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/** Operations that the bucket's binding does not have, signed with AWS Signature Version 4. */
export type S3 = ReturnType<typeof createS3>;

export type Fetch = (request: Request) => Promise<Response>;

/** S3's error codes if a condition of the copy is not met. */
const REFUSALS: ReadonlySet<string> = new Set(["PreconditionFailed", "NoSuchKey"]);

export function createS3(access: S3Access, fetchFromS3: Fetch) {
  const { accessKeyId, secretAccessKey } = access;
  const address = (key: string): string => `${access.endpoint}/${access.bucket}/${key}`;
  const signer = (given: { url: string; headers: Record<string, string>; nowMs: number; signQuery: boolean }) =>
    new AwsV4Signer({
      method: "PUT",
      url: given.url,
      headers: given.headers,
      accessKeyId,
      secretAccessKey,
      service: "s3",
      region: "auto",
      datetime: new Date(given.nowMs).toISOString().replaceAll(/[:-]|\.\d{3}/g, ""),
      signQuery: given.signQuery,
      // Otherwise the content type is not signed.
      allHeaders: true,
    });
  return {
    /** A URL that takes one object by `PUT`, of this content type only, for an hour from `nowMs` on. */
    async presignPut(key: string, contentType: string, nowMs: number): Promise<string> {
      const url = `${address(key)}?X-Amz-Expires=${LIMITS.uploadLinkTtlMs / 1000}`;
      const signed = await signer({ url, headers: { "content-type": contentType }, nowMs, signQuery: true }).sign();
      return signed.url.href;
    },

    /**
     * Copies an object if the source has this ETag (with its quotes) and the target key is free; otherwise returns
     * `refused`. Throws if S3 answers anything else or nothing: the copy may have been made.
     */
    async copy(from: string, etag: string, to: string, nowMs: number): Promise<"copied" | "refused"> {
      const conditions = {
        "x-amz-copy-source": `/${access.bucket}/${from}`,
        "x-amz-copy-source-if-match": etag,
        // This header is R2's own extension of S3.
        "cf-copy-destination-if-none-match": "*",
      };
      const signed = await signer({ url: address(to), headers: conditions, nowMs, signQuery: false }).sign();
      const signal = AbortSignal.timeout(LIMITS.copyTimeoutMs);
      const answer = await fetchFromS3(new Request(signed.url, { method: "PUT", headers: signed.headers, signal }));
      // If a copy fails midway, S3 answers 200 and reports the error in the body.
      const body = await answer.text();
      if (answer.ok && body.includes("<CopyObjectResult")) return "copied";
      const code = /<Code>(\w+)<\/Code>/.exec(body)?.[1] ?? "";
      if (REFUSALS.has(code)) return "refused";
      throw new Error(`S3 answered a copy with ${answer.status} ${code}`);
    },
  };
}
