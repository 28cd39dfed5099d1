/**
 * Sign-in at another identity provider: OpenID Connect, code flow with PKCE. The platform is a client there. Its own
 * clients never see the provider's tokens.
 *
 *   /authorize ──begin──▶ pending ──the browser comes back──▶ taken ──vouch──▶ an account ──linked──▶ signed in ──▶ on
 *                            │                                  │                  └── not linked yet: linking.ts
 *                            │                                  └── an error, or a response that fails a check:
 *                            │                                      back to the client with the error
 *                            └── 10 min · provider removed: over; a browser that comes back then sees a page
 *
 * A state is used once, by the browser that it was made for. Others see a page without details. begin.ts and
 * endpoints/callback.ts are the two ways through the browser, vouch.ts turns a code into an account, linking.ts and
 * endpoints/link-identity.ts handle an account's first sign-in, and model/binding.ts limits the trust in a provider.
 *
 * Checks on a provider: discovery, response (RFC 9207) and ID token name the registered issuer. Each provider has its
 * own redirect address (RFC 9700 4.4.2.2). The ID token is signed by the provider's own key and was made for this
 * sign-in (nonce, PKCE) and this client alone. Issuer and `sub` identify an account (OIDC Core 5.7). Its verified
 * e-mail address counts once, to find the user to link it to.
 */
import type { Isolate } from "../../platform/copies/isolate.ts";
import { DEFAULT_PROVIDER } from "../../platform/model/names.ts";
import type { Sealer } from "../../platform/secrets/seal.ts";
import type { Tracing } from "../../platform/ports/tracing.ts";
import { isLocal, mayVouchFor, UNBOUND, type Bindings } from "../model/binding.ts";
import { createFederationStore } from "./federation-store.ts";
import { createIdentityStore } from "./identity-store.ts";
import { tracedFetchJson } from "./fetch-json.ts";
import { createProviderKeys } from "./keys.ts";
import { createMetadataSource } from "./metadata.ts";
import { createPendingSignIns } from "./pending.ts";
import { createProviders } from "./providers.ts";
import { tryProvider, type ProviderTrial } from "./trial.ts";

export type Federation = ReturnType<typeof createFederation>;

export function createFederation(deps: {
  readonly db: D1Database;
  readonly sealer: Sealer;
  readonly allowLoopback: boolean;
  readonly isolate: Isolate;
  readonly tracing: Tracing;
}) {
  const fetchJson = tracedFetchJson(deps.tracing);
  const store = createFederationStore(deps.db);
  const identities = createIdentityStore(deps.db);
  const findBinding: Bindings["findBinding"] = async (email, { provider = DEFAULT_PROVIDER, authenticatedAtMs }) => {
    if (isLocal(provider)) return UNBOUND;
    const binding = await identities.findBinding(email, provider, authenticatedAtMs);
    return binding !== undefined && mayVouchFor(binding, email) ? binding : undefined;
  };
  const providers = createProviders(store, deps.sealer, deps.isolate);
  return {
    providers,
    /** Tries a provider; undefined: there is none of this id. */
    async tryProvider(id: string, redirectUri: string): Promise<ProviderTrial | undefined> {
      const provider = await store.provider(id);
      const { openSecret } = providers;
      return (
        provider && tryProvider({ fetchJson, allowLoopback: deps.allowLoopback, openSecret }, provider, redirectUri)
      );
    },
    pending: createPendingSignIns(store, deps.sealer),
    metadata: createMetadataSource(deps.allowLoopback, deps.isolate, fetchJson),
    keys: createProviderKeys(deps.isolate, fetchJson),
    fetchJson,
    identities,
    findBinding,
    /** Deletes at most `limit` sign-ins that expired and returns how many. */
    deleteExpired: store.deleteExpired,
  };
}
