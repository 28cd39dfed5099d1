import { sha256Hex } from "../../platform/secrets/hash.ts";
import type { Sealer } from "../../platform/secrets/seal.ts";

/**
 * Secrets with which clients sign (`client_secret_jwt`). Checking a MAC needs the secret itself, so it is sealed, not
 * hashed like other secrets.
 *
 * The row's digest covers the client and the secret. It never equals the digest of a plain secret, so sending the
 * secret itself does not authenticate. Two clients with the same secret have different digests.
 */
export interface SealedSecret {
  readonly digest: string;
  readonly sealed: string;
}

/** A sealed secret that is copied to another row does not open. */
export const macSealContext = (digest: string): string => `client_secret:${digest}`;

export async function sealSecret(
  sealer: Pick<Sealer, "seal">,
  clientId: string,
  secret: string,
): Promise<SealedSecret> {
  const digest = await sha256Hex(JSON.stringify([clientId, secret]));
  return { digest, sealed: await sealer.seal(secret, macSealContext(digest)) };
}

/** The secrets that open, undefined for one whose key `SEAL_KEYS` lacks. */
export const openSecrets = (
  sealer: Pick<Sealer, "open">,
  secrets: readonly SealedSecret[],
): Promise<(string | undefined)[]> =>
  Promise.all(secrets.map(({ digest, sealed }) => sealer.open(sealed, macSealContext(digest))));
