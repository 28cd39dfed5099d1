import { authenticate, presentedBy, type TokenVerifier, userTokenRequired } from "../../http/callers/auth.ts";
import { problem, problemBody } from "../../http/errors/errors.ts";
import { defineRoute, formBody, json, type Answer, type Call, type Route } from "../../http/route.ts";
import { err } from "../../platform/model/result.ts";
import { profileClaims } from "../model/profile.ts";
import { emailClaims } from "../tokens/id-token.ts";
import type { TokenEndpointDeps } from "./deps.ts";

/**
 * `/userinfo` (OIDC Core 5.3): the user of the access token, with the claims of the scopes `email` and `profile`. A
 * valid token costs a read of revocations from D1. These scopes cost a read of the user's profile.
 */
const FORM_BYTES = 64 * 1024;

type UserInfoDeps = Pick<TokenEndpointDeps, "names" | "verifier" | "users">;

export function userInfoRoutes(deps: UserInfoDeps): readonly Route[] {
  const route = {
    path: "/userinfo",
    summary: "The user that an access token was issued for",
    operation: "readUserInfo",
    produces: "any",
  } as const;
  return [
    defineRoute({ ...route, method: "GET", handle: (call) => userInfo(deps, call, undefined) }),
    defineRoute({
      ...route,
      method: "POST",
      body: formBody(FORM_BYTES),
      handle: (call) => userInfo(deps, call, call.body),
    }),
  ];
}

async function userInfo(
  { names, verifier, users }: UserInfoDeps,
  {
    request,
    url,
    nowMs,
    publicBase,
  }: Pick<Call<unknown, unknown, unknown, undefined>, "request" | "url" | "nowMs" | "publicBase">,
  form: URLSearchParams | undefined,
): Promise<Answer> {
  // A token in the body is ignored. With an Authorization header beside it, the request is invalid (RFC 6750 2).
  if (request.headers.has("authorization") && form?.has("access_token") === true)
    return twoTokens(names.platform, `${publicBase}/docs/errors`);
  const caller = await authenticate(presentedBy(request, url), strict(verifier), names, nowMs);
  if (!caller.ok) return caller.error;
  const { user, subject, scopes } = caller.value;
  if (user === "") return userTokenRequired(names.platform);
  const [withProfile, withEmail] = [scopes.includes("profile"), scopes.includes("email")];
  const profile = withProfile || withEmail ? await users.profile(user) : undefined;
  const claims = {
    ...(withEmail ? emailClaims(user, profile?.emailVerified === true) : {}),
    ...(withProfile ? profileClaims(profile) : {}),
  };
  return json(200, { sub: subject, ...claims }, { "cache-control": "no-store" });
}

const strict = (verifier: UserInfoDeps["verifier"]): Pick<TokenVerifier, "proofs" | "verify"> => ({
  proofs: verifier.proofs,
  async verify(token, nowMs) {
    const verified = await verifier.verifyNow([token], nowMs);
    return verified.ok ? (verified.value[0] ?? err("malformed")) : verified;
  },
});

/**
 * The platform's error object. RFC 6750's code is in the header (3.1), and in the body, because some clients read it
 * there.
 */
function twoTokens(realm: string, docsUrl: string): Response {
  const message = "Send the access token in the Authorization header alone.";
  const refused = problem("validation_violation", message, {
    details: [{ type: "invalid_field", field: "access_token", message }],
  });
  const body = { ...problemBody(refused, docsUrl), error: "invalid_request", error_description: message };
  const challenge = `Bearer realm="${realm}", error="invalid_request", error_description="${message}"`;
  return json(400, body, { "www-authenticate": challenge, "cache-control": "no-store" });
}
