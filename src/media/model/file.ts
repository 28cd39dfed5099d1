import { toSec } from "../../platform/runtime/clock.ts";
import { toHex } from "../../platform/text/encoding.ts";
import type { Random } from "../../platform/runtime/random.ts";
import type { VariantType } from "./sizes.ts";

export type Visibility = "private" | "public";

/** The values of the parameter `shared`: with whom a file is shared. */
export const SHARING = ["tenant"] as const;

/** The value of the column `shared_in` for files that the clients of a tenant share. */
export const shareOf = (visibility: Visibility, tenant: string): string => `${visibility} ${tenant}`;

/** A client that works on its private or public files of one tenant. */
export interface FileCaller {
  readonly client: string;
  readonly visibility: Visibility;
  readonly tenant: string;
  /** True for a person's token, which may change only the pending files that were created for its own tenant. */
  readonly isPerson: boolean;
}

/** One rendition of a variant, named by its nonce. */
export interface VariantRow {
  readonly nonce: string;
  readonly type: VariantType;
  readonly size: string;
  readonly state: "declared" | "pending" | "ready" | "failed" | "removed";
  readonly contentType: string | null;
  readonly width: number | null;
  readonly height: number | null;
  readonly sizeBytes: number | null;
  /** Without quotes. */
  readonly etag: string | null;
  readonly reason: string | null;
}

/** Makes the id of a file or deletion: 4 bytes of time in seconds, 1 byte for the shard, 7 random bytes, in hex. */
export function newFileId(nowMs: number, random: Random, shard: number): string {
  const bytes = new Uint8Array(12);
  new DataView(bytes.buffer).setUint32(0, toSec(nowMs));
  bytes[4] = shard;
  bytes.set(random.bytes(7), 5);
  return toHex(bytes);
}

/** Returns a text that sorts before every id of this time or later, and after every earlier id. */
export const firstFileId = (atMs: number): string => toSec(Math.max(0, atMs)).toString(16).padStart(8, "0");

/** Returns the shard that an id names; 0 for a text that is no id. */
export const shardOfId = (id: string): number => (isFileId(id) ? Number.parseInt(id.slice(8, 10), 16) : 0);

export const isFileId = (text: string): boolean => /^[0-9a-f]{24}$/.test(text);
