import type { Issue } from "../tokens/issue.ts";
import type { Call } from "../../http/route.ts";
import type { Result } from "../../platform/result.ts";
import type { Credentials } from "../client-auth.ts";
import type { OAuthContext } from "../context.ts";
import { failure, type OAuthFailure } from "../failure.ts";
import type { Parameters } from "../form.ts";
import type { ScopeRefusal, ScopeRequest } from "../scopes.ts";

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
