import { createLocalJWKSet, errors as joseErrors, type JSONWebKeySet, type JWTVerifyGetKey } from "jose";
import { Attempts } from "../../platform/copies/attempts.ts";
import { FreshCache } from "../../platform/copies/fresh-cache.ts";
import type { Isolate } from "../../platform/copies/isolate.ts";
import { ok, type Result } from "../../platform/model/result.ts";
import { faulty, type FederationFailure } from "../model/provider-failure.ts";
import { FETCH_LIMITS, type FetchJson } from "./fetch-json.ts";

export interface KeySet {
  readonly find: JWTVerifyGetKey;
  /** The keys come from the cache; the provider may have newer ones. */
  readonly kept: boolean;
}

/** Our choice, as for metadata. A key set is up to 256 KiB of text. */
const CACHE = { ttlMs: 600_000, maxEntries: 32 } as const;

export type ProviderKeys = ReturnType<typeof createProviderKeys>;

/** The public keys of providers, cached as long as their metadata. */
export function createProviderKeys(isolate: Isolate, fetchJson: FetchJson) {
  const cache = new FreshCache<string, Result<JSONWebKeySet, FederationFailure>>(
    { ...CACHE, keeps: (kept) => kept.ok },
    isolate,
    // A failed call is a value, so one provider's failure is not another's.
    new Attempts(isolate, 2 * FETCH_LIMITS.timeoutMs),
  );
  return {
    /** `known`: cached keys will do. `now`: asks the provider, because no cached key fits its signature. */
    async find(jwksUri: string, nowMs: number, which: "known" | "now"): Promise<Result<KeySet, FederationFailure>> {
      let kept = true;
      const load = () => {
        kept = false;
        return loadKeys(jwksUri, fetchJson);
      };
      const keys = await (which === "now" ? cache.renew(jwksUri, nowMs, load) : cache.get(jwksUri, nowMs, load));
      // Made anew each time: it holds keys as promises while it imports them, and a promise belongs to one request.
      return keys.ok ? ok({ find: createLocalJWKSet(keys.value), kept }) : keys;
    },
  };
}

/** Asks the provider now. */
export async function loadKeys(
  jwksUri: string,
  fetchJson: FetchJson,
): Promise<Result<JSONWebKeySet, FederationFailure>> {
  const answer = await fetchJson(jwksUri);
  if (!answer.ok) return answer;
  if (answer.value.status >= 300) return faulty(`the keys at ${jwksUri}: ${answer.value.status}`);
  const keys = answer.value.body as unknown as JSONWebKeySet;
  try {
    createLocalJWKSet(keys);
    return ok(keys);
  } catch (thrown) {
    if (thrown instanceof joseErrors.JOSEError) return faulty(`the keys at ${jwksUri}: ${thrown.message}`);
    throw thrown;
  }
}
