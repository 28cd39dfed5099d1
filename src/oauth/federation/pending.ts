import { equalDigests, sha256Hex } from "../../platform/secrets/hash.ts";
import { err, ok, type Result } from "../../platform/model/result.ts";
import type { Sealer } from "../../platform/secrets/seal.ts";
import type { FederationStore } from "./federation-store.ts";
import type { LinkFor } from "./identity-store.ts";

/** A sign-in in progress at a provider: its expected response and its purpose. */
export interface PendingSignIn {
  readonly provider: string;
  /** The provider's issuer and our client id there when the sign-in began. */
  readonly issuer: string;
  readonly clientId: string;
  readonly nonce: string;
  /** PKCE (RFC 7636). */
  readonly verifier: string;
  /** The authorization request to continue with, form-encoded, or `FOR_ACCOUNT`. */
  readonly request: string;
  readonly begunAtMs: number;
  /** A person who is signed in links the account there. Undefined: somebody signs in. */
  readonly linkFor?: LinkFor | undefined;
}

/** Used instead of a request, which is never empty: the user signs in for the account page. */
export const FOR_ACCOUNT = "";

/** Leaves people time at the provider. */
const LIFETIME_MS = 600_000;

export function createPendingSignIns(store: FederationStore, sealer: Sealer) {
  return {
    /** Returns false if the provider has just been removed. */
    async add(state: string, browserKey: string, pending: PendingSignIn): Promise<boolean> {
      const stateHash = await sha256Hex(state);
      return store.begin({
        stateHash,
        browserHash: await sha256Hex(browserKey),
        provider: pending.provider,
        sealed: await sealer.seal(JSON.stringify(pending), sealContext(stateHash)),
        expiresAtMs: pending.begunAtMs + LIFETIME_MS,
      });
    },
    /** Removes and returns the sign-in of this state. The error says why this browser has none. */
    async take(state: string, browserKey: string | undefined, nowMs: number): Promise<Result<PendingSignIn, string>> {
      const row = await store.take(await sha256Hex(state));
      if (row === undefined) return err("the state is unknown or was used before");
      if (row.expiresAtMs <= nowMs) return err("the state has expired");
      if (browserKey === undefined || !equalDigests(row.browserHash, await sha256Hex(browserKey)))
        return err("the state is another browser's");
      const opened = await sealer.open(row.sealed, sealContext(row.stateHash));
      if (opened === undefined) return err("the state cannot be opened: SEAL_KEYS lacks its key");
      return ok(JSON.parse(opened) as PendingSignIn);
    },
  };
}

/** Text that is sealed for one state opens for no other. */
const sealContext = (stateHash: string): string => `federation:${stateHash}`;
