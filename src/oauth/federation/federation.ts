/**
 * Signing in at a provider of somebody else (contract 2.4): OpenID Connect, code flow with PKCE. The platform is a client
 * there, and its own clients never see the provider's tokens.
 *
 *   /authorize ──begin──▶ pending ──the browser comes back──▶ taken ──vouch──▶ an account ──linked──▶ signed in ──▶ on
 *                            │                                  │                  └── not linked yet: linking.ts
 *                            │                                  └── an error, an answer that is not to be believed:
 *                            │                                      back to the client with the error
 *                            └── 10 min · provider removed: over; who comes back then sees a page
 *
 * A state is taken once, by the browser that was sent off with it; everybody else sees a page and learns nothing. Where to
 * look: begin.ts and endpoints/callback.ts (the two ways through a browser), vouch.ts (code → ID token → account), linking.ts and
 * endpoints/link-identity.ts (the account's first time), model/binding.ts (what the provider is trusted for).
 *
 * What a provider says is believed only if: the issuer is the registered one in discovery, in the answer (RFC 9207) and
 * in the ID token; each provider has a redirect address of its own (RFC 9700 4.4.2.2); the token is signed by the
 * provider's own key, was made for this sign-in (nonce, PKCE) and for nobody else. An account is known by issuer and `sub`
 * (OIDC Core 5.7); its e-mail counts once, to find whom to link it to, and is verified then.
 */
import { DEFAULT_PROVIDER } from "../../platform/names.ts";
import type { Sealer } from "../../platform/seal.ts";
import { isLocal, mayVouchFor, UNBOUND, type Binding, type Bindings } from "../model/binding.ts";
import { createFederationStore } from "./federation-store.ts";
import { createIdentityStore, type IdentityStore } from "./identity-store.ts";
import { createProviderKeys, type ProviderKeys } from "./keys.ts";
import { createMetadataSource, type MetadataSource } from "./metadata.ts";
import { createPendingSignIns, type PendingSignIns } from "./pending.ts";
import { createProviders, type Providers } from "./providers.ts";

export interface Federation extends Bindings {
  readonly providers: Providers;
  readonly pending: PendingSignIns;
  readonly metadata: MetadataSource;
  readonly keys: ProviderKeys;
  readonly identities: IdentityStore;
  /** Removes at most `limit` sign-ins that nobody came back from; returns how many. */
  deleteExpired(nowMs: number, limit: number): Promise<number>;
}

export function createFederation(deps: {
  readonly db: D1Database;
  readonly sealer: Sealer;
  readonly allowLoopback: boolean;
}): Federation {
  const store = createFederationStore(deps.db);
  const identities = createIdentityStore(deps.db);
  return {
    providers: createProviders(store, deps.sealer),
    pending: createPendingSignIns(store, deps.sealer),
    metadata: createMetadataSource(deps.allowLoopback),
    keys: createProviderKeys(),
    identities,
    findBinding: async (email, { provider = DEFAULT_PROVIDER, authenticatedAtMs }) =>
      isLocal(provider)
        ? UNBOUND
        : validBinding(email, await identities.findBinding(email, provider, authenticatedAtMs)),
    deleteExpired: store.deleteExpired,
  };
}

/** What it is bound to, unless that leaves the user out. */
const validBinding = (email: string, binding: Binding | undefined): Binding | undefined =>
  binding !== undefined && mayVouchFor(binding, email) ? binding : undefined;
