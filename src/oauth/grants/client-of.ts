import { err, type Result } from "../../platform/result.ts";
import { identifyClient, noCredentials, type Caller } from "../clients/authentication.ts";
import { failure, type OAuthFailure } from "../model/failure.ts";
import type { GrantDeps, TokenRequest } from "./granted.ts";

/** The client of a grant that a user gave it: known, authenticated where it has a secret, and registered for the grant. */
export async function identifyGrantClient(
  deps: GrantDeps,
  { call, credentials }: TokenRequest,
  grantType: string,
): Promise<Result<Caller, OAuthFailure>> {
  if (credentials === undefined) return err(noCredentials());
  const entry = await deps.directory.find(credentials.clientId, undefined, call.nowMs);
  const caller = await identifyClient(credentials, entry, deps.clientLimit);
  if (!caller.ok) return caller;
  const { client } = caller.value;
  if (client.grantTypes.includes(grantType)) return caller;
  return err(
    failure(
      "unauthorized_client",
      "The client is not registered for this grant.",
      `client ${client.id}: ${grantType}`,
      client.id,
    ),
  );
}
