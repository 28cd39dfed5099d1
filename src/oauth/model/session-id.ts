import type { Names } from "../../platform/names.ts";
import { err, ok, type Result } from "../../platform/result.ts";
import { SESSION_ID } from "../../platform/session-id.ts";
import { failure, type OAuthFailure } from "./failure.ts";
import type { Parameters } from "./form.ts";

/**
 * What the caller calls its session, by header or parameter, the header first (specification, `/token` and `/authorize`).
 * It is passed on and logged, so that calls can be traced. Tokens carry the platform's own id of the session, since
 * nothing may be revoked, or kept from it, by a name that the caller chose.
 */
export function readSessionId(
  request: Request,
  parameters: Parameters,
  names: Names,
): Result<string | undefined, OAuthFailure> {
  const name = names.header("session-id");
  const given = request.headers.get(name) || parameters.get(name);
  if (given === undefined || SESSION_ID.test(given)) return ok(given);
  return err(failure("invalid_request", `${name} must match ${SESSION_ID.source}.`));
}
