import { FreshCache } from "../../platform/copies/fresh-cache.ts";
import type { Isolate } from "../../platform/copies/isolate.ts";
import { throughLocation, type LocationCache } from "../../platform/copies/location-cache.ts";
import { parseOutboundUrl } from "../../platform/outside/outbound-url.ts";
import { ok, type Result } from "../../platform/model/result.ts";
import { createRewriter, type Rewriter } from "../rewrite/rewriter.ts";
import type { RegistryStore, ServiceRow } from "./registry-store.ts";

/** A service behind the gateway. */
export interface RegisteredService extends ServiceRow {
  /** The private address to call, or the reason why it must not be called. */
  readonly address: Result<string, string>;
  /** Path of the private address, without a slash at the end. */
  readonly sourcePath: string;
  /** Rewrites the private address to the public one. */
  rewriterTo(publicUrl: string): Rewriter;
}

/** Finds the service of a path. An operator's change takes effect at once in its isolate, and within 30 s elsewhere. */
export interface Registry {
  /** The service with the longest proxy path that is the path or a parent of it. */
  find(path: string, nowMs: number): Promise<RegisteredService | undefined>;
  clear(): void;
}

/**
 * The cache keeps the whole list under one key, so that a path without a service costs no database query, however many
 * such paths a caller makes up. An operator registers thousands of services at most.
 */
const CACHE = { ttlMs: 30_000, aheadMs: 10_000, maxEntries: 1 } as const;
/** Maximum age of a copy that the isolates of a location share. */
const LOCATION_AGE_MS = 10_000;
const ALL = "all";

export function createRegistry(
  store: RegistryStore,
  allowLoopback: boolean,
  isolate: Isolate,
  location: LocationCache,
): Registry {
  const cache = new FreshCache<typeof ALL, ReadonlyMap<string, RegisteredService>>(CACHE, isolate);
  const valueOf = (rows: readonly ServiceRow[]) =>
    new Map(rows.map((row) => [row.proxyPath, toRegisteredService(row, allowLoopback)]));
  return {
    async find(path, nowMs) {
      const services = await cache.getFrom(
        ALL,
        nowMs,
        throughLocation(location, {
          name: "services",
          nowMs,
          maxAgeMs: LOCATION_AGE_MS,
          read: () => store.all(),
          valueOf,
        }),
      );
      for (const prefix of prefixesOf(path)) {
        const found = services.get(prefix);
        if (found !== undefined) return found;
      }
      return undefined;
    },
    clear: () => cache.clear(),
  };
}

/** Computes the values that are the same for every request. */
function toRegisteredService(row: ServiceRow, allowLoopback: boolean): RegisteredService {
  const sourceUrl = row.sourceUrl.replace(/\/+$/, "");
  const address = parseOutboundUrl(sourceUrl, allowLoopback);
  const sourcePath = address.ok ? address.value.pathname.replace(/\/+$/, "") : "";
  let last: { readonly publicUrl: string; readonly rewriter: Rewriter } | undefined;
  return {
    ...row,
    sourceUrl,
    address: address.ok ? ok(`${address.value.origin}${sourcePath}`) : address,
    sourcePath,
    rewriterTo(publicUrl) {
      // Only the last rewriter is kept: the address changes only if the platform has several host names.
      if (last?.publicUrl !== publicUrl) last = { publicUrl, rewriter: createRewriter(sourceUrl, publicUrl) };
      return last.rewriter;
    },
  };
}

/** Maximum segments of a proxy path that the operator service accepts. */
const MAX_SEGMENTS = 8;

/** `/a/b/c` → `/a/b/c`, `/a/b`, `/a`: whole segments, the longest first. */
function prefixesOf(path: string): string[] {
  const segments = path.split("/").slice(1, MAX_SEGMENTS + 1);
  return segments.map((_, index) => `/${segments.slice(0, segments.length - index).join("/")}`);
}
