import { SignJWT, type JWTHeaderParameters, type JWTPayload } from "jose";
import { ORIGIN } from "../platform/call.ts";
import { put } from "../platform/operator.ts";
import { makeTenant } from "../platform/tenants.ts";
import { unique } from "../platform/unique.ts";
import { makeSigner, type Signer } from "./idp/scripted-provider.ts";

/** A client that authenticates by signed assertions. */
export interface SigningClient {
  readonly clientId: string;
  readonly tenant: string;
  readonly signer: Signer;
}

export const ISSUER = `${ORIGIN}/oauth2/v1`;
export const ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/** Makes a signing client with one key, for client credentials by default. */
export async function makeSigningClient(fields: Record<string, unknown> = {}, signer?: Signer): Promise<SigningClient> {
  const key = signer ?? (await makeSigner());
  const tenant = (fields["tenant"] as string | undefined) ?? (await makeTenant());
  const clientId = `${tenant}.${unique("app")}`;
  const jwks = JSON.stringify({ keys: [key.publicJwk] });
  await put(`clients/${clientId}`, {
    tenant,
    confidential: true,
    grantTypes: ["client_credentials"],
    scopes: ["plat.media_view"],
    authMethod: "private_key_jwt",
    ...("jwksUri" in fields ? {} : { jwks }),
    ...fields,
  });
  return { clientId, tenant, signer: key };
}

/** Makes an assertion as a careful client does. A test changes claims, or removes them by `undefined`. */
export function assertionOf(
  { clientId, signer }: SigningClient,
  claims: JWTPayload = {},
  header: Partial<JWTHeaderParameters> = {},
): Promise<string> {
  const nowSec = Math.floor(Date.now() / 1000);
  const payload = {
    iss: clientId,
    sub: clientId,
    aud: ISSUER,
    jti: unique("jti"),
    iat: nowSec,
    exp: nowSec + 60,
    ...claims,
  };
  return new SignJWT(JSON.parse(JSON.stringify(payload)) as JWTPayload)
    .setProtectedHeader({ alg: signer.alg, kid: signer.kid, ...header })
    .sign(signer.privateKey);
}

/** Returns the parameters that authenticate the client. */
export const provenBy = (assertion: string) => ({
  client_assertion_type: ASSERTION_TYPE,
  client_assertion: assertion,
});
