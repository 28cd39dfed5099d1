import type { TokenVerifier } from "../../http/callers/auth.ts";
import type { Problem } from "../../http/errors/errors.ts";
import type { AccountDeps } from "../account/deps.ts";
import type { AuthorizeDeps } from "../authorize/protocol/deps.ts";
import type { GrantDeps } from "../grants/grant-step.ts";
import type { RevokeAccessDeps } from "../grants/revoke-grants.ts";
import type { Refusals } from "../model/call.ts";
import type { StrictVerifier } from "../tokens/access-token.ts";
import type { RevokedTokensStore } from "../tokens/revoked-tokens-store.ts";

/** Dependencies of the endpoints that issue, describe and revoke tokens. */
export interface TokenEndpointDeps extends GrantDeps, RevokeAccessDeps, Refusals {
  readonly verifier: StrictVerifier & Pick<TokenVerifier, "proofs">;
  readonly revokedTokens: RevokedTokensStore;
  /** The 503 for a request about tokens while revocations cannot be read. */
  unavailable(): Problem;
}

/** Dependencies of the pages on which people sign in, for a client or for their account. */
export interface PageEndpointDeps extends AuthorizeDeps, AccountDeps {
  readonly federation: AuthorizeDeps["federation"];
}
