import { FreshCache } from "../../platform/fresh-cache.ts";
import type { Sealer } from "../../platform/seal.ts";
import type { FederationStore, ProviderRecord } from "./federation-store.ts";

/** The providers that the operator registered, each kept 30 s in the isolate (contract 2.1), unknown ones too. */
export interface Providers {
  find(id: string, nowMs: number): Promise<ProviderRecord | undefined>;
  /** Undefined when it was sealed under a key that is not configured any more. */
  openSecret(provider: ProviderRecord): Promise<string | undefined>;
  /** For the operator service, which stores what this gives. */
  readonly secrets: ProviderSecrets;
  clear(): void;
}

export interface ProviderSecrets {
  seal(id: string, secret: string): Promise<string>;
  open(id: string, sealed: string): Promise<string | undefined>;
}

const CACHE = { ttlMs: 30_000, maxEntries: 1_000 } as const;
/** What does not look like an id is unknown without being looked up. */
const ID = /^[A-Za-z0-9._-]{1,64}$/;

export function createProviders(store: FederationStore, sealer: Sealer): Providers {
  const cache = new FreshCache<string, ProviderRecord | undefined>(CACHE);
  return {
    find: async (id, nowMs) => (ID.test(id) ? cache.get(id, nowMs, () => store.provider(id)) : undefined),
    openSecret: ({ id, sealedClientSecret }) => sealer.open(sealedClientSecret, providerSealContext(id)),
    secrets: {
      seal: (id, secret) => sealer.seal(secret, providerSealContext(id)),
      open: (id, sealed) => sealer.open(sealed, providerSealContext(id)),
    },
    clear: () => cache.clear(),
  };
}

/** A sealed secret copied to another provider's row does not open. */
export const providerSealContext = (id: string): string => `identity_provider:${id}`;
