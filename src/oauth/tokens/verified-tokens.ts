import { equalDigests } from "../../platform/hash.ts";
import type { IssuedToken } from "./trust.ts";

/** A token whose signature, type and claims were found right. */
export interface VerifiedToken {
  readonly token: string;
  /** The key that verified it. */
  readonly kid: string;
  readonly key: CryptoKey;
  readonly issued: IssuedToken;
}

/** Some 2 KB each. */
export const MAX_VERIFIED_TOKENS = 1_000;

/**
 * Tokens that this isolate verified lately: a client sends the same one with each request for an hour, and checking a
 * signature costs as much as everything else of a small request.
 *
 * They are known by what is signed, and only the very text that was verified is found (contract 2.1: libraries accept
 * variants of one token). Signatures are compared in constant time, or one could be guessed piece by piece. What ends a
 * token before its time is not known here: who finds one asks whether its key is still ours, and whether it is revoked.
 */
export class VerifiedTokens {
  readonly #tokens = new Map<string, VerifiedToken>();

  /** Undefined for a token that is not known or is over: reading it in full says what is wrong with it. */
  find(token: string, nowMs: number): VerifiedToken | undefined {
    const signatureAt = token.lastIndexOf(".");
    const known = this.#tokens.get(token.slice(0, signatureAt));
    if (known === undefined || known.issued.expiresAtSec * 1000 <= nowMs) return undefined;
    return equalDigests(token.slice(signatureAt), known.token.slice(signatureAt)) ? known : undefined;
  }

  remember(verified: VerifiedToken): void {
    this.#tokens.set(verified.token.slice(0, verified.token.lastIndexOf(".")), verified);
    if (this.#tokens.size <= MAX_VERIFIED_TOKENS) return;
    const [oldest] = this.#tokens.keys();
    this.#tokens.delete(oldest!);
  }
}
