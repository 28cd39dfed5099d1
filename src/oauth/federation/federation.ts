/**
 * Signing in at a provider of somebody else (contract 2.4): OpenID Connect, code flow with PKCE. The platform is a client
 * there, and its own clients never see the provider's tokens.
 *
 *   /authorize ──begin──▶ pending ──the browser comes back──▶ taken ──vouch──▶ signed in ──▶ on with the request
 *                            │                                  └── an error, an answer that is not to be believed,
 *                            │                                      no user here: back to the client with the error
 *                            └── 10 min · provider removed: over; who comes back then sees a page
 *
 * A state is taken once, by the browser that was sent off with it; everybody else sees a page and learns nothing. Where to
 * look: begin.ts and callback.ts (the two ways through a browser), vouch.ts (code → ID token → e-mail → user).
 *
 * What a provider says is believed only if: the issuer is the registered one in discovery, in the answer (RFC 9207) and
 * in the ID token; each provider has a redirect address of its own (RFC 9700 4.4.2.2); the token is signed by the
 * provider's own key, was made for this sign-in (nonce, PKCE) and for nobody else; and the e-mail is verified.
 */
import type { Sealer } from "../../platform/seal.ts";
import { createFederationStore } from "../store/federation-store.ts";
import { createProviderKeys, type ProviderKeys } from "./keys.ts";
import { createMetadataSource, type MetadataSource } from "./metadata.ts";
import { createPendingSignIns, type PendingSignIns } from "./pending.ts";
import { createProviders, type Providers } from "./providers.ts";

export interface Federation {
  readonly providers: Providers;
  readonly pending: PendingSignIns;
  readonly metadata: MetadataSource;
  readonly keys: ProviderKeys;
  /** Removes at most `limit` sign-ins that nobody came back from; returns how many. */
  forgetExpired(nowMs: number, limit: number): Promise<number>;
}

export function createFederation(deps: {
  readonly db: D1Database;
  readonly sealer: Sealer;
  readonly allowLoopback: boolean;
}): Federation {
  const store = createFederationStore(deps.db);
  return {
    providers: createProviders(store, deps.sealer),
    pending: createPendingSignIns(store, deps.sealer),
    metadata: createMetadataSource(deps.allowLoopback),
    keys: createProviderKeys(),
    forgetExpired: store.forgetExpired,
  };
}
