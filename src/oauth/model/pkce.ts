import { toBase64Url } from "../../platform/text/encoding.ts";
import { equalDigests, sha256 } from "../../platform/secrets/hash.ts";

/** Proof key for code exchange (RFC 7636): sent to `/authorize`, proven at `/token`. */
export interface CodeChallenge {
  readonly value: string;
  readonly method: "plain" | "S256";
}

/** RFC 7636 4.1: 43 to 128 unreserved characters. */
export const CODE_VERIFIER = /^[A-Za-z0-9._~-]{43,128}$/;

/** Only the verifier proves that a client without a secret is the one that made the request. */
export const needsPkce = (client: { readonly confidential: boolean; readonly requirePkce: boolean }): boolean =>
  client.requirePkce || !client.confidential;

/** RFC 7636 4.6 */
export async function matchesChallenge(verifier: string, challenge: CodeChallenge): Promise<boolean> {
  if (!CODE_VERIFIER.test(verifier)) return false;
  const transformed = challenge.method === "plain" ? verifier : toBase64Url(await sha256(verifier));
  return equalDigests(transformed, challenge.value);
}
