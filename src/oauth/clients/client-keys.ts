import { Attempts } from "../../platform/copies/attempts.ts";
import { FreshCache } from "../../platform/copies/fresh-cache.ts";
import type { Isolate } from "../../platform/copies/isolate.ts";
import { parseKeySet, type KeySet } from "../../platform/secrets/key-set.ts";
import { parseOutboundUrl } from "../../platform/outside/outbound-url.ts";
import { err, type Result } from "../../platform/model/result.ts";
import type { ClientRecord } from "./directory-store.ts";

/** A key set that was fetched. */
interface Fetched {
  readonly keys: Result<KeySet, string>;
  readonly atMs: number;
}

/** A key set is up to 32 KiB of text. Failures are kept too, or anybody could make the platform call a dead address. */
const CACHE = { ttlMs: 600_000, maxEntries: 200 } as const;
const FAILURE_KEPT_MS = 30_000;
/** A set younger than this is not fetched again for an unknown key: anybody can send made-up assertions. */
const RENEWED_AFTER_MS = 30_000;

/** Fetches the JSON at an address, within limits. The error is for the log. */
export type FetchKeySet = (address: string) => Promise<Result<Readonly<Record<string, unknown>>, string>>;

export type ClientKeys = ReturnType<typeof createClientKeys>;

/** The public keys of clients: registered with them, or fetched from their address and kept for ten minutes. */
export function createClientKeys(
  isolate: Isolate,
  fetchKeySet: FetchKeySet,
  allowLoopback: boolean,
  timeoutMs: number,
) {
  const cache = new FreshCache<string, Fetched>(CACHE, isolate, new Attempts(isolate, 2 * timeoutMs));
  const load = async (uri: string, atMs: number): Promise<Fetched> => {
    // Checked at registration and here again: the deployment may have become stricter.
    const address = parseOutboundUrl(uri, allowLoopback);
    if (!address.ok) return { keys: err(`the address of the keys ${address.error}`), atMs };
    const answer = await fetchKeySet(uri);
    return { keys: answer.ok ? parseKeySet(JSON.stringify(answer.value)) : answer, atMs };
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
      const ask = () => cache.get(jwksUri, nowMs, () => load(jwksUri, nowMs));
      const kept = await ask();
      const ageMs = nowMs - kept.atMs;
      const wanted = kept.keys.ok ? which === "newer" && ageMs > RENEWED_AFTER_MS : ageMs > FAILURE_KEPT_MS;
      if (!wanted) return kept.keys;
      cache.outdate(jwksUri);
      return (await ask()).keys;
    },
  };
}
