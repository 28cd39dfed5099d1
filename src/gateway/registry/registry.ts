import { FreshCache } from "../../platform/fresh-cache.ts";
import { parseOutboundUrl } from "../../platform/outbound-url.ts";
import { ok, type Result } from "../../platform/result.ts";
import { createRewriter, type Rewriter } from "../rewrite/rewriter.ts";
import type { RegistryStore, ServiceRow } from "./registry-store.ts";

/** A service behind the gateway. */
export interface Registered extends Omit<ServiceRow, "sourceUrl"> {
  /** As it was registered, without a slash at the end. */
  readonly sourceUrl: string;
  /** The same as it is called, or why it must not be called. */
  readonly address: Result<string, string>;
  /** Of its address, without a slash at the end. */
  readonly sourcePath: string;
  /** From its own address to this public one. */
  rewriterTo(publicUrl: string): Rewriter;
}

/** Which service answers at a path; a change by an operator is seen at once here and within 30 s everywhere. */
export interface Registry {
  /** The service with the longest proxy path that the path is, or lies below. */
  find(path: string, nowMs: number): Promise<Registered | undefined>;
  clear(): void;
}

/**
 * The whole list under one key: a path that leads nowhere costs no look into the database, whoever makes up how many.
 * An operator registers thousands of services at most.
 */
const CACHE = { ttlMs: 30_000, maxEntries: 1 } as const;
const ALL = "all";

export function createRegistry(store: RegistryStore, allowLoopback: boolean): Registry {
  const cache = new FreshCache<typeof ALL, ReadonlyMap<string, Registered>>(CACHE);
  const load = async () => new Map((await store.all()).map((row) => [row.proxyPath, toRegistered(row, allowLoopback)]));
  return {
    async find(path, nowMs) {
      const services = await cache.get(ALL, nowMs, load);
      for (const prefix of prefixesOf(path)) {
        const found = services.get(prefix);
        if (found !== undefined) return found;
      }
      return undefined;
    },
    clear: () => cache.clear(),
  };
}

/** What does not change from one request to the next is made once. */
function toRegistered(row: ServiceRow, allowLoopback: boolean): Registered {
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
      // Another one only where the platform is reached by several names.
      if (last?.publicUrl !== publicUrl) last = { publicUrl, rewriter: createRewriter(sourceUrl, publicUrl) };
      return last.rewriter;
    },
  };
}

/** The most segments that a proxy path has. */
const MAX_SEGMENTS = 8;

/** `/a/b/c` → `/a/b/c`, `/a/b`, `/a`: whole segments, the longest first. */
function prefixesOf(path: string): string[] {
  const segments = path.split("/").slice(1, MAX_SEGMENTS + 1);
  return segments.map((_, index) => `/${segments.slice(0, segments.length - index).join("/")}`);
}
