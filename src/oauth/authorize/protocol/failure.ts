import { refusedScope } from "../../grants/grant-step.ts";
import type { SilentFailure } from "../../model/provider-failure.ts";
import type { ScopeRefusal } from "../../model/granted-scopes.ts";

/**
 * An authorization request that failed. The browser takes it to the client (RFC 6749 4.1.2.1 and 4.2.2.1, OIDC Core
 * 3.1.2.6) once the client and its redirect URI are known. Before that the user sees an error page.
 */
export interface AuthorizeFailure {
  readonly error: AuthorizeError;
  /** For the client's developer: printable ASCII without quotes and backslashes. */
  readonly description: string;
  /** The exact cause, for the log. Never sent out. */
  readonly reason: string;
}

export type AuthorizeError =
  | "invalid_request"
  | "unauthorized_client"
  | "access_denied"
  | "unsupported_response_type"
  | "invalid_scope"
  | "invalid_target"
  | "server_error"
  | "temporarily_unavailable"
  | "request_not_supported"
  | "request_uri_not_supported"
  | "registration_not_supported"
  | "unmet_authentication_requirements"
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
