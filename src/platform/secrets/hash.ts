import { toHex, utf8 } from "../text/encoding.ts";

export async function sha256(data: string | Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", typeof data === "string" ? utf8(data) : data));
}

export const sha256Hex = async (data: string | Uint8Array<ArrayBuffer>): Promise<string> => toHex(await sha256(data));

/** Compares two digests in hex in constant time. */
export function equalDigests(a: string, b: string): boolean {
  const left = utf8(a);
  const right = utf8(b);
  return left.length === right.length && crypto.subtle.timingSafeEqual(left, right);
}
