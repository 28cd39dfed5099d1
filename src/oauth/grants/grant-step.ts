import type { ProofVerifier } from "../../http/callers/proof.ts";
import type { Call } from "../../http/route.ts";
import type { BuiltIn } from "../../platform/model/built-in.ts";
import { type Result, err } from "../../platform/model/result.ts";
import {
  type AuthenticationDeps,
  type Credentials,
  identifyClient,
  noCredentials,
  type Caller,
} from "../clients/authentication.ts";
import type { ClientRecord } from "../clients/directory-store.ts";
import type { Directory } from "../clients/directory.ts";
import type { ConsentStore } from "../consent/consent-store.ts";
import type { Bindings } from "../model/binding.ts";
import { failure, type OAuthFailure } from "../model/failure.ts";
import type { Parameters } from "../model/parameters.ts";
import type { Resource, ResourceDeps } from "../model/resource.ts";
import type { ScopeRefusal, ScopeRequest } from "../model/granted-scopes.ts";
import type { Accounts } from "../sign-in/accounts.ts";
import type { Issue, IssueDeps } from "../tokens/issue.ts";
import type { StrictVerifier } from "../tokens/access-token.ts";
import { FAPI_ID_TOKEN_ALG, type SigningAlg } from "../tokens/keys/signing-key.ts";
import type { UserStore } from "../users/user-store.ts";
import type { Codes } from "./codes.ts";
import type { DeviceStore } from "./device-store.ts";
import type { RevokeGrantsDeps } from "./revoke-grants.ts";

/** Dependencies of the grants. */
export interface GrantDeps extends IssueDeps, RevokeGrantsDeps, AuthenticationDeps, ResourceDeps {
  readonly builtIn: BuiltIn;
  readonly directory: Directory;
  readonly users: UserStore;
  readonly accounts: Accounts;
  readonly passwordGrant: PasswordGrant;
  readonly federation: Bindings;
  readonly codes: Codes;
  readonly proofs: ProofVerifier;
  readonly devices: DeviceStore;
  readonly verifier: StrictVerifier;
  readonly consents: ConsentStore;
}

export type TokenCall = Call<unknown, unknown, URLSearchParams, undefined>;

/** The checked input of a grant's own step. */
export interface TokenRequest {
  readonly call: TokenCall;
  readonly parameters: Parameters;
  readonly credentials: Credentials | undefined;
  readonly scopes: ScopeRequest;
  /** The services that the token is to be for (RFC 8707). Empty: none was named. */
  readonly resources: readonly Resource[];
  /** The thumbprint of the key that proved itself with the request (RFC 9449). */
  readonly proofKey: string | undefined;
}

/** True if the request names no scopes and resources: it takes the earlier authorization unchanged. */
export const asksForNothing = ({ parameters, resources }: Pick<TokenRequest, "parameters" | "resources">): boolean =>
  parameters.get("scope") === undefined && resources.length === 0;

export type GrantStep = (deps: GrantDeps, request: TokenRequest) => Promise<Result<GrantOutcome, OAuthFailure>>;

/** The result of a grant's own step. */
export interface GrantOutcome extends Omit<Issue, "callerSessionId" | "grant"> {
  /** Returned with the access token. */
  readonly refreshToken: string | undefined;
  /** For an exchange (RFC 8693 2.2.1). */
  readonly issuedTokenType?: string;
}

/** Names the scope but not the reason: a caller must not learn whether a tenant exists or subscribes. */
export const refusedScope = ({ scope, reason }: ScopeRefusal, actor = ""): OAuthFailure =>
  failure(
    "invalid_scope",
    scope === undefined
      ? "The list of scopes is too long: name fewer."
      : `The scope ${printable(scope)} cannot be granted.`,
    reason,
    actor,
  );

/** RFC 6749 5.2: error_description is printable ASCII without quote and backslash. */
const printable = (text: string): string => text.replaceAll(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, "?").slice(0, 256);

/** The refusal of a client that may not use this grant, or that must bind its tokens to a key and proves none. */
export function grantFault(
  { id, bindsTokens, grantTypes }: ClientRecord,
  grantType: string,
  proofKey: string | undefined,
): OAuthFailure | undefined {
  if (bindsTokens === true && proofKey === undefined)
    return failure("invalid_dpop_proof", "The client has to prove a key with the header DPoP.", undefined, id);
  if (grantTypes.includes(grantType)) return undefined;
  return failure(
    "unauthorized_client",
    "The client is not registered for this grant.",
    `client ${id}: ${grantType}`,
    id,
  );
}

/** The algorithm of a client's ID tokens; undefined: the usual one. */
export const idTokenAlg = ({ isFapi }: Pick<ClientRecord, "isFapi">): SigningAlg | undefined =>
  isFapi === true ? FAPI_ID_TOKEN_ALG : undefined;

/** The client of a grant by a user: known, authenticated if it has a secret, and registered for the grant. */
export async function identifyGrantClient(
  deps: GrantDeps,
  { call, credentials, proofKey }: TokenRequest,
  grantType: string,
): Promise<Result<Caller, OAuthFailure>> {
  if (credentials === undefined) return err(noCredentials());
  const entry = await deps.directory.find(credentials.clientId, undefined, call);
  const caller = await identifyClient(deps, credentials, entry, call);
  if (!caller.ok) return caller;
  const fault = grantFault(caller.value.client, grantType, proofKey);
  return fault === undefined ? caller : err(fault);
}

/**
 * The callers that may use the password grant (RFC 9700 2.4 advises against it): nobody, clients that list it, or also
 * requests without a client. The deployment decides.
 */
export type PasswordGrant = "nobody" | "clients" | "everybody";

/** The reason for a refusal, for the operator. Undefined if the grant is allowed. */
export function passwordGrantFault(policy: PasswordGrant, passesClient: boolean): string | undefined {
  if (policy === "nobody") return "the deployment has PASSWORD_GRANT=false";
  return policy === "everybody" || passesClient
    ? undefined
    : "without a client, the password grant needs PASSWORD_GRANT_WITHOUT_CLIENT=true";
}
