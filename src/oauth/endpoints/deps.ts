import type { TokenVerifier } from "../../http/callers/auth.ts";
import type { Problem } from "../../http/errors/errors.ts";
import type { AccountDeps } from "../account/deps.ts";
import type { AuthorizeDeps } from "../authorize/deps.ts";
import type { GrantDeps } from "../grants/grant-step.ts";
import type { RevokeAccessDeps } from "../grants/revoke-grants.ts";
import type { Refusals } from "../model/call.ts";
import type { StrictVerifier } from "../tokens/access-token.ts";

/** Dependencies of the endpoints for clients, which get, read and revoke tokens. */
export interface TokenEndpointDeps extends GrantDeps, RevokeAccessDeps, Refusals {
  readonly verifier: StrictVerifier & Pick<TokenVerifier, "proofs">;
  /** Revocations cannot be read, so no token is called valid or invalid. */
  unavailable(): Problem;
}

/** Dependencies of the pages for people, who sign in for a client or for their account. */
export interface PageEndpointDeps extends AuthorizeDeps, AccountDeps {
  readonly federation: AuthorizeDeps["federation"];
}
