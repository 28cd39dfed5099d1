import { err, type Result } from "../../platform/result.ts";
import { sanitizeForLog } from "../../platform/text.ts";

/** Why a sign-in at a provider came to nothing: what the client is told (RFC 6749 4.1.2.1), and the audit log. */
export interface FederationFailure {
  readonly error: "access_denied" | "temporarily_unavailable" | "server_error" | SilentFailure;
  /** Exactly what happened, without tokens and secrets; never leaves the Worker. */
  readonly reason: string;
}

/** What a provider says when it was asked to show nothing (OIDC Core 3.1.2.6). */
export const SILENT_FAILURES = [
  "login_required",
  "interaction_required",
  "consent_required",
  "account_selection_required",
] as const;
export type SilentFailure = (typeof SILENT_FAILURES)[number];

/** The provider vouched for nobody, or its answer is not to be believed. */
export const denied = (reason: string): Result<never, FederationFailure> => err({ error: "access_denied", reason });

/** The provider does not answer now; it may later. */
export const unreachable = (reason: string): Result<never, FederationFailure> =>
  err({ error: "temporarily_unavailable", reason });

/** The provider, or its registration here, is wrong: trying again changes nothing. */
export const faulty = (reason: string): Result<never, FederationFailure> => err({ error: "server_error", reason });

/** What a provider wrote, as a part of a reason. */
export const quoted = (value: unknown): string =>
  typeof value === "string" ? JSON.stringify(sanitizeForLog(value, 200)) : "something that is no text";
