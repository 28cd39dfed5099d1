import type { SignInTimes } from "../../model/authorization.ts";
import { isLocal } from "../../model/binding.ts";
import { PASSWORD_SIGN_IN, TWO_FACTOR_SIGN_IN, type AcrRequest } from "../../model/claims.ts";
import { hasPassword, hasTwoFactors } from "../../model/methods.ts";

/** The kinds of a sign-in, the strongest first. A sign-in at another provider has no name. */
function kindsOf({ provider, methods }: SignInTimes): readonly string[] {
  const byPassword = (provider === undefined || isLocal(provider)) && hasPassword(methods);
  return [...(hasTwoFactors(methods) ? [TWO_FACTOR_SIGN_IN] : []), ...(byPassword ? [PASSWORD_SIGN_IN] : [])];
}

/** The kind of the sign-in in the ID token, for a client that asked: the best one that the client accepts. */
export function reachedAcr(asked: AcrRequest | undefined, signIn: SignInTimes): string | undefined {
  if (asked === undefined) return undefined;
  const kinds = kindsOf(signIn);
  return asked.kinds.find((kind) => kinds.includes(kind)) ?? kinds[0];
}

/** True if the client prefers two factors, or accepts no kind of this sign-in. */
export const asksTwoFactors = (asked: AcrRequest | undefined, signIn: SignInTimes): boolean =>
  asked?.kinds[0] === TWO_FACTOR_SIGN_IN ||
  (asked?.essential === true && asked.kinds.includes(TWO_FACTOR_SIGN_IN) && isUnmet(asked, signIn));

/** True if the client requires a kind that this sign-in does not have (OIDC Core 5.5.1.1). */
export const isUnmet = (asked: AcrRequest | undefined, signIn: SignInTimes): boolean =>
  asked?.essential === true && !kindsOf(signIn).some((kind) => asked.kinds.includes(kind));
