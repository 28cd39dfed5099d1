import type { Names } from "../../platform/model/names.ts";
import { err, ok, type Result } from "../../platform/model/result.ts";
import { SESSION_ID, SESSION_ID_RULE } from "../../platform/model/session-id.ts";
import { failure, type OAuthFailure } from "./failure.ts";
import { joinResources } from "./resource.ts";

/**
 * Parameters that must not be repeated (RFC 6749 3.1): servers would disagree about which value counts. A name that is
 * missing here cannot be read.
 */
const SINGLE = [
  // The endpoints of the protocol, and answers of identity providers.
  "grant_type",
  "client_id",
  "client_secret",
  "client_assertion",
  "client_assertion_type",
  "device_code",
  "subject_token",
  "subject_token_type",
  "requested_token_type",
  "actor_token",
  "actor_token_type",
  "scope",
  "code",
  "redirect_uri",
  "code_verifier",
  "refresh_token",
  "username",
  "password",
  "token",
  "token_type_hint",
  "request",
  "id_token_hint",
  "post_logout_redirect_uri",
  "state",
  "ui_locales",
  "error",
  "error_description",
  "iss",
  // The forms of our own pages.
  "csrf",
  "step",
  "email",
  "user_code",
  "decision",
  "asked",
  "vouched",
  "send",
  "new_password",
  "repeated_password",
  "challenge",
  "credential",
  "recovery_code",
  "offer",
  "session",
  "provider",
  "passkey",
  "user_handle",
  "name",
] as const;

/** Begins with the platform's prefix. Must not be repeated either. */
type OwnName = `${string}-session-id` | `${string}_id_provider`;
/** May be repeated (RFC 8693 2.1). Another such parameter, `resource` (RFC 8707), is read from the body itself. */
type Repeatable = "audience";

/** Parameters of a protocol request, or the fields of a form. An empty value counts as absent. */
export interface Parameters {
  get(name: (typeof SINGLE)[number] | OwnName | Repeatable): string | undefined;
}

const NAMES: ReadonlySet<string> = new Set(SINGLE);

export function readParameters(form: URLSearchParams, names: Names): Result<Parameters, OAuthFailure> {
  const isOwn = (name: string) => name === names.header("session-id") || name === names.parameter("id_provider");
  const values = new Map<string, string>();
  let repeated: string | undefined;
  form.forEach((value, name) => {
    if (!values.has(name)) values.set(name, value);
    else if (NAMES.has(name) || isOwn(name)) repeated ??= name;
  });
  if (repeated !== undefined)
    return err(failure("invalid_request", "A parameter is repeated.", `repeated parameter ${repeated}`));
  return ok({ get: (name) => values.get(name) || undefined });
}

/**
 * The caller's own session id, from the header or a parameter, the header first. It is passed on and logged, so calls
 * can be traced. Tokens carry the platform's own session id: revocation must not depend on a name that the caller
 * chose.
 */
export function readSessionId(
  request: Request,
  parameters: Parameters,
  names: Names,
): Result<string | undefined, OAuthFailure> {
  const name = names.header("session-id");
  const value = request.headers.get(name) || parameters.get(name);
  if (value === undefined || SESSION_ID.test(value)) return ok(value);
  return err(failure("invalid_request", `${name} ${SESSION_ID_RULE}.`));
}

/** The parameters of an authorization request as sent (OIDC Core 3.1.2.1). */
export interface AuthorizationParameters extends Parameters {
  get(name: string): string | undefined;
  /** The request came through `/par`: the hash of its reference (`authorize/pushed/pushed.ts`). */
  readonly pushed?: string;
  /** Names that were sent more than once. The first value counts. */
  readonly repeated: readonly string[];
  /** The parameters that have a value. */
  entries(): readonly (readonly [name: string, value: string])[];
}

/** Replaces the ID token hint on a trip through the browser: the sealed user (`authorize/protocol/request.ts`). */
export const expectedUserParameter = (names: Names): string => names.parameter("expected_user");

/** Marks a pushed request whose person has signed in as it requires (`authorize/pushed/pushed.ts`). */
export const continuedParameter = (names: Names): string => names.parameter("continued");

/** The device of a pushed request: its hash and the code that it shows. Ignored in any other request. */
export const deviceParameter = (names: Names): string => names.parameter("device");

export interface RequestedDevice {
  readonly hash: string;
  readonly userCode: string;
}

/** The device that the request is for (`endpoints/device.ts`). */
export function deviceOf(parameters: AuthorizationParameters, names: Names): RequestedDevice | undefined {
  const value = parameters.pushed === undefined ? undefined : parameters.get(deviceParameter(names));
  const [hash = "", userCode = ""] = (value ?? "").split(" ");
  return hash === "" ? undefined : { hash, userCode };
}

/** Others are ignored, even if repeated. */
const acceptedNames = (names: Names): ReadonlySet<string> =>
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
    "dpop_jkt",
    "request",
    "request_uri",
    "registration",
    "claims",
    "acr_values",
    "tenant_choice",
    "resource",
    names.header("session-id"),
    names.parameter("id_provider"),
    expectedUserParameter(names),
    continuedParameter(names),
    deviceParameter(names),
  ]);

/** An empty value counts as absent (RFC 6749 3.1). */
export function readAuthorizationParameters(source: URLSearchParams, names: Names): AuthorizationParameters {
  const values = new Map<string, string>();
  const repeated = new Set<string>();
  const accepted = acceptedNames(names);
  for (const [name, value] of source) {
    if (!accepted.has(name)) continue;
    // The only parameter that may be repeated (RFC 8707 2).
    if (name === "resource") values.set(name, joinResources([values.get(name) ?? "", value]));
    else if (values.has(name)) repeated.add(name);
    else values.set(name, value);
  }
  return {
    get: (name) => values.get(name) || undefined,
    repeated: [...repeated],
    entries: () => [...values].filter(([, value]) => value !== ""),
  };
}

/** The same request with these values in place of its own. */
export const withValues = (
  sent: AuthorizationParameters,
  values: Readonly<Record<string, string>>,
): AuthorizationParameters => ({
  ...sent,
  get: (name) => values[name] ?? sent.get(name),
  entries: () => Object.entries({ ...Object.fromEntries(sent.entries()), ...values }),
});

/** The values of `prompt`. */
export const promptValues = (parameters: AuthorizationParameters): readonly string[] =>
  (parameters.get("prompt") ?? "").split(" ").filter((word) => word !== "");
