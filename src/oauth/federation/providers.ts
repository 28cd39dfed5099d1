import { FreshCache } from "../../platform/fresh-cache.ts";
import type { Isolate } from "../../platform/isolate.ts";
import type { Sealer } from "../../platform/seal.ts";
import type { FederationStore, ProviderButton, ProviderRecord } from "./federation-store.ts";

/** Seals the client secrets that the operator service stores. */
export interface ProviderSecrets {
  seal(id: string, secret: string): Promise<string>;
  open(id: string, sealed: string): Promise<string | undefined>;
}

const CACHE = { ttlMs: 30_000, maxEntries: 1_000 } as const;
/** Any other text cannot be an id, so it is not looked up. */
const ID = /^[A-Za-z0-9._-]{1,64}$/;

export type Providers = ReturnType<typeof createProviders>;

/** The registered providers. The isolate keeps each for 30 s, unknown ids too. */
export function createProviders(store: FederationStore, sealer: Sealer, isolate: Isolate) {
  const cache = new FreshCache<string, ProviderRecord | undefined>(CACHE, isolate);
  const buttons = new FreshCache<"", readonly ProviderButton[]>({ ...CACHE, maxEntries: 1 }, isolate);
  const secrets: ProviderSecrets = {
    seal: (id, secret) => sealer.seal(secret, providerSealContext(id)),
    open: (id, sealed) => sealer.open(sealed, providerSealContext(id)),
  };
  return {
    find: async (id: string, nowMs: number): Promise<ProviderRecord | undefined> =>
      ID.test(id) ? cache.get(id, nowMs, () => store.provider(id)) : undefined,
    /** The providers that the sign-in page of a client of this tenant offers. */
    buttonsFor: async (tenant: string, nowMs: number): Promise<readonly ProviderButton[]> =>
      (await buttons.get("", nowMs, () => store.buttons())).filter(
        ({ tenants }) => tenants.length === 0 || tenants.includes(tenant),
      ),
    /** Undefined if the key that sealed it is not configured any more. */
    openSecret: ({ id, sealedClientSecret }: ProviderRecord): Promise<string | undefined> =>
      secrets.open(id, sealedClientSecret),
    secrets,
    clear(): void {
      cache.clear();
      buttons.clear();
    },
  };
}

/** A sealed secret that is copied to another provider's row does not open. */
export const providerSealContext = (id: string): string => `identity_provider:${id}`;
