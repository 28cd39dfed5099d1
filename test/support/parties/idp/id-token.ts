import { SignJWT, type JWTHeaderParameters, type JWTPayload } from "jose";
import { answerJson } from "../../outside.ts";
import { at, CLIENT_ID, type Provider, type Signer } from "./scripted-provider.ts";
import type { Application } from "./application.ts";
import type { SentOff } from "./sent-off.ts";
import { subjectOf } from "./accounts.ts";

export const claimsFor = (app: Application, provider: Provider, { nonce }: SentOff): JWTPayload => ({
  iss: provider.issuer,
  aud: CLIENT_ID,
  sub: subjectOf(app),
  nonce,
  email: app.email,
  email_verified: true,
});

/** Signs an ID token without the claims that are undefined. */
export async function sign(
  claims: JWTPayload,
  { alg, kid, privateKey }: Pick<Signer, "alg" | "kid"> & { privateKey: CryptoKey | Uint8Array },
  header: Partial<JWTHeaderParameters> = {},
): Promise<string> {
  const nowSec = Math.floor(Date.now() / 1000);
  const payload = JSON.parse(JSON.stringify({ iat: nowSec, exp: nowSec + 300, ...claims })) as JWTPayload;
  return new SignJWT(payload).setProtectedHeader({ alg, kid, ...header }).sign(privateKey);
}

/** Sets the answer of the provider's token endpoint. */
export const answerToken = (provider: Provider, idToken: unknown): Promise<void> =>
  answerJson(at(provider, "token"), {
    access_token: "access-token-of-the-provider",
    token_type: "Bearer",
    id_token: idToken,
  });
