import type { Clock } from "../../platform/clock.ts";
import { describeError, type Log } from "../../platform/log.ts";
import { LIMITS } from "../model/limits.ts";
import type { VariantName } from "../model/sizes.ts";

/**
 * Copies of public content in the cache of the data centre where the Worker runs. A copy saves the questions to D1 and
 * R2; what the request's conditions and range say is decided by the Worker, as without it.
 *
 * A copy counts for 300 s from the moment at which the Worker began to ask D1, so nobody gets content for longer than
 * that after its deletion, wherever he is. In the data centre of the deletion nobody gets it after the deletion's answer:
 * before that answer a marker of the file or of its owner is written here, and every copy that was begun before the
 * marker is void, even one that is still being stored. Whatever fails here costs a question to D1 and R2.
 */
export interface EdgeCache {
  find(address: ContentAddress, nowMs: number): Promise<KeptContent | undefined>;
  /**
   * Copies a body while it is sent; the stream to send instead. `waitUntil` takes the work that goes on. What is too large,
   * or too much at once, is not copied.
   */
  keep(
    address: ContentAddress,
    about: AboutContent,
    body: ReadableStream<Uint8Array>,
    waitUntil: (work: Promise<unknown>) => void,
  ): ReadableStream<Uint8Array>;
  /** Copies of the file and of all its variants, begun until now. */
  voidFile(fileId: string): Promise<void>;
  /** Copies of all public files of a client's tenant, begun until now. */
  voidOwner(owner: ContentOwner): Promise<void>;
}

export interface ContentAddress {
  readonly fileId: string;
  /** Undefined for the master. */
  readonly variant: VariantName | undefined;
}

export interface ContentOwner {
  readonly client: string;
  readonly tenant: string;
}

export interface AboutContent {
  readonly owner: ContentOwner;
  /** When the Worker began to ask D1. */
  readonly readAtMs: number;
  /** With its quotes. */
  readonly etag: string;
  readonly lastModifiedMs: number;
  readonly sizeBytes: number;
  readonly contentType: string;
  readonly fileName?: string | undefined;
}

export interface KeptContent {
  readonly about: AboutContent;
  /** Read or cancelled by the caller. */
  readonly body: ReadableStream<Uint8Array>;
}

/** For a runtime without a cache. */
export const noEdgeCache: EdgeCache = {
  find: async () => undefined,
  keep: (_, __, body) => body,
  voidFile: async () => undefined,
  voidOwner: async () => undefined,
};

/** Where a copy says what it is of: JSON, percent-encoded, because a file's name may be in any script. */
const ABOUT = "content-about";
/** Until when, in ms, the copies that it voids were begun. */
const VOID_UNTIL = "void-until";

