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
 * They are known by `jti`, and only the very text that was verified is found (contract 2.1: libraries accept variants
 * of one token). Signatures are compared in constant time, or one could be guessed piece by piece. What ends a token
 * before its time is not known here: who finds one asks whether its key is still ours, and whether it is revoked.
 */
export class VerifiedTokens {
  readonly #tokens = new Map<string, VerifiedToken>();

  /** Undefined for a token that is not known or is over: reading it in full says what is wrong with it. */
  find(token: string, nowMs: number): VerifiedToken | undefined {
    const known = this.#tokens.get(tokenIdText(token));
    if (known === undefined || known.issued.expiresAtSec * 1000 <= nowMs) return undefined;
    const signatureAt = known.token.lastIndexOf(".");
    const isSame =
      token.slice(0, signatureAt) === known.token.slice(0, signatureAt) &&
      equalDigests(token.slice(signatureAt), known.token.slice(signatureAt));
    return isSame ? known : undefined;
  }

  remember(verified: VerifiedToken): void {
    this.#tokens.set(tokenIdText(verified.token), verified);
    if (this.#tokens.size <= MAX_VERIFIED_TOKENS) return;
    const [oldest] = this.#tokens.keys();
    this.#tokens.delete(oldest!);
  }
}

/** Base64url of `{"jti":"`, an id of 32 characters, and a quote. */
const ID_CHARS = 56;

/**
 * What the token says its id is, as it spells it: our tokens begin with it. Nobody has verified it yet, and a longer id
 * is cut, so whoever finds a token by it compares the rest. To decode it would cost a few per cent of a small request.
 */
function tokenIdText(token: string): string {
  const start = token.indexOf(".") + 1;
  return token.slice(start, start + ID_CHARS);
}
