import type { Call } from "../../http/route.ts";
import type { Plan } from "../../platform/plans.ts";
import type { Result } from "../../platform/result.ts";
import type { HintBounds } from "../authorization.ts";
import type { Credentials } from "../client-auth.ts";
import type { OAuthContext } from "../context.ts";
import { failure, type OAuthFailure } from "../failure.ts";
import type { Parameters } from "../form.ts";
import type { ScopeRefusal, ScopeRequest } from "../scopes.ts";
import type { SignInTimes } from "../sign-in/times.ts";

export type TokenCall = Call<unknown, unknown, URLSearchParams, undefined>;

/** What a grant's own step works with, read and checked already. */
export interface TokenRequest {
  readonly call: TokenCall;
  readonly parameters: Parameters;
  readonly credentials: Credentials | undefined;
  readonly scopes: ScopeRequest;
}

export type GrantStep = (request: TokenRequest, context: OAuthContext) => Promise<Result<GrantOutcome, OAuthFailure>>;

/** What a grant's step ends in. */
export interface GrantOutcome extends Omit<Issue, "callerSessionId"> {
  /** Shown beside the access token. */
  readonly refreshToken: string | undefined;
}

/** What tokens are made of, at the token endpoint and in the implicit flow. */
export interface Issue {
  readonly granted: Granted;
  /** The platform's own id: of the browser's session, or of this sign-in or token alone. */
  readonly sessionId: string;
  /** What the caller calls its session: for the log alone; undefined where none was sent. */
  readonly callerSessionId: string | undefined;
  /** A family of tokens that can be revoked together; undefined: this token is alone. */
  readonly grantId: string | undefined;
  /** When the user signed in, and the request's nonce: an ID token is issued too, where the scopes have `openid`. */
  readonly idToken: (SignInTimes & { readonly nonce: string | undefined }) | undefined;
  /** An ID token stood for the sign-in. */
  readonly hint?: HintBounds | undefined;
}

/** Who a token is for and what it may do. */
export interface Granted {
  /** Empty where a user signed in without a client. */
  readonly clientId: string;
  readonly clientName: string;
  /** The client proved itself by a secret. */
  readonly clientAuthenticated: boolean;
  /** Empty with an organization, and outside any tenant. */
  readonly tenant: string;
  readonly tenantExplicit: boolean;
  readonly org: string;
  /** Of the tenant, or the usual one. */
  readonly plan: Plan;
  /** Empty where a client acts for itself. */
  readonly user: string;
  /** How tokens name the user, or the client where there is none. */
  readonly subject: string;
  /** As the answer shows them: where the token is for, `openid`, service scopes. */
  readonly scopes: readonly string[];
  /** When the records of client and tenant that decided were read: of several the oldest. */
  readonly recordsAsOfMs: number;
  /** When those of the user were read; of no meaning where there is none. */
  readonly userAsOfMs: number;
}

/** Names the scope and not why: whether a tenant exists or subscribes is not the caller's to learn. */
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
