import { err, ok, type Result } from "../../platform/result.ts";

/**
 * The parameters `claims` (OIDC Core 5.5) and `acr_values`: single claims in place of scopes, and how the user has to
 * sign in. Each scope here gives one claim, so a claim that is asked for by name asks for its scope. Claims that nobody
 * knows are ignored, essential ones too (5.5.1).
 */
export interface ClaimsRequest {
  /** `profile` and `email`, as far as their claims are asked for. */
  readonly scopes: readonly string[];
  /** `essential`: another kind of sign-in is a failure (5.5.1.1). Undefined: the client did not ask. */
  readonly acr: "voluntary" | "essential" | undefined;
}

/** The only kind of sign-in here: a password over TLS. Another provider's sign-in has no name. */
export const PASSWORD_SIGN_IN = "urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport";

/** A refusal for the client's developer. */
export interface ClaimsRefusal {
  readonly error: "invalid_request" | "unmet_authentication_requirements";
  readonly description: string;
}

const SCOPE_OF: Readonly<Record<string, string>> = { name: "profile", email: "email", email_verified: "email" };
/** Our choice. The browser carries the parameter from page to page. */
const MAX_CHARS = 4096;

type Members = Readonly<Record<string, unknown>>;

export function parseClaims(
  claims: string | undefined,
  acrValues: string | undefined,
): Result<ClaimsRequest, ClaimsRefusal> {
  const asked = acrValues === undefined ? undefined : "voluntary";
  if (claims === undefined) return ok({ scopes: [], acr: asked });
  if (claims.length > MAX_CHARS) return refuse(`claims is longer than ${MAX_CHARS} characters.`);
  const parsed = parseJson(claims);
  const [userinfo, idToken] = [parsed?.["userinfo"] ?? {}, parsed?.["id_token"] ?? {}];
  if (parsed === undefined || !isRequest(userinfo) || !isRequest(idToken))
    return refuse("claims must be an object with userinfo and id_token, whose claims are null or objects.");
  // Nobody else may be named then (3.1.2.2), and a hint says it better.
  if ([userinfo, idToken].some(({ sub }) => isMembers(sub) && ("value" in sub || "values" in sub)))
    return refuse("claims cannot ask for a value of sub: send id_token_hint.");
  const names = [...Object.keys(userinfo), ...Object.keys(idToken)];
  const scopes = names.flatMap((name) => (Object.hasOwn(SCOPE_OF, name) ? (SCOPE_OF[name] ?? []) : []));
  if (!Object.hasOwn(idToken, "acr")) return ok({ scopes, acr: asked });
  const { essential, value, values } = isMembers(idToken["acr"]) ? idToken["acr"] : ({} as Members);
  if (essential !== true) return ok({ scopes, acr: "voluntary" });
  const accepted = Array.isArray(values) ? values : value === undefined ? [PASSWORD_SIGN_IN] : [value];
  return accepted.includes(PASSWORD_SIGN_IN)
    ? ok({ scopes, acr: "essential" })
    : err({ error: "unmet_authentication_requirements", description: `The only acr here is ${PASSWORD_SIGN_IN}.` });
}

const isMembers = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isRequest = (value: unknown): value is Members =>
  isMembers(value) && Object.values(value).every((claim) => claim === null || isMembers(claim));

function parseJson(text: string): Members | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    return isMembers(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

const refuse = (description: string): Result<never, ClaimsRefusal> => err({ error: "invalid_request", description });
