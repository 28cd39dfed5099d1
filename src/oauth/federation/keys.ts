import { createLocalJWKSet, errors as joseErrors, type JSONWebKeySet, type JWTVerifyGetKey } from "jose";
import { FreshCache } from "../../platform/fresh-cache.ts";
import { ok, type Result } from "../../platform/result.ts";
import { faulty, type FederationFailure } from "../model/provider-failure.ts";
import { fetchJson } from "./fetch-json.ts";

/** The public keys of providers, kept as long as their metadata. */
export interface ProviderKeys {
  /** `known`: kept ones will do. `now`: the provider is asked, since what it signed fits none that is kept. */
  of(jwksUri: string, nowMs: number, which: "known" | "now"): Promise<Result<KeySet, FederationFailure>>;
}

export interface KeySet {
  readonly find: JWTVerifyGetKey;
  /** They were kept; the provider may have others by now. */
  readonly kept: boolean;
}

/** Our choice, as for metadata; a set is up to 256 KiB of text. */
const CACHE = { ttlMs: 600_000, maxEntries: 32 } as const;

export function createProviderKeys(): ProviderKeys {
  const cache = new FreshCache<string, Result<JSONWebKeySet, FederationFailure>>({
    ...CACHE,
    keeps: (kept) => kept.ok,
  });
  return {
    async of(jwksUri, nowMs, which) {
      if (which === "now") cache.invalidate(jwksUri);
      let kept = true;
      const keys = await cache.get(jwksUri, nowMs, () => {
        kept = false;
        return load(jwksUri);
      });
      // Made anew each time: it remembers keys as promises while it imports them, and those belong to one request.
      return keys.ok ? ok({ find: createLocalJWKSet(keys.value), kept }) : keys;
    },
  };
}

async function load(jwksUri: string): Promise<Result<JSONWebKeySet, FederationFailure>> {
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
