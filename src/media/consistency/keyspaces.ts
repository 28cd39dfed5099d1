import type { Claim, FindingKind, Stage } from "./model.ts";

/** The parts of the bucket, in the order in which a run walks over them. */
export const PARTS = [
  { stage: "files", prefix: "blob/", missing: "missing_bytes" },
  { stage: "variants", prefix: "variant/", missing: "missing_variant" },
  { stage: "incoming", prefix: "incoming/", missing: undefined },
] as const satisfies readonly { stage: Stage; prefix: string; missing: FindingKind | undefined }[];

export type Part = (typeof PARTS)[number];

const FILE_ID_CHARS = 24;

/** Who claims a key, if anybody does: a file, in `variant/` one making of a variant (`{file}/{nonce}`). */
export function claimantOf({ stage, prefix }: Part, key: string): string {
  const rest = key.slice(prefix.length);
  return stage === "variants" ? rest : rest.slice(0, FILE_ID_CHARS);
}

/** The file that a key belongs to if it is one of ours. */
export const fileIdOf = ({ prefix }: Part, key: string): string =>
  key.slice(prefix.length, prefix.length + FILE_ID_CHARS);

/**
 * What is wrong with one place in R2, undefined: nothing. `claim` is that of the key's claimant.
 *
 * Normal are: bytes of a file that is pending or removed, there or not; a variant under way; whatever came after
 * `oldUntilMs`, since work that is under way may still write or delete it.
 */
export function judge(
  part: Part,
  key: string,
  claim: Claim | undefined,
  object: R2Object | undefined,
  oldUntilMs: number,
): FindingKind | undefined {
  if (claim?.need === "bytes" && claim.key === key) {
    if (object === undefined) return part.missing;
    if (object.size !== claim.sizeBytes) return "size_differs";
    return claim.etag === null || object.etag === claim.etag ? undefined : "etag_differs";
  }
  if (object === undefined || claim?.need === "any") return undefined;
  return object.uploaded.getTime() <= oldUntilMs ? "orphan_object" : undefined;
}

/** The order of R2 and of SQLite, by bytes of UTF-8: JavaScript has surrogates below the last characters of 16 bits. */
export function compareKeys(a: string, b: string): number {
  for (let at = 0; at < Math.min(a.length, b.length); at++) {
    const difference = rank(a.charCodeAt(at)) - rank(b.charCodeAt(at));
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

const rank = (unit: number): number => (unit >= 0xe000 ? unit - 0x800 : unit >= 0xd800 ? unit + 0x2000 : unit);