/** `origin`: one that the Worker is at, whatever address a request came by, so that a copy has one key. */
export function createEdgeCache({ cache, origin, clock, log }: EdgeCacheDeps): EdgeCache {
  const base = `${origin}/edge-cache/v1`;
  const fileMarker = (fileId: string): string => `${base}/void/file/${fileId}`;
  const ownerMarker = ({ client, tenant }: ContentOwner): string =>
    `${base}/void/owner/${encodeURIComponent(client)}/${encodeURIComponent(tenant)}`;
  const keyOf = ({ fileId, variant }: ContentAddress): string =>
    `${base}/content/${fileId}/${variant === undefined ? "master" : `${variant.type}-${variant.size}`}`;
  const reservations = new Reservations(LIMITS.edgeCopyBytesAtOnce, LIMITS.edgeCopyMs);

  const harmless = async <T>(work: Promise<T>): Promise<T | undefined> =>
    work.catch((thrown: unknown) => {
      log.warn("the edge cache failed", { error: describeError(thrown) });
      return undefined;
    });
  const putMarker = (key: string): Promise<void> => {
    const voidUntilMs = clock.nowMs() + LIMITS.edgeClockSkewMs;
    const headers = { [VOID_UNTIL]: String(voidUntilMs), "cache-control": `public, max-age=${LIMITS.edgeMarkerSec}` };
    return cache.put(key, new Response("void", { headers }));
  };
  const isVoid = async (marker: Promise<Response | undefined>, { readAtMs }: AboutContent): Promise<boolean> =>
    readAtMs <= Number((await marker)?.headers.get(VOID_UNTIL) ?? 0);
  const find = async (address: ContentAddress, nowMs: number): Promise<KeptContent | undefined> => {
    const key = keyOf(address);
    const marker = cache.match(fileMarker(address.fileId));
    const [found] = await Promise.all([cache.match(key), marker]);
    if (found === undefined || found.body === null) return undefined;
    const about = readAbout(found.headers);
    const ageMs = nowMs - about.readAtMs;
    // Below zero: the clock was set back.
    const isFresh = ageMs >= 0 && ageMs < LIMITS.publicMaxAgeSec * 1000;
    if (isFresh && !(await isVoid(marker, about)) && !(await isVoid(cache.match(ownerMarker(about.owner)), about)))
      return { about, body: found.body };
    await found.body.cancel();
    await cache.delete(key);
    return undefined;
  };

  return {
    find: (address, nowMs) => harmless(find(address, nowMs)),
    keep(address, about, body, waitUntil) {
      const key = keyOf(address);
      if (about.sizeBytes > LIMITS.edgeCopyMaxBytes) return body;
      const reserved = reservations.take(key, about.sizeBytes, about.readAtMs);
      if (reserved === undefined) return body;
      const [sent, copied] = body.tee();
      // The end of what is sent is watched: until then the part of the copy that its reader has not taken is in memory.
      const { readable, writable } = new FixedLengthStream(about.sizeBytes);
      const sending = sent.pipeTo(writable).catch(() => undefined);
      const copying = harmless(cache.put(key, new Response(copied, { headers: headersOf(about) })));
      Promise.all([sending, copying]).then(
        () => reservations.release(reserved),
        () => undefined,
      );
      waitUntil(copying);
      return readable;
    },
    async voidFile(fileId) {
      await harmless(Promise.all([putMarker(fileMarker(fileId)), cache.delete(keyOf({ fileId, variant: undefined }))]));
    },
    async voidOwner(owner) {
      await harmless(putMarker(ownerMarker(owner)));
    },
  };
}

export interface EdgeCacheDeps {
  readonly cache: Cache;
  readonly origin: string;
  readonly clock: Clock;
  readonly log: Log;
}

const headersOf = (about: AboutContent): Record<string, string> => ({
  [ABOUT]: encodeURIComponent(JSON.stringify(about)),
  "content-length": String(about.sizeBytes),
  "content-type": about.contentType,
  "cache-control": `public, max-age=${LIMITS.publicMaxAgeSec}`,
});

const readAbout = (headers: Headers): AboutContent =>
  JSON.parse(decodeURIComponent(headers.get(ABOUT) ?? "")) as AboutContent;

/**
 * How many bytes the work of an isolate may hold at once, and one piece of work for each key. What is never released,
 * because the runtime ended its request, ends by itself.
 */
export class Reservations {
  readonly #held = new Map<string, Reservation>();
  readonly #maxBytes: number;
  readonly #ttlMs: number;

  constructor(maxBytes: number, ttlMs: number) {
    this.#maxBytes = maxBytes;
    this.#ttlMs = ttlMs;
  }

  /** Undefined where there is no room, or the key is taken. */
  take(key: string, bytes: number, nowMs: number): Reservation | undefined {
    let heldBytes = bytes;
    for (const [held, { endsAtMs, bytes: also }] of this.#held)
      if (endsAtMs <= nowMs) this.#held.delete(held);
      else heldBytes += also;
    if (heldBytes > this.#maxBytes || this.#held.has(key)) return undefined;
    const reservation = { key, bytes, endsAtMs: nowMs + this.#ttlMs };
    this.#held.set(key, reservation);
    return reservation;
  }

  /** One that ended by itself may have a successor under its key, which stays. */
  release(reservation: Reservation): void {
    if (this.#held.get(reservation.key) === reservation) this.#held.delete(reservation.key);
  }
}

export interface Reservation {
  readonly key: string;
  readonly bytes: number;
  readonly endsAtMs: number;
}
