import { Attempts } from "../../platform/copies/attempts.ts";
import { FreshCache } from "../../platform/copies/fresh-cache.ts";
import type { Isolate } from "../../platform/copies/isolate.ts";
import { parseKeySet, type KeySet } from "../../platform/secrets/key-set.ts";
import { parseOutboundUrl } from "../../platform/outside/outbound-url.ts";
import { err, type Result } from "../../platform/model/result.ts";
import type { ClientRecord } from "./directory-store.ts";

/** The answer of an address. */
interface Fetched {
  readonly keys: Result<KeySet, string>;
  readonly atMs: number;
}

/** A key set is up to 32 KiB of text. */
const CACHE = { ttlMs: 600_000, maxEntries: 200 } as const;
/** Our choice: an address that failed is not asked again for this time. Anybody can send made-up assertions. */
const FAILURE_KEPT_MS = 30_000;
/** A set younger than this is not fetched again for an unknown key. */
const RENEWED_AFTER_MS = 30_000;

/** Fetches the JSON at an address, within limits. The error is for the log. */
export type FetchKeySet = (address: string) => Promise<Result<Readonly<Record<string, unknown>>, string>>;

export type ClientKeys = ReturnType<typeof createClientKeys>;

/**
 * The public keys of clients: registered with them, or fetched from their address and kept for ten minutes. They stay
 * for this time even if the address does not answer when a stranger's assertion names an unknown key.
 */
export function createClientKeys(
  isolate: Isolate,
  fetchKeySet: FetchKeySet,
  allowLoopback: boolean,
  timeoutMs: number,
) {
  const cache = new FreshCache<string, Fetched>(
    { ...CACHE, keeps: ({ keys }) => keys.ok },
    isolate,
    new Attempts(isolate, 2 * timeoutMs),
  );
  const failures = new Map<string, Fetched>();
  const ask = async (uri: string): Promise<Result<KeySet, string>> => {
    // Checked at registration and here again: the deployment may have become stricter.
    const address = parseOutboundUrl(uri, allowLoopback);
    if (!address.ok) return err(`the address of the keys ${address.error}`);
    const answer = await fetchKeySet(uri);
    return answer.ok ? parseKeySet(JSON.stringify(answer.value)) : answer;
  };
  const load = async (uri: string, atMs: number): Promise<Fetched> => {
    const failed = failures.get(uri);
    if (failed !== undefined && Math.abs(atMs - failed.atMs) <= FAILURE_KEPT_MS) return failed;
    const fetched = { keys: await ask(uri), atMs };
    failures.delete(uri);
    if (!fetched.keys.ok) failures.set(uri, fetched);
    for (const oldest of failures.keys()) {
      if (failures.size <= CACHE.maxEntries) break;
      failures.delete(oldest);
    }
    return fetched;
  };
  return {
    /** `newer`: no key of the cached set fits. */
    async find(
      { jwks = "", jwksUri = "" }: Pick<ClientRecord, "jwks" | "jwksUri">,
      nowMs: number,
      which: "known" | "newer",
    ): Promise<Result<KeySet, string>> {
      if (jwks !== "") return parseKeySet(jwks);
      if (jwksUri === "") return err("the client has no keys");
      const kept = await cache.get(jwksUri, nowMs, () => load(jwksUri, nowMs));
      return which === "newer" && nowMs - kept.atMs > RENEWED_AFTER_MS
        ? (await cache.renew(jwksUri, nowMs, () => load(jwksUri, nowMs))).keys
        : kept.keys;
    },
  };
}
