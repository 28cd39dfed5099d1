import { cookies } from "next/headers";
import { redirect } from "next/navigation";
import * as client from "openid-client";
import { appUrl, config, COOKIE } from "../../lib/plinth.js";

export async function GET(request) {
  const jar = await cookies();
  const address = new URL(`/callback${new URL(request.url).search}`, appUrl);
  const tokens = await client.authorizationCodeGrant(await config(), address, {
    pkceCodeVerifier: jar.get("verifier")?.value,
    expectedState: jar.get("state")?.value,
  });
  jar.set("token", tokens.access_token, { ...COOKIE, maxAge: tokens.expires_in });
  jar.delete("verifier");
  jar.delete("state");
  redirect("/");
}
