import type { Result } from "../../platform/model/result.ts";

/** The algorithms of proofs. Only the holder of a private key can sign with these. */
export const PROOF_ALGS: readonly string[] = ["ES256", "ES384", "ES512", "PS256", "PS384", "PS512", "Ed25519", "EdDSA"];

/** The request that a proof of possession (RFC 9449) is for. */
export interface ProvenRequest {
  readonly method: string;
  /** The public address. */
  readonly url: URL;
  /** The access token that comes with the proof. Undefined at the token endpoint. */
  readonly token: string | undefined;
}

/** `nonce`: the proof may be right, but lacks a fresh nonce of the platform. */
export interface ProofFault {
  readonly kind: "wrong" | "nonce";
  /** For the log. */
  readonly reason: string;
  /** The nonce to prove with. */
  readonly nonce: string;
}

export interface Proof {
  /** The thumbprint (RFC 7638) of the key that signed. */
  readonly key: string;
  /** The nonce for the next proofs, if the one of this proof ends soon. */
  readonly nextNonce: string | undefined;
}

/** Port to OAuth: checks proofs of possession. */
export interface ProofVerifier {
  check(proof: string, request: ProvenRequest, nowMs: number): Promise<Result<Proof, ProofFault>>;
}
