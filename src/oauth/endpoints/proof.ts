import type { Proof } from "../../http/callers/proof.ts";
import { err, ok, type Result } from "../../platform/model/result.ts";
import type { GrantDeps } from "../grants/grant-step.ts";
import type { AnyCall } from "../model/call.ts";
import { failure, type OAuthFailure } from "../model/failure.ts";

/** Checks the DPoP proof of a request (RFC 9449 5). Undefined if the request has none. */
export async function readProof(
  { proofs }: Pick<GrantDeps, "proofs">,
  { request, url, nowMs }: AnyCall,
): Promise<Result<Proof | undefined, OAuthFailure>> {
  const header = request.headers.get("dpop");
  if (header === null) return ok(undefined);
  const proof = await proofs.check(header, { method: request.method, url, token: undefined }, nowMs);
  if (proof.ok) return proof;
  const { kind, reason, nonce: proofNonce } = proof.error;
  return err({
    ...(kind === "nonce"
      ? failure("use_dpop_nonce", "The proof needs a fresh nonce, which the header DPoP-Nonce brings.", reason)
      : failure("invalid_dpop_proof", "The header DPoP is not a valid proof for this request.", reason)),
    proofNonce,
  });
}

/** The header with the nonce for the client's next proofs, if it needs a new one. */
export const nonceHeader = (proof: Proof | undefined): Record<string, string> =>
  proof?.nextNonce === undefined ? {} : { "dpop-nonce": proof.nextNonce };
