import { toBase64Url, utf8 } from "./encoding.ts";
import type { Read } from "./fresh-cache.ts";
import type { Isolate } from "./isolate.ts";
import { describeError, type Log } from "./log.ts";
import type { Sealer } from "./seal.ts";

/**
 * Copies of what D1 said, in the cache of the location (the data centre) where the Worker runs. All isolates of the
 * location read them, so D1 sees a query for each location and not for each isolate.
 *
 *   isolate ──its own copy is old──▶ location ──no copy, or one too old──▶ D1 ──▶ a copy for the others
 *
 * - A copy says when the reading of it began, and an isolate counts its age from there, so ages do not add up. The time
 *   is that of the machine that read; machines of one location differ by milliseconds.
 * - A copy is sealed together with its name. Another reader of the zone's cache learns no digest of a secret, another
 *   writer forges no signing key and hides no revocation. The address is a MAC, so nobody outside can ask for it.
 * - A lost copy, one that does not open and a cache that fails are misses.
 */
export interface LocationCache {
  /** The copy, if the reading of it began less than `maxAgeMs` ago and after `sinceMs`. */
  find(name: string, within: Within): Promise<Read<unknown> | undefined>;
  /** Writes a copy beside the answer. */
  put(name: string, read: Read<unknown>, keptMs: number): void;
}

export interface Within {
  readonly nowMs: number;
  readonly maxAgeMs: number;
  /** The last change made in this isolate, which an older copy would hide. */
  readonly sinceMs: number;
}

/** A cache of texts, such as the runtime's. */
export interface TextCache {
  get(address: string): Promise<string | undefined>;
  put(address: string, text: string, maxAgeSec: number): Promise<void>;
}

export interface LocationCacheDeps {
  readonly cache: TextCache;
  /** One origin for all addresses, though requests come by several hosts. */
  readonly origin: string;
  readonly sealer: Pick<Sealer, "seal" | "open">;
  /** An unguessable name of fixed length. */
  readonly addressOf: (name: string) => Promise<string>;
  readonly isolate: Isolate;
  readonly log: Pick<Log, "warn">;
}

/** Beyond this, to seal and read a copy costs more than it saves. */
const MAX_CHARS = 4 * 1024 * 1024;
/** A change and a copy may be of two machines, whose clocks differ. */
const SKEW_MS = 1_000;

export function createLocationCache(deps: LocationCacheDeps): LocationCache {
  const { cache, origin, sealer, addressOf, isolate, log } = deps;
  const context = (name: string): string => `location copy:${name}`;
  const urlOf = async (name: string): Promise<string> => `${origin}/edge-cache/v1/copy/${await addressOf(name)}`;
  const orMiss = (work: Promise<unknown>): Promise<unknown> =>
    work.catch((thrown: unknown) => {
      log.warn("the location's cache failed", { error: describeError(thrown) });
    });

  const open = async (name: string): Promise<Read<unknown> | undefined> => {
    const sealed = await cache.get(await urlOf(name));
    const text = sealed === undefined ? undefined : await sealer.open(sealed, context(name));
    return text === undefined ? undefined : (JSON.parse(text) as Read<unknown>);
  };
  const write = async (name: string, read: Read<unknown>, keptMs: number): Promise<void> => {
    const text = JSON.stringify(read);
    if (text.length > MAX_CHARS) return;
    await cache.put(await urlOf(name), await sealer.seal(text, context(name)), Math.ceil(keptMs / 1000));
  };
  return {
    async find(name: string, { nowMs, maxAgeMs, sinceMs }: Within) {
      const found = (await orMiss(open(name))) as Read<unknown> | undefined;
      if (found === undefined || found.readAtMs <= sinceMs + SKEW_MS) return undefined;
      // A copy of the future means that the clock was set back.
      // Some isolates read D1 a little early, so that not all do when the copy is too old.
      const isYoung =
        found.readAtMs > nowMs - maxAgeMs * (1 - isolate.chance() / 4) && found.readAtMs <= nowMs + SKEW_MS;
      return isYoung ? { value: found.value, readAtMs: Math.min(found.readAtMs, nowMs) } : undefined;
    },
    put: (name, read, keptMs) => isolate.keepAlive(orMiss(write(name, read, keptMs))),
  };
}

/** For a platform that runs on one machine, and a runtime without a cache. */
export const noLocationCache: LocationCache = { find: async () => undefined, put: () => undefined };

/** Reads the location's copy of a record, else the record, which becomes the copy. */
export async function readThrough<T>(
  location: LocationCache,
  name: string,
  within: Within,
  read: () => Promise<T>,
  keeps: (value: T) => boolean = () => true,
): Promise<Read<T>> {
  const copy = (await location.find(name, within)) as Read<T> | undefined;
  if (copy !== undefined) return copy;
  const own = { value: await read(), readAtMs: within.nowMs };
  if (keeps(own.value)) location.put(name, own, within.maxAgeMs);
  return own;
}

export const textCacheOf = (cache: Cache): TextCache => ({
  get: async (address) => (await cache.match(address))?.text(),
  put: (address, text, maxAgeSec) =>
    cache.put(address, new Response(text, { headers: { "cache-control": `public, max-age=${maxAgeSec}` } })),
});

/** Addresses that only holders of the platform's key can make. */
export const macAddresses =
  (sealer: Pick<Sealer, "macKeys">) =>
  async (name: string): Promise<string> => {
    const [key] = await sealer.macKeys("location copies");
    if (key === undefined) throw new Error("a sealer has a key");
    return toBase64Url(new Uint8Array(await crypto.subtle.sign("HMAC", key, utf8(name))));
  };
