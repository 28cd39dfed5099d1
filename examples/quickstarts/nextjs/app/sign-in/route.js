import { cookies } from "next/headers";
import { redirect } from "next/navigation";
import * as client from "openid-client";
import { config, COOKIE, redirectUri } from "../../lib/plinth.js";

export async function GET() {
  const verifier = client.randomPKCECodeVerifier();
  const state = client.randomState();
  const jar = await cookies();
  jar.set("verifier", verifier, { ...COOKIE, maxAge: 600 });
  jar.set("state", state, { ...COOKIE, maxAge: 600 });
  const address = client.buildAuthorizationUrl(await config(), {
    redirect_uri: redirectUri,
    scope: "openid",
    state,
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
  });
  redirect(address.href);
}
