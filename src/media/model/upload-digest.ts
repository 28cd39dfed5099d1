import { fromBase64 } from "../../platform/text/encoding.ts";
import { err, ok, type Result } from "../../platform/model/result.ts";

/** A digest that an upload's headers name. R2 checks the bytes against one digest. */
export interface UploadDigest {
  readonly header: DigestHeader;
  readonly algorithm: "md5" | "sha256" | "sha512";
  readonly bytes: Uint8Array<ArrayBuffer>;
}

export type DigestHeader = "Content-MD5" | "Content-Digest" | "Repr-Digest";

/**
 * Returns the longest digest of all headers; undefined if there is none. The error is the name of a malformed header.
 */
export function readUploadDigest(headers: Headers): Result<UploadDigest | undefined, DigestHeader> {
  const digests: UploadDigest[] = [];
  for (const header of ["Content-Digest", "Repr-Digest", "Content-MD5"] as const) {
    const text = headers.get(header);
    if (text === null) continue;
    const read = header === "Content-MD5" ? readMd5(text) : readDictionary(header, text);
    if (read === undefined) return err(header);
    digests.push(...read);
  }
  return ok(digests.toSorted((a, b) => b.bytes.length - a.bytes.length)[0]);
}

/** Reads a `Content-MD5` (RFC 1864). */
function readMd5(text: string): readonly UploadDigest[] | undefined {
  const bytes = fromBase64(text.trim());
  return bytes?.length === 16 ? [{ header: "Content-MD5", algorithm: "md5", bytes }] : undefined;
}

const SHA = {
  "sha-256": { algorithm: "sha256", lengthBytes: 32 },
  "sha-512": { algorithm: "sha512", lengthBytes: 64 },
} as const;

/**
 * Reads `sha-256=:<base64>:, …` (RFC 9530). Both headers mean the same for a whole file without a Content-Encoding.
 * Unknown and deprecated algorithms are ignored.
 */
function readDictionary(header: DigestHeader, text: string): readonly UploadDigest[] | undefined {
  const digests: UploadDigest[] = [];
  for (const member of text.split(",")) {
    const [, key = "", value = ""] =
      /^[ \t]*([a-z*][a-z0-9_.*-]*)=:([A-Za-z0-9+/]*={0,2}):[ \t]*(?:;.*)?$/.exec(member) ?? [];
    if (key === "") return undefined;
    if (!isSha(key)) continue;
    const bytes = fromBase64(value);
    if (bytes?.length !== SHA[key].lengthBytes) return undefined;
    digests.push({ header, algorithm: SHA[key].algorithm, bytes });
  }
  return digests;
}

const isSha = (key: string): key is keyof typeof SHA => Object.hasOwn(SHA, key);
