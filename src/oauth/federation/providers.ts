import { FreshCache } from "../../platform/copies/fresh-cache.ts";
import type { Isolate } from "../../platform/copies/isolate.ts";
import type { Sealer } from "../../platform/secrets/seal.ts";
import { isBoundToTenants, mayVouchFor, reaches, type Binding } from "../model/binding.ts";
import type { FederationStore, OfferedProvider, ProviderRecord } from "./federation-store.ts";

/** Seals the client secrets that the operator service stores. */
interface ProviderSecrets {
  seal(id: string, secret: string): Promise<string>;
  open(id: string, sealed: string): Promise<string | undefined>;
}

const CACHE = { ttlMs: 30_000, maxEntries: 1_000 } as const;
/** Any other text cannot be an id, so it is not looked up. */
const ID = /^[A-Za-z0-9._-]{1,64}$/;

/** The purpose of a sign-in: clients of a tenant, or, undefined, the account page, which shows all of the account. */
type Place = string | undefined;

/** The registered providers. The isolate keeps each for 30 s, unknown ids too. */
export function createProviders(store: FederationStore, sealer: Sealer, isolate: Isolate) {
  const cache = new FreshCache<string, ProviderRecord | undefined>(CACHE, isolate);
  const list = new FreshCache<"", readonly OfferedProvider[]>({ ...CACHE, maxEntries: 1 }, isolate);
  const offered = (nowMs: number): Promise<readonly OfferedProvider[]> => list.get("", nowMs, () => store.offered());
  const secrets: ProviderSecrets = {
    seal: (id, secret) => sealer.seal(secret, providerSealContext(id)),
    open: (id, sealed) => sealer.open(sealed, providerSealContext(id)),
  };
  return {
    find: async (id: string, nowMs: number): Promise<ProviderRecord | undefined> =>
      ID.test(id) ? cache.get(id, nowMs, () => store.provider(id)) : undefined,
    /** The providers that a sign-in page offers. */
    buttonsFor: async (place: Place, nowMs: number): Promise<readonly OfferedProvider[]> =>
      (await offered(nowMs)).filter((one) => one.button !== "" && leadsTo(one, place)),
    /** The providers bound to domains, to which the address can lead there. */
    byDomain: async (place: Place, nowMs: number): Promise<readonly OfferedProvider[]> =>
      (await offered(nowMs)).filter((one) => one.domains.length > 0 && leadsTo(one, place)),
    /** The providers that a user of this address may link at the account page. */
    linkableBy: async (email: string, nowMs: number): Promise<readonly OfferedProvider[]> =>
      (await offered(nowMs)).filter((one) => one.button !== "" && isLinkableBy(one, email)),
    /** Undefined if the key that sealed it is not configured any more. */
    openSecret: ({ id, sealedClientSecret }: ProviderRecord): Promise<string | undefined> =>
      secrets.open(id, sealedClientSecret),
    secrets,
    clear(): void {
      cache.clear();
      list.clear();
    },
  };
}

/** A sealed secret that is copied to another provider's row does not open. */
export const providerSealContext = (id: string): string => `identity_provider:${id}`;

const leadsTo = (provider: Binding, place: Place): boolean =>
  place === undefined ? !isBoundToTenants(provider) : reaches(provider, place);

/** True for a provider that may vouch for the address, is not bound to tenants, and lets users link themselves. */
export const isLinkableBy = (provider: Pick<OfferedProvider, keyof Binding | "linking">, email: string): boolean =>
  provider.linking !== "operator" && !isBoundToTenants(provider) && mayVouchFor(provider, email);
