import { toSec } from "../../platform/runtime/clock.ts";
import { toHex } from "../../platform/text/encoding.ts";
import type { Random } from "../../platform/runtime/random.ts";
import { isTenantObject, MOST_NUMBERS } from "../../platform/storage/tenant-objects.ts";
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

/**
 * Makes the id of a file: 4 bytes of time in seconds, 1 byte for the shard, 7 random bytes, in hex. A
 * tenant object has a number of 17 bits, and 43 random bits after it:
 *
 *   time      shard               random
 *   6923a1c4  03                  9f81c2d40a7be1     shard 3
 *   6923a1c4  f0 0f 00 (17 bits)  ..d40a7be1 (43)    tenant object 480
 */
export const newFileId = (nowMs: number, random: Random, shard: number): string => idOf(nowMs, shard, random.bytes(7));

/**
 * Makes the id of a deletion: that of a file with 10 bits of milliseconds instead of the first random ones, since
 * reports are listed by id, the newest first.
 */
export function newErasureId(nowMs: number, random: Random, shard: number): string {
  const bytes = random.bytes(7);
  const ms = nowMs % 1000;
  if (isTenantObject(shard)) {
    // After the number there are 3 bits in one byte, and then whole bytes.
    bytes[1] = ms >> 7;
    bytes[2] = ((ms & 0x7f) << 1) | (bytes[2]! & 1);
  } else {
    bytes[0] = ms >> 2;
    bytes[1] = ((ms & 0b11) << 6) | (bytes[1]! & 0x3f);
  }
  return idOf(nowMs, shard, bytes);
}

function idOf(nowMs: number, shard: number, afterShard: Uint8Array): string {
  const bytes = new Uint8Array(12);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, toSec(nowMs));
  bytes[4] = shard;
  bytes.set(afterShard, 5);
  // The bits of the number lie in 3 bytes: 4 bits that mark it, 17 of the number, 3 random ones.
  if (isTenantObject(shard)) {
    const marked = MARK | (shard << RANDOM_BITS) | (bytes[6]! & RANDOM_MASK);
    view.setUint16(4, marked >> 8);
    bytes[6] = marked & 0xff;
  }
  return toHex(bytes);
}

const MARK = 0xf00000;
const RANDOM_BITS = 3;
const RANDOM_MASK = 0b111;
const NUMBER_MASK = MOST_NUMBERS - 1;

/** Returns a text that sorts before every id of this time or later, and after every earlier id. */
export const firstFileId = (atMs: number): string => toSec(Math.max(0, atMs)).toString(16).padStart(8, "0");

/** Returns the shard that an id names; 0 for a text that is no id. */
export function shardOfId(id: string): number {
  if (!isFileId(id)) return 0;
  const marked = Number.parseInt(id.slice(8, 14), 16);
  if (marked < MARK) return marked >> 16;
  const number = (marked >> RANDOM_BITS) & NUMBER_MASK;
  return isTenantObject(number) ? number : 0;
}

export const isFileId = (text: string): boolean => /^[0-9a-f]{24}$/.test(text);
