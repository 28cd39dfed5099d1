import { toSec } from "../../platform/clock.ts";
import { toHex } from "../../platform/encoding.ts";
import type { Random } from "../../platform/random.ts";

/** The one database of this version; the place in the id is for the day when there are several. */
const SHARD = 0;

/** Contract 4.1: 4 bytes of time in seconds, 1 byte that names the database shard, 7 random bytes, in hex. */
export function newFileId(nowMs: number, random: Random): string {
  const bytes = new Uint8Array(12);
  new DataView(bytes.buffer).setUint32(0, toSec(nowMs));
  bytes[4] = SHARD;
  bytes.set(random.bytes(7), 5);
  return toHex(bytes);
}

export const isFileId = (text: string): boolean => /^[0-9a-f]{24}$/.test(text);
