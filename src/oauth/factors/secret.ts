import type { Sealer } from "../../platform/secrets/seal.ts";

/** Bound to the account, so a secret copied to another one does not open. */
export const totpSealContext = (email: string): string => `totp:${email}`;

export async function openSecret(
  { sealer }: { readonly sealer: Sealer },
  email: string,
  sealed: string,
): Promise<string> {
  const secret = await sealer.open(sealed, totpSealContext(email));
  if (secret === undefined) throw new Error(`the secret of ${email} does not open: SEAL_KEYS lacks its key`);
  return secret;
}
