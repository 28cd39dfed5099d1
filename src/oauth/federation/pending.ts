import { equalDigests, sha256Hex } from "../../platform/hash.ts";
import { err, ok, type Result } from "../../platform/result.ts";
import type { Sealer } from "../../platform/seal.ts";
import type { FederationStore } from "./federation-store.ts";

/** A sign-in that is under way at a provider: what its answer must fit, and what it is for. */
export interface PendingSignIn {
  readonly provider: string;
  /** The provider's issuer and our client id there when the browser was sent off. */
  readonly issuer: string;
  readonly clientId: string;
  readonly nonce: string;
  /** Of PKCE (RFC 7636). */
  readonly verifier: string;
  /** The authorization request that the user signs in for, form-encoded, or `FOR_ACCOUNT`. */
  readonly request: string;
  readonly begunAtMs: number;
}

export interface PendingSignIns {
  /** False: there is no such provider any more. */
  add(state: string, browserKey: string, pending: PendingSignIn): Promise<boolean>;
  /** The sign-in of this state, once; the error says why there is none for this browser. */
  take(state: string, browserKey: string | undefined, nowMs: number): Promise<Result<PendingSignIn, string>>;
}

/** In place of a request, which is never empty: the user signs in for the platform's own page. */
export const FOR_ACCOUNT = "";

/** Issue 3: as long as people may take at a provider. */
const LIFETIME_MS = 600_000;

export function createPendingSignIns(store: FederationStore, sealer: Sealer): PendingSignIns {
  return {
    async add(state, browserKey, pending) {
      const stateHash = await sha256Hex(state);
      return store.begin({
        stateHash,
        browserHash: await sha256Hex(browserKey),
        provider: pending.provider,
        sealed: await sealer.seal(JSON.stringify(pending), sealContext(stateHash)),
        expiresAtMs: pending.begunAtMs + LIFETIME_MS,
      });
    },
    async take(state, browserKey, nowMs) {
      const row = await store.take(await sha256Hex(state));
      if (row === undefined) return err("the state is unknown or was used before");
      if (row.expiresAtMs <= nowMs) return err("the state has expired");
      if (browserKey === undefined || !equalDigests(row.browserHash, await sha256Hex(browserKey)))
        return err("the state is another browser's");
      const opened = await sealer.open(row.sealed, sealContext(row.stateHash));
      if (opened === undefined) return err("the state does not open: SEAL_KEYS lacks the key that sealed it");
      return ok(JSON.parse(opened) as PendingSignIn);
    },
  };
}

/** What is sealed for one state opens under no other. */
const sealContext = (stateHash: string): string => `federation:${stateHash}`;
