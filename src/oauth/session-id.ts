import type { Names } from "../platform/names.ts";
import { err, ok, type Result } from "../platform/result.ts";
import { SESSION_ID } from "../platform/session-id.ts";
import { failure, type OAuthFailure } from "./failure.ts";
import type { Parameters } from "./form.ts";

/** The caller's session id by header or parameter, the header first (specification, `/token` and `/authorize`). */
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
