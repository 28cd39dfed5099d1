import type { Principal } from "../http/auth.ts";
import type { Call } from "../http/route.ts";
import { json, type Answer } from "../http/route.ts";
import { authenticateClient, noCredentials, readCredentials, type Credentials } from "./client-auth.ts";
import type { OAuthContext } from "./context.ts";
import { failure } from "./failure.ts";
import { readParameters } from "./form.ts";
import type { Ended } from "./store/trust-store.ts";

/**
 * `POST /revoke` (RFC 7009, contract 2.5): one token or a comma-separated list.
 *
 * - A token that is unknown, expired or revoked already counts as revoked: 200 `{}`.
 * - A token that was issued to a client that authenticated needs that client's credentials: 401 without.
 * - A token of another client is left alone; the caller's own are revoked first, then the answer is 400.
 * - Repeating a request changes nothing, so a lost answer is asked for again.
 */
const MAX_TOKENS = 500;

export async function revoke(
  call: Call<unknown, unknown, URLSearchParams, undefined>,
  context: OAuthContext,
): Promise<Answer> {
  const parameters = readParameters(call.body);
  if (!parameters.ok) return context.refuse(call, "revoke", parameters.error);
  const list = parameters.value.get("token");
  if (list === undefined) return context.refuse(call, "revoke", failure("invalid_request", "token is missing."));
  const tokens = [...new Set(list.split(",").map((item) => item.trim()))].filter((item) => item !== "");
  if (tokens.length > MAX_TOKENS)
    return context.refuse(
      call,
      "revoke",
      failure("invalid_request", `At most ${MAX_TOKENS} tokens are revoked at once.`),
    );

  const credentials = readCredentials(call.request, parameters.value);
  if (!credentials.ok) return context.refuse(call, "revoke", credentials.error);
  const client = await authenticate(credentials.value, context, call.nowMs);
  if (client?.ok === false) return context.refuse(call, "revoke", client.error);

  const verified = await context.verifier.verifyNow(tokens, call.nowMs);
  if (!verified.ok) return context.unavailable();
  const living = verified.value.flatMap((token) => (token.ok ? [token.value] : []));
  // Every token so far was issued to a client that authenticated, so without one there is none to revoke.
  const own = living.filter((token) => token.clientId === client?.value.id);
  await context.trust.end(own.map(endOf), []);
  const { requestId } = call;
  for (const { tokenId, clientId } of own) context.log.info("token revoked", { requestId, tokenId, clientId });
  if (client === undefined && living.length > 0) return context.refuse(call, "revoke", noCredentials());
  if (own.length < living.length)
    return context.refuse(call, "revoke", failure("unauthorized_client", "A token was not issued to this client."));
  return json(200, {}, { "cache-control": "no-store" });
}

const authenticate = async (credentials: Credentials | undefined, context: OAuthContext, nowMs: number) =>
  credentials === undefined
    ? undefined
    : authenticateClient(
        credentials,
        await context.directory.find(credentials.clientId, undefined, nowMs),
        context.clientLimit,
      );

const endOf = (token: Principal): Ended => ({ kind: "token", key: token.tokenId, expiresSec: token.expiresAtSec });
