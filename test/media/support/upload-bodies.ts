import type { Principal } from "../../../src/http/callers/auth.ts";
import { LIMITS } from "../../../src/media/model/limits.ts";
import type { MediaApp } from "./media-app.ts";
import { principal } from "./principal.ts";
import { collection } from "./stored-file.ts";
import { expectJson } from "../../support/platform/call.ts";

/** Pending files, and bodies to upload. */
export interface Created {
  readonly id: string;
  readonly uploadLink: string;
  readonly commitLink: string;
}

/** A pending file of this client, by default one of its own. */
export async function create(on: MediaApp, as: Principal = principal(), type?: string): Promise<Created> {
  const json = type === undefined ? {} : { "Content-Type": type };
  return expectJson<Created>(await on.call(collection(), { as, json }), 200);
}

export const BINARY = { "content-type": "binary/octet-stream" };

export const withLength = (length: number) => ({ ...BINARY, "content-length": String(length) });

/**
 * Bytes that differ from place to place, in chunks of odd sizes, without a length. Those after the first part wait for
 * `gate`.
 */
export function chunked(
  size: number,
  breakAfter = Infinity,
  sending = (_sentBytes: number) => {},
  gate?: Promise<void>,
): ReadableStream<Uint8Array> {
  let sent = 0;
  return new ReadableStream({
    async pull(controller) {
      if (gate !== undefined && sent >= Math.min(LIMITS.partBytes + 1, breakAfter)) await gate;
      if (sent >= breakAfter) return controller.error(new Error("injected: the client went away"));
      const length = Math.min(100_003, size - sent);
      if (length > 0) controller.enqueue(bytesOf(length, sent));
      sent += length;
      sending(sent);
      if (sent >= size) controller.close();
    },
  });
}

/** Bytes that differ from place to place, and repeat after 64 KiB. */
const PATTERN = Uint8Array.from({ length: 2 ** 16 }, (_, at) => at * 31 + (at >> 8));

export function bytesOf(length: number, start = 0): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length;) {
    const piece = PATTERN.subarray((start + at) % PATTERN.length).subarray(0, length - at);
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}

export const equal = (a: Uint8Array, b: Uint8Array): boolean =>
  a.length === b.length && crypto.subtle.timingSafeEqual(a, b);
