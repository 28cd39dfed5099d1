import { sourceEtagOf } from "../../platform/storage/source-etag.ts";

/** The keyspaces of the bucket, in the order of a run. */
export const KEYSPACES = [
  { name: "files", prefix: "blob/", missing: "missing_bytes" },
  { name: "variants", prefix: "variant/", missing: "missing_variant" },
  { name: "incoming", prefix: "incoming/", missing: undefined },
] as const satisfies readonly { name: KeyspaceName; prefix: string; missing: FindingKind | undefined }[];

export type Keyspace = (typeof KEYSPACES)[number];

export const FILE_ID_CHARS = 24;

/** Returns the row that a key belongs to: a file, or in `variant/` a rendition (`{file}/{nonce}`). */
export function rowKeyOf({ name, prefix }: Keyspace, key: string): string {
  const rest = key.slice(prefix.length);
  return name === "variants" ? rest : rest.slice(0, FILE_ID_CHARS);
}

/** Returns the file that a key belongs to, if this service wrote the key. */
export const fileIdOf = ({ prefix }: Keyspace, key: string): string =>
  key.slice(prefix.length, prefix.length + FILE_ID_CHARS);

/**
 * Returns the finding about one key, if there is one. `expected` comes from the key's row.
 *
 * Some states are normal: a pending or removed file with or without bytes, a variant that is being made, and any object
 * written after `oldUntilMs`, because its row may follow.
 */
export function classify(
  keyspace: Keyspace,
  key: string,
  expected: ExpectedObject | undefined,
  object: R2Object | undefined,
  oldUntilMs: number,
): FindingKind | undefined {
  if (expected?.need === "bytes" && expected.key === key) {
    if (object === undefined) return keyspace.missing;
    if (object.size !== expected.sizeBytes) return "size_differs";
    return expected.etag === null || [object.etag, sourceEtagOf(object)].includes(expected.etag)
      ? undefined
      : "etag_differs";
  }
  if (object === undefined || expected?.need === "any") return undefined;
  return object.uploaded.getTime() <= oldUntilMs ? "orphan_object" : undefined;
}

/** Compares by the bytes of UTF-8, as R2 and SQLite do. JavaScript sorts surrogates before U+E000 to U+FFFF. */
export function compareKeys(a: string, b: string): number {
  for (let at = 0; at < Math.min(a.length, b.length); at++) {
    const difference = rank(a.charCodeAt(at)) - rank(b.charCodeAt(at));
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

const rank = (unit: number): number => (unit >= 0xe000 ? unit - 0x800 : unit >= 0xd800 ? unit + 0x2000 : unit);

/** The names of the keyspaces. A run's row has the one that it compares. */
export type KeyspaceName = "files" | "variants" | "incoming";

/** The object that a row expects in R2. */
export interface ExpectedObject {
  /** A file's id; for a variant `{file}/{nonce}`. */
  readonly rowKey: string;
  /** The object's key; null for a rendition without a row, and empty in `incoming/`, where rows name no key. */
  readonly key: string | null;
  /** `bytes`: the object must exist. `any`: it may exist, because work is in progress. `none`: nobody reads it. */
  readonly need: "bytes" | "any" | "none";
  readonly sizeBytes: number | null;
  /** The object's ETag; null if the row does not have it, as for variants. */
  readonly etag: string | null;
  readonly fileId: string;
  readonly nonce: string | null;
  readonly client: string | null;
  readonly tenant: string | null;
}

export type FindingKind = "orphan_object" | "missing_bytes" | "missing_variant" | "size_differs" | "etag_differs";
