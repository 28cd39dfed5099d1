import { refusedScope } from "../grants/grant-step.ts";
import type { SilentFailure } from "../model/provider-failure.ts";
import type { ScopeRefusal } from "../model/scopes.ts";

/**
 * Why an authorization request comes to nothing: sent back to the client by the browser (RFC 6749 4.1.2.1 and 4.2.2.1,
 * OIDC Core 3.1.2.6), once it is known that the client is who will read it. Before that people see a page.
 */
export interface AuthorizeFailure {
  readonly error: AuthorizeError;
  /** For the developer of the client: printable ASCII without quotes and backslashes. */
  readonly description: string;
  /** Exactly what happened; never leaves the Worker. */
  readonly reason: string;
}

export type AuthorizeError =
  | "invalid_request"
  | "unauthorized_client"
  | "access_denied"
  | "unsupported_response_type"
  | "invalid_scope"
  | "server_error"
  | "temporarily_unavailable"
  | "request_not_supported"
  | "request_uri_not_supported"
  | "registration_not_supported"
  | SilentFailure;

export const refused = (error: AuthorizeError, description: string, reason = description): AuthorizeFailure => ({
  error,
  description,
  reason,
});

export const scopeRefused = (refusal: ScopeRefusal): AuthorizeFailure => {
  const { description, reason } = refusedScope(refusal);
  return refused("invalid_scope", description, reason);
};
