import { equalDigests } from "../../platform/secrets/hash.ts";
import type { IssuedToken } from "./issued-token.ts";

/** A token whose signature, type and claims are valid. */
export interface VerifiedToken {
  readonly token: string;
  /** The key that verified it. */
  readonly kid: string;
  readonly key: CryptoKey;
  readonly issued: IssuedToken;
}

/** The most tokens in memory, of about 2 KB each. */
export const MAX_VERIFIED_TOKENS = 1_000;

/**
 * Tokens that this isolate verified recently. A client sends the same token with each request for an hour, and checking
 * a signature costs as much as the rest of a small request.
 *
 * Tokens are found by `jti`, and only the exact text that was verified matches, because libraries accept variants of a
 * token. Signatures are compared in constant time, so none can be guessed piece by piece. Callers must check that the
 * key is still ours and that the token is not revoked.
 */
export class VerifiedTokens {
  readonly #tokens = new Map<string, VerifiedToken>();

  /** Undefined for an unknown or expired token. Reading it in full then tells the fault. */
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
 * The token's id as spelled in its text, which our tokens begin with. It is not verified and may be cut, so callers
 * compare the rest. Decoding it would cost a few per cent of a small request.
 */
function tokenIdText(token: string): string {
  const start = token.indexOf(".") + 1;
  return token.slice(start, start + ID_CHARS);
}
