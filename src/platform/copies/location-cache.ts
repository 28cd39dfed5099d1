import { toBase64Url, utf8 } from "../text/encoding.ts";
import type { Read, Source } from "./fresh-cache.ts";
import type { Isolate } from "./isolate.ts";
import { describeError, type Log } from "../runtime/log.ts";
import type { Sealer } from "../secrets/seal.ts";

/**
 * Copies of records from D1, in the cache of the location (the data centre) where the Worker runs. All isolates of the
 * location read them, so D1 gets a query from each location and not from each isolate.
 *
 *   isolate ──its own copy is old──▶ location ──no copy, or one too old──▶ D1 ──▶ a copy for the others
 *
 * - A copy has the time when its read began, and an isolate counts its age from then, so ages do not add up. The time
 *   is that of the machine that read; the clocks of one location differ by milliseconds.
 * - A copy is sealed together with its name. Another reader of the zone's cache cannot learn the digest of a secret,
 *   and another writer cannot forge a signing key or hide a revocation. The address is a MAC, so only holders of the
 *   key can request it.
 * - A lost copy, a copy that does not open and a cache that fails count as misses.
 */
export interface LocationCache {
  /** The copy, if the reading of it began less than `maxAgeMs` ago and after `sinceMs`. */
  find(name: string, within: Within): Promise<Read<unknown> | undefined>;
  /** Claims the reading of a record. False if another isolate has a claim that is not over. */
  claim(name: string, claim: Claim): Promise<boolean>;
  /** Ends a claim without a copy, in the background. */
  release(name: string): void;
  /** Writes a copy in the background. */
  put(name: string, read: Read<unknown>, keptMs: number): void;
}

interface Claim {
  readonly nowMs: number;
  readonly forMs: number;
  /** True if only one isolate may get the claim. Otherwise several that claim at the same moment may get it. */
  readonly isAlone?: boolean;
}

interface Within {
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

/** Maximum size of a copy: sealing and reading a larger one costs more than it saves. */
export const MAX_COPY_CHARS = 4 * 1024 * 1024;
/** Duration of a claim. Others do not wait longer for an isolate that has no answer. */
const CLAIM_MS = 5_000;
/** After this time, all claims of the same moment are written. */
const SETTLED_MS = 30;
/** While D1 does not respond, one isolate of a location may ask for one record in each such time. */
const PROBE = { name: "a probe of D1", forMs: 4_000 } as const;
/** Tolerated difference of clocks: a change and a copy may come from two machines. */
const SKEW_MS = 1_000;

export function createLocationCache(deps: LocationCacheDeps): LocationCache {
  const { cache, origin, sealer, addressOf, isolate, log } = deps;
  const context = (name: string): string => `location copy:${name}`;
  const urlOf = async (name: string): Promise<string> => `${origin}/edge-cache/v1/copy/${await addressOf(name)}`;
  const orMiss = (work: Promise<unknown>): Promise<unknown> =>
    work.catch((thrown: unknown) => {
      log.warn("the location's cache failed", { error: describeError(thrown) });
    });

  const claimOf = (name: string): Promise<string> => urlOf(`claim of ${name}`);
  const endClaim = async (name: string): Promise<void> => cache.put(await claimOf(name), "0", 1);
  const open = async (name: string): Promise<Read<unknown> | undefined> => {
    const sealed = await cache.get(await urlOf(name));
    const text = sealed === undefined ? undefined : await sealer.open(sealed, context(name));
    return text === undefined ? undefined : (JSON.parse(text) as Read<unknown>);
  };
  const write = async (name: string, read: Read<unknown>, keptMs: number): Promise<void> => {
    const text = JSON.stringify(read);
    if (text.length > MAX_COPY_CHARS) return endClaim(name);
    // Copies that were made at the same time, as after a stall of D1, must not end at the same time.
    const ownMs = keptMs * (1 - isolate.chance() / 2);
    await cache.put(await urlOf(name), await sealer.seal(text, context(name)), Math.ceil(ownMs / 1000));
  };
  return {
    async find(name: string, { nowMs, maxAgeMs, sinceMs }: Within) {
      const found = (await orMiss(open(name))) as Read<unknown> | undefined;
      if (found === undefined || found.readAtMs <= sinceMs + SKEW_MS) return undefined;
      // A copy from the future means that the clock was set back.
      const isYoung = found.readAtMs > nowMs - maxAgeMs && found.readAtMs <= nowMs + SKEW_MS;
      return isYoung ? { value: found.value, readAtMs: Math.min(found.readAtMs, nowMs) } : undefined;
    },
    async claim(name, { nowMs, forMs, isAlone = false }) {
      const isOthers = async (): Promise<boolean> => {
        const url = await claimOf(name);
        const untilMs = Number.parseFloat((await cache.get(url)) ?? "0");
        if (untilMs > nowMs && untilMs <= nowMs + forMs + SKEW_MS) return true;
        const own = `${nowMs + forMs} ${isolate.chance()}`;
        const written = orMiss(cache.put(url, own, Math.ceil(forMs / 1000)));
        isolate.keepAlive(written);
        // Awaited only with `isAlone`: of isolates that claim at the same moment, the last one wins.
        if (!isAlone) return false;
        await written;
        await isolate.pause(SETTLED_MS);
        const last = await cache.get(url);
        return last !== undefined && last !== own;
      };
      return (await orMiss(isOthers())) !== true;
    },
    release: (name) => isolate.keepAlive(orMiss(endClaim(name))),
    put: (name, read, keptMs) => isolate.keepAlive(orMiss(write(name, read, keptMs))),
  };
}

/** For a platform that runs on one machine, and a runtime without a cache. */
export const noLocationCache: LocationCache = {
  find: async () => undefined,
  claim: async () => true,
  release: () => undefined,
  put: () => undefined,
};

export interface SharedRecord<R, V> {
  readonly name: string;
  readonly nowMs: number;
  readonly maxAgeMs: number;
  /** Reads it from D1. */
  readonly read: () => Promise<R>;
  readonly valueOf: (record: R) => V;
  /** The records to copy. Default: all. */
  readonly keeps?: (record: R) => boolean;
}

/** A source that finds the location's copy of a record, or reads the record, which then becomes the copy. */
export function throughLocation<R, V>(location: LocationCache, shared: SharedRecord<R, V>): Source<V> {
  const { name, nowMs, maxAgeMs, read, valueOf, keeps = () => true } = shared;
  const ask = async (): Promise<Read<V>> => {
    let isKept = false;
    try {
      const own = { value: await read(), readAtMs: nowMs };
      isKept = keeps(own.value);
      if (isKept) location.put(name, own, maxAgeMs);
      return { value: valueOf(own.value), readAtMs: nowMs };
    } finally {
      // Ends the claim, so that no isolate waits for a copy that does not come.
      if (!isKept) location.release(name);
    }
  };
  if (location === noLocationCache) return { ask };
  return {
    ask,
    claim: (atMs, isProbe) =>
      isProbe
        ? location.claim(PROBE.name, { nowMs: atMs, forMs: PROBE.forMs, isAlone: true })
        : location.claim(name, { nowMs: atMs, forMs: CLAIM_MS }),
    async copy(atMs, sinceMs) {
      const found = (await location.find(name, { nowMs: atMs, maxAgeMs, sinceMs })) as Read<R> | undefined;
      return found === undefined ? undefined : { value: valueOf(found.value), readAtMs: found.readAtMs };
    },
  };
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
