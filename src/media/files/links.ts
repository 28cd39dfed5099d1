import { toSec } from "../../platform/runtime/clock.ts";
import { fromBase64Url, toBase64Url, utf8 } from "../../platform/text/encoding.ts";
import { err, ok, type Result } from "../../platform/model/result.ts";
import type { Sealer } from "../../platform/secrets/seal.ts";
import type { Visibility } from "../model/file.ts";
import { LIMITS } from "../model/limits.ts";
import type { VariantName } from "../model/sizes.ts";

const MEDIA_PATH = "/media/v2";

export const filePath = (visibility: Visibility): string => (visibility === "public" ? "/public/files" : "/files");

export const ERASURES_PATH = "/erasures";

/**
 * Addresses of the media service. Links to uploads and private content are signed (HMAC-SHA-256). The signature covers
 * the file, the variant or content type, and the expiry; each purpose has keys of its own.
 */
export type Links = ReturnType<typeof createLinks>;

export interface Signature {
  readonly expires: string;
  readonly signature: string;
}

export interface UploadSignature extends Signature {
  readonly contentType: string;
}

export type LinkFault = "forged" | "expired";

export function createLinks(sealer: Sealer, contentUrl: string) {
  const contentAddress = (publicBase: string, fileId: string, variant: VariantName | undefined): URL => {
    const base = contentUrl === "" ? publicBase : `${contentUrl}${new URL(publicBase).pathname.replace(/\/$/, "")}`;
    const suffix = variant === undefined ? "" : `/${variantSegment(variant)}`;
    return new URL(`${base}${MEDIA_PATH}/content/${fileId}${suffix}`);
  };
  const contentParts = (fileId: string, variant: VariantName | undefined) => [
    fileId,
    variant === undefined ? "" : variantSegment(variant),
  ];
  return {
    file: (publicBase: string, visibility: Visibility, fileId: string): string =>
      `${publicBase}${MEDIA_PATH}${filePath(visibility)}/${fileId}`,

    /** Returns the address of a deletion's report. */
    erasure: (publicBase: string, erasureId: string): string =>
      `${publicBase}${MEDIA_PATH}${ERASURES_PATH}/${erasureId}`,

    upload(publicBase: string, fileId: string, contentType: string, nowMs: number): Promise<string> {
      const url = new URL(`${publicBase}${MEDIA_PATH}/uploads/${fileId}`);
      url.searchParams.set("type", contentType);
      return sign(sealer, "upload-link", url, [fileId, contentType], nowMs + LIMITS.uploadLinkTtlMs);
    },

    verifyUpload: (fileId: string, given: UploadSignature, nowMs: number): Promise<Result<void, LinkFault>> =>
      verify(sealer, "upload-link", [fileId, given.contentType], given, nowMs),

    /** Returns the content address of a public file. It is valid as long as the file exists. */
    content: (publicBase: string, fileId: string, variant: VariantName | undefined): string =>
      contentAddress(publicBase, fileId, variant).href,

    temporaryContent(
      publicBase: string,
      fileId: string,
      variant: VariantName | undefined,
      nowMs: number,
    ): Promise<string> {
      const url = contentAddress(publicBase, fileId, variant);
      return sign(sealer, "content-link", url, contentParts(fileId, variant), nowMs + LIMITS.contentLinkTtlMs);
    },

    verifyContent: (
      fileId: string,
      variant: VariantName | undefined,
      given: Signature,
      nowMs: number,
    ): Promise<Result<void, LinkFault>> => verify(sealer, "content-link", contentParts(fileId, variant), given, nowMs),
  };
}

/** Returns the last segment of a variant's content address, such as `clip-300x200`. */
const variantSegment = (variant: VariantName): string => `${variant.type}-${variant.size}`;

type Purpose = "upload-link" | "content-link";

/** Returns the text to sign. It is JSON, so that no two lists of parts give the same text. */
const signedText = (parts: readonly string[], expires: string): Uint8Array<ArrayBuffer> =>
  utf8(JSON.stringify([...parts, expires]));

async function sign(
  sealer: Sealer,
  purpose: Purpose,
  url: URL,
  parts: readonly string[],
  expiresAtMs: number,
): Promise<string> {
  const expires = String(toSec(expiresAtMs));
  const [current] = await sealer.macKeys(purpose);
  if (current === undefined) throw new Error("the sealer has no key");
  const mac = await crypto.subtle.sign("HMAC", current, signedText(parts, expires));
  url.searchParams.set("expires", expires);
  url.searchParams.set("signature", toBase64Url(new Uint8Array(mac)));
  return url.href;
}

async function verify(
  sealer: Sealer,
  purpose: Purpose,
  parts: readonly string[],
  given: Signature,
  nowMs: number,
): Promise<Result<void, LinkFault>> {
  const mac = fromBase64Url(given.signature);
  if (mac === undefined) return err("forged");
  const text = signedText(parts, given.expires);
  for (const key of await sealer.macKeys(purpose)) {
    if (!(await crypto.subtle.verify("HMAC", key, mac, text))) continue;
    return nowMs < Number(given.expires) * 1000 ? ok(undefined) : err("expired");
  }
  return err("forged");
}
