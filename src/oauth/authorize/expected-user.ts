import type { BrowserDeps } from "../sign-in/browser.ts";

/**
 * Whom the client means by `id_token_hint`: nobody else gets an answer (OIDC Core 3.1.2.2). `unknown`: the hint cannot be
 * read, so whoever happens to be signed in cannot be shown to be meant.
 */
export type ExpectedUser = { readonly email: string } | "unknown";

/**
 * Where the request goes through the browser again, whom it means goes along sealed. It only ever narrows, but an address in
 * plain text would let any page ask for any, and see by where the browser ends whether that person is signed in here.
 */
export const sealExpectedUser = ({ sealer }: Pick<BrowserDeps, "sealer">, email: string): Promise<string> =>
  sealer.seal(email, PURPOSE);

export async function openExpectedUser({ sealer }: Pick<BrowserDeps, "sealer">, sealed: string): Promise<ExpectedUser> {
  const email = await sealer.open(sealed, PURPOSE);
  return email === undefined ? "unknown" : { email };
}

const PURPOSE = "expected user";
