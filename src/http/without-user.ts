import { problem, type Problem } from "./errors.ts";

/** 401 for a valid token of a client that acts for itself, where only a user's will do (specification, `/userinfo`). */
export function userTokenRequired(realm: string): Problem {
  const message = "The access token was not issued for a user.";
  const challenge = `Bearer realm="${realm}", error="invalid_token", error_description="${message}"`;
  return problem("insufficient_credentials", message, { headers: { "www-authenticate": challenge } });
}
