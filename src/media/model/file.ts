import { toSec } from "../../platform/clock.ts";
import { toHex } from "../../platform/encoding.ts";
import type { Random } from "../../platform/random.ts";
import type { VariantType } from "./sizes.ts";

export type Visibility = "private" | "public";

/** A client at work on its private or public files of one tenant. */
export interface FileCaller {
  readonly client: string;
  readonly visibility: Visibility;
  readonly tenant: string;
  /** Whether a person's token is at work: it reaches what its tenant's tokens began, not what waits for other tenants. */
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
