import type { Names } from "../../platform/names.ts";
import { err, ok, type Result } from "../../platform/result.ts";
import { failure, type OAuthFailure } from "./failure.ts";

/**
 * Parameters that have one value wherever they mean something. One that is given twice is refused, since one of the values
 * would win by accident (RFC 6749 3.1); others may come as often as they like (RFC 8707 repeats `resource`).
 */
const SINGLE: ReadonlySet<string> = new Set([
  "grant_type",
  "client_id",
  "client_secret",
  "scope",
  "code",
  "redirect_uri",
  "code_verifier",
  "refresh_token",
  "username",
  "password",
  "new_password",
  "repeated_password",
  "token",
  "token_type_hint",
  "request",
  "csrf",
  "asked",
  "decision",
  "email",
  "id_token_hint",
  "post_logout_redirect_uri",
  "state",
  "ui_locales",
  "error",
  "error_description",
  "iss",
]);

/** Parameters of a protocol request; an empty value counts as absent. */
export interface Parameters {
  get(name: string): string | undefined;
}

export function readParameters(form: URLSearchParams, names: Names): Result<Parameters, OAuthFailure> {
  const own = [names.header("session-id"), names.parameter("id_provider")];
  const values = new Map<string, string>();
  for (const [name, value] of form) {
    if (!values.has(name)) values.set(name, value);
    else if (SINGLE.has(name) || own.includes(name))
      return err(failure("invalid_request", "A parameter is given more than once.", `repeated parameter ${name}`));
  }
  return ok({ get: (name) => values.get(name) || undefined });
}
