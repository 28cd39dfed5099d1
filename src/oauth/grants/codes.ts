import { sha256Hex } from "../../platform/hash.ts";
import { randomId, randomSecret, type Random } from "../../platform/random.ts";
import type { CodeRequest, CodeStore } from "./code-store.ts";

/**
 * Authorization codes (RFC 6749 4.1, contract 2.3): random 256 bit, stored as SHA-256, for one client, one redirect URI
 * and one PKCE challenge.
 *
 *   open ──redeemed in time, by its client, with its verifier (grants/authorization-code.ts)──▶ redeemed
 *    │                                                                                            │ presented again
 *    └──60 s──▶ expired                                                        it goes, with all that came of it
 */
const CODE_LIFETIME_MS = 60_000;

/** A new code, to be handed to the client through the browser. Undefined: the client or the user has just been removed, or the session revoked. */
export async function createCode(
  deps: { readonly codes: CodeStore; readonly random: Random },
  request: CodeRequest,
  nowMs: number,
): Promise<string | undefined> {
  const code = randomSecret(deps.random);
  const added = await deps.codes.add({
    ...request,
    codeHash: await sha256Hex(code),
    grantId: request.grantId ?? randomId(deps.random),
    expiresAtMs: Math.min(nowMs + CODE_LIFETIME_MS, request.authorization.hint?.endsAtMs ?? Infinity),
  });
  return added ? code : undefined;
}
