import type { Names } from "../../platform/names.ts";
import type { Parameters } from "./form.ts";

/** The parameters of an authorization request as they came (specification, `/authorize`; OIDC Core 3.1.2.1). */
export interface AuthorizationParameters extends Parameters {
  /** Names that came more than once; the first value stands. */
  readonly repeated: readonly string[];
  /** Those that came with a value. */
  entries(): readonly (readonly [name: string, value: string])[];
}

/** In place of the hint, where a request goes through the browser again: whom it meant, sealed (`authorize/expected-user.ts`). */
export const expectedUserParameter = (names: Names): string => names.parameter("expected_user");

/** Every parameter that means something here. Others are ignored, however often they come. */
const known = (names: Names): ReadonlySet<string> =>
  new Set([
    "response_type",
    "client_id",
    "redirect_uri",
    "scope",
    "state",
    "response_mode",
    "nonce",
    "display",
    "prompt",
    "max_age",
    "ui_locales",
    "id_token_hint",
    "login_hint",
    "code_challenge",
    "code_challenge_method",
    "request",
    "request_uri",
    "registration",
    names.header("session-id"),
    names.parameter("id_provider"),
    expectedUserParameter(names),
  ]);

/** An empty value counts as absent (RFC 6749 3.1). */
export function readAuthorizationParameters(source: URLSearchParams, names: Names): AuthorizationParameters {
  const values = new Map<string, string>();
  const repeated = new Set<string>();
  const meant = known(names);
  for (const [name, value] of source) {
    if (!meant.has(name)) continue;
    if (values.has(name)) repeated.add(name);
    else values.set(name, value);
  }
  return {
    get: (name) => values.get(name) || undefined,
    repeated: [...repeated],
    entries: () => [...values].filter(([, value]) => value !== ""),
  };
}

/** The words of `prompt`. */
export const promptValues = (given: AuthorizationParameters): readonly string[] =>
  (given.get("prompt") ?? "").split(" ").filter((word) => word !== "");
