import { err, type Result } from "../../platform/model/result.ts";
import { sanitizeForLog } from "../../platform/text/text.ts";

/** A failed sign-in at a provider: the error for the client (RFC 6749 4.1.2.1) and the reason for the audit log. */
export interface FederationFailure {
  readonly error: "access_denied" | "temporarily_unavailable" | "server_error" | SilentFailure;
  /** The exact cause, without tokens and secrets. Never sent out. */
  readonly reason: string;
  /** The provider vouched for this user and is bound to domains that the address is not in. */
  readonly outsideUser?: string;
}

/** A provider's errors when it was asked to show no page (OIDC Core 3.1.2.6). */
export const SILENT_FAILURES = [
  "login_required",
  "interaction_required",
  "consent_required",
  "account_selection_required",
] as const;
export type SilentFailure = (typeof SILENT_FAILURES)[number];

/** The provider vouched for nobody, or its response failed a check. */
export const denied = (reason: string): Result<never, FederationFailure> => err({ error: "access_denied", reason });

/** The provider vouched for a user of a domain that it is not bound to. */
export const outside = (email: string): Result<never, FederationFailure> =>
  err({ error: "access_denied", reason: `it is not bound to the domain of ${email}`, outsideUser: email });

/** The provider does not respond now. A retry may succeed. */
export const unreachable = (reason: string): Result<never, FederationFailure> =>
  err({ error: "temporarily_unavailable", reason });

/** The provider or its registration here is wrong. A retry changes nothing. */
export const faulty = (reason: string): Result<never, FederationFailure> => err({ error: "server_error", reason });

/** Quotes a provider's text for a reason. */
export const quoted = (value: unknown): string =>
  typeof value === "string" ? JSON.stringify(sanitizeForLog(value, 200)) : "something that is no text";
