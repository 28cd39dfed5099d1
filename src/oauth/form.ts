import { err, ok, type Result } from "../platform/result.ts";
import { failure, type OAuthFailure } from "./failure.ts";

/** Parameters of a protocol request, each at most once (RFC 6749 3.1); an empty value counts as absent. */
export interface Parameters {
  get(name: string): string | undefined;
}

export function readParameters(form: URLSearchParams): Result<Parameters, OAuthFailure> {
  const values = new Map<string, string>();
  for (const [name, value] of form) {
    if (values.has(name))
      return err(failure("invalid_request", "A parameter is given more than once.", `repeated parameter ${name}`));
    values.set(name, value);
  }
  return ok({ get: (name) => values.get(name) || undefined });
}
