import { err, ok, type Result } from "../../platform/model/result.ts";
import { isObject } from "../../platform/text/json.ts";

/**
 * The parameters `claims` (OIDC Core 5.5) and `acr_values`: single claims in place of scopes, and how the user has to
 * sign in. A claim named here requests its whole scope. Unknown claims are ignored, even essential ones
 * (5.5.1).
 */
export interface ClaimsRequest {
  /** `profile` and `email`, as far as their claims are asked for. */
  readonly scopes: readonly string[];
  /** Undefined: the client did not ask. */
  readonly acr: AcrRequest | undefined;
}

/**
 * The kinds of sign-in that the client takes, as far as they are known here, the best first. `essential`: another kind
 * is a failure (5.5.1.1).
 */
export interface AcrRequest {
  readonly essential: boolean;
  readonly kinds: readonly string[];
}

/** A kind of sign-in: a password over TLS. Another provider's sign-in has no name. */
export const PASSWORD_SIGN_IN = "urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport";
/** A passkey; or a password here or a sign-in at another provider, and a second factor here. */
export const TWO_FACTOR_SIGN_IN = "urn:plinth:acr:two-factors";
export const ACR_VALUES: readonly string[] = [PASSWORD_SIGN_IN, TWO_FACTOR_SIGN_IN];

/** A refusal for the client's developer. */
export interface ClaimsRefusal {
  readonly error: "invalid_request" | "unmet_authentication_requirements";
  readonly description: string;
}

const SCOPE_OF: Readonly<Record<string, string>> = {
  name: "profile",
  picture: "profile",
  locale: "profile",
  email: "email",
  email_verified: "email",
};
/** Our choice. The browser carries the parameter from page to page. */
const MAX_CHARS = 4096;

type Members = Readonly<Record<string, unknown>>;

export function parseClaims(
  claims: string | undefined,
  acrValues: string | undefined,
): Result<ClaimsRequest, ClaimsRefusal> {
  const asked = acrValues === undefined ? undefined : { essential: false, kinds: known(acrValues.split(" ")) };
  if (claims === undefined) return ok({ scopes: [], acr: asked });
  if (claims.length > MAX_CHARS) return refuse(`claims is longer than ${MAX_CHARS} characters.`);
  const parsed = parseJson(claims);
  const [userinfo, idToken] = [parsed?.["userinfo"] ?? {}, parsed?.["id_token"] ?? {}];
  if (parsed === undefined || !isRequest(userinfo) || !isRequest(idToken))
    return refuse("claims must be an object with userinfo and id_token, whose claims are null or objects.");
  // A request for one user must fail for any other (3.1.2.2). Only `id_token_hint` is supported for that.
  if ([userinfo, idToken].some(({ sub }) => isObject(sub) && ("value" in sub || "values" in sub)))
    return refuse("claims cannot ask for a value of sub: send id_token_hint.");
  const names = [...Object.keys(userinfo), ...Object.keys(idToken)];
  const scopes = names.flatMap((name) => (Object.hasOwn(SCOPE_OF, name) ? (SCOPE_OF[name] ?? []) : []));
  if (!Object.hasOwn(idToken, "acr")) return ok({ scopes, acr: asked });
  const { essential, value, values } = isObject(idToken["acr"]) ? idToken["acr"] : ({} as Members);
  const named = Array.isArray(values) ? values : value === undefined ? undefined : [value];
  const acr = { essential: essential === true, kinds: named === undefined ? ACR_VALUES : known(named) };
  return acr.essential && acr.kinds.length === 0
    ? err({ error: "unmet_authentication_requirements", description: `The acr here are ${ACR_VALUES.join(", ")}.` })
    : ok({ scopes, acr });
}

const known = (kinds: readonly unknown[]): readonly string[] =>
  kinds.filter((kind) => typeof kind === "string").filter((kind) => ACR_VALUES.includes(kind));

const isRequest = (value: unknown): value is Members =>
  isObject(value) && Object.values(value).every((claim) => claim === null || isObject(claim));

function parseJson(text: string): Members | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    return isObject(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

const refuse = (description: string): Result<never, ClaimsRefusal> => err({ error: "invalid_request", description });
