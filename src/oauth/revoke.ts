import type { Principal } from "../http/auth.ts";
import type { Call } from "../http/route.ts";
import { json, type Answer } from "../http/route.ts";
import { requireClient } from "./client-auth.ts";
import type { OAuthContext } from "./context.ts";
import { failure } from "./failure.ts";
import { readParameters } from "./form.ts";
import type { Revocation } from "./store/trust-store.ts";

/**
 * `POST /revoke` (RFC 7009, contract 2.5): one token or a comma-separated list.
 *
 * - A token that is unknown, expired or revoked already counts as revoked: 200 `{}`.
 * - A token of another client is left alone; the caller's own are revoked first, then the answer is 400.
 * - Repeating a request changes nothing, so a lost answer is asked for again.
 */
const MAX_TOKENS = 500;

export async function revoke(
  call: Call<unknown, unknown, URLSearchParams, undefined>,
  context: OAuthContext,
): Promise<Answer> {
  const parameters = readParameters(call.body);
  if (!parameters.ok) return context.refuse(call, "revoke refused", parameters.error);
  const list = parameters.value.get("token");
  if (list === undefined)
    return context.refuse(call, "revoke refused", failure("invalid_request", "token is missing."));
  const tokens = [...new Set(list.split(",").map((item) => item.trim()))].filter((item) => item !== "");
  if (tokens.length > MAX_TOKENS)
    return context.refuse(
      call,
      "revoke refused",
      failure("invalid_request", `At most ${MAX_TOKENS} tokens are revoked at once.`),
    );

  const client = await requireClient(call.request, parameters.value, context.directory, call.nowMs);
  if (!client.ok) return context.refuse(call, "revoke refused", client.error);

  const verified = await context.verifier.verifyNow(tokens, call.nowMs);
  if (!verified.ok) return context.unavailable();
  const living = verified.value.flatMap((token) => (token.ok ? [token.value] : []));
  const own = living.filter((token) => token.clientId === client.value.id);
  await context.trust.revoke(own.map(revocationOf));
  const { requestId } = call;
  for (const { tokenId, clientId } of own) context.log.info("token revoked", { requestId, tokenId, clientId });
  if (own.length < living.length)
    return context.refuse(
      call,
      "revoke refused",
      failure("unauthorized_client", "A token was not issued to this client."),
    );
  return json(200, {}, { "cache-control": "no-store" });
}

const revocationOf = (token: Principal): Revocation => ({
  kind: "token",
  key: token.tokenId,
  issuedUntilSec: token.issuedAtSec,
  expiresSec: token.expiresAtSec,
});
