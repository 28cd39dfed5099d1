import { createReservations } from "../../platform/runtime/reservations.ts";
import type { Clock } from "../../platform/runtime/clock.ts";
import { describeError, type Log } from "../../platform/runtime/log.ts";
import { LIMITS } from "../model/limits.ts";
import type { VariantName } from "../model/sizes.ts";
import type { WaitUntil } from "../../platform/runtime/wait-until.ts";

/**
 * Copies of public content in the cache of the data centre where the Worker runs. A copy saves the reads of D1 and R2;
 * the Worker still evaluates conditions and ranges itself.
 *
 * A copy is fresh for 300 s from the moment at which the Worker began to read D1. So no data centre serves content for
 * more than 300 s after its deletion. The data centre of the deletion stops at once: before the deletion is answered,
 * the Worker writes a marker for the file or its owner. A copy that was begun before the marker is stale, even if it is
 * still being stored. If the cache fails, the answer comes from D1 and R2.
 */
export interface EdgeCache {
  find(address: ContentAddress, nowMs: number): Promise<CachedContent | undefined>;
  /**
   * Copies a body while it is sent, and returns the stream to send. It copies nothing if the content is too large or if
   * the isolate copies too much already.
   */
  store(
    address: ContentAddress,
    about: AboutContent,
    body: ReadableStream<Uint8Array>,
    waitUntil: WaitUntil,
  ): ReadableStream<Uint8Array>;
  /** Makes the copies of a file and all its variants stale. */
  invalidateFile(fileId: string): Promise<void>;
  /** Makes the copies of all public files of a client in a tenant stale. */
  invalidateOwner(owner: ContentOwner): Promise<void>;
}

export interface ContentAddress {
  readonly fileId: string;
  /** Undefined for the master. */
  readonly variant: VariantName | undefined;
}

interface ContentOwner {
  readonly client: string;
  readonly tenant: string;
}

export interface AboutContent {
  readonly owner: ContentOwner;
  /** The time at which the Worker began to read D1. */
  readonly readAtMs: number;
  /** With its quotes. */
  readonly etag: string;
  readonly lastModifiedMs: number;
  readonly sizeBytes: number;
  readonly contentType: string;
  readonly fileName?: string | undefined;
}

export interface CachedContent {
  readonly about: AboutContent;
  /** The caller must read or cancel it. */
  readonly body: ReadableStream<Uint8Array>;
}

/** For a runtime without a cache. */
export const noEdgeCache: EdgeCache = {
  find: async () => undefined,
  store: (_, __, body) => body,
  invalidateFile: async () => undefined,
  invalidateOwner: async () => undefined,
};

/**
 * The header of a copy with its `AboutContent`. The JSON is percent-encoded, since a file's name may be in any script.
 */
const ABOUT = "content-about";
/** The header of a marker: copies begun until this time, in ms, are stale. */
const STALE_UNTIL = "stale-until";

export interface EdgeCacheDeps {
  readonly cache: Cache;
  /** The origin of all keys, although requests come to several hosts. */
  readonly origin: string;
  readonly clock: Clock;
  readonly log: Log;
}

export function createEdgeCache({ cache, origin, clock, log }: EdgeCacheDeps): EdgeCache {
  const base = `${origin}/edge-cache/v1`;
  const fileMarker = (fileId: string): string => `${base}/void/file/${fileId}`;
  const ownerMarker = ({ client, tenant }: ContentOwner): string =>
    `${base}/void/owner/${encodeURIComponent(client)}/${encodeURIComponent(tenant)}`;
  const keyOf = ({ fileId, variant }: ContentAddress): string =>
    `${base}/content/${fileId}/${variant === undefined ? "master" : `${variant.type}-${variant.size}`}`;
  const reserve = createReservations(LIMITS.edgeCopyBytesAtOnce, LIMITS.edgeCopyMs);

  const logFailure = async <T>(work: Promise<T>): Promise<T | undefined> =>
    work.catch((thrown: unknown) => {
      log.warn("the edge cache failed", { error: describeError(thrown) });
      return undefined;
    });
  const putMarker = (key: string): Promise<void> => {
    const headers = {
      [STALE_UNTIL]: String(clock.nowMs()),
      "cache-control": `public, max-age=${LIMITS.edgeMarkerSec}`,
    };
    return cache.put(key, new Response("void", { headers }));
  };
  const isStale = async (marker: Promise<Response | undefined>, { readAtMs }: AboutContent): Promise<boolean> =>
    readAtMs <= Number((await marker)?.headers.get(STALE_UNTIL) ?? 0);
  const find = async (address: ContentAddress, nowMs: number): Promise<CachedContent | undefined> => {
    const key = keyOf(address);
    const marker = cache.match(fileMarker(address.fileId));
    const [found] = await Promise.all([cache.match(key), marker]);
    if (found === undefined || found.body === null) return undefined;
    const about = readAbout(found.headers);
    const ageMs = nowMs - about.readAtMs;
    // The age is negative if the clock was set back.
    const isFresh = ageMs >= 0 && ageMs < LIMITS.publicMaxAgeSec * 1000;
    if (isFresh && !(await isStale(marker, about)) && !(await isStale(cache.match(ownerMarker(about.owner)), about)))
      return { about, body: found.body };
    await found.body.cancel();
    await cache.delete(key);
    return undefined;
  };

  return {
    find: (address, nowMs) => logFailure(find(address, nowMs)),
    store(address, about, body, waitUntil) {
      const key = keyOf(address);
      if (about.sizeBytes > LIMITS.edgeCopyMaxBytes) return body;
      const release = reserve(key, about.sizeBytes, about.readAtMs);
      if (release === undefined) return body;
      const [sent, copied] = body.tee();
      // A tee holds the bytes that the slower reader has not read, so the reservation lasts until both are done.
      const { readable, writable } = new FixedLengthStream(about.sizeBytes);
      const sending = sent.pipeTo(writable).catch(() => undefined);
      const copying = logFailure(cache.put(key, new Response(copied, { headers: headersOf(about) })));
      Promise.all([sending, copying]).then(release, () => undefined);
      waitUntil(copying);
      return readable;
    },
    async invalidateFile(fileId) {
      const master = keyOf({ fileId, variant: undefined });
      await logFailure(Promise.all([putMarker(fileMarker(fileId)), cache.delete(master)]));
    },
    async invalidateOwner(owner) {
      await logFailure(putMarker(ownerMarker(owner)));
    },
  };
}

const headersOf = (about: AboutContent): Record<string, string> => ({
  [ABOUT]: encodeURIComponent(JSON.stringify(about)),
  "content-length": String(about.sizeBytes),
  "content-type": about.contentType,
  "cache-control": `public, max-age=${LIMITS.publicMaxAgeSec}`,
});

const readAbout = (headers: Headers): AboutContent =>
  JSON.parse(decodeURIComponent(headers.get(ABOUT) ?? "")) as AboutContent;
