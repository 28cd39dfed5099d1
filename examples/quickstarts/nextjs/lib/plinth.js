import { cookies } from "next/headers";
import * as client from "openid-client";

export const appUrl = process.env.APP_URL ?? "http://127.0.0.1:3000";
export const redirectUri = `${appUrl}/callback`;
const url = process.env.PLINTH_URL ?? "http://127.0.0.1:8787";

/** Without https, which the platform on your machine does not have. */
const local = url.startsWith("http:") ? { execute: [client.allowInsecureRequests] } : {};
let discovered;
export const config = () =>
  (discovered ??= client.discovery(new URL(`${url}/oauth2/v1`), "demo.web", undefined, client.None(), local));

/** Cookies that scripts of the page cannot read. */
export const COOKIE = { httpOnly: true, sameSite: "lax", secure: appUrl.startsWith("https:"), path: "/" };

/** The signed-in person, or undefined. */
export async function person() {
  const token = (await cookies()).get("token")?.value;
  if (token === undefined) return undefined;
  const answer = await fetch(`${url}/oauth2/v1/userinfo`, { headers: { authorization: `Bearer ${token}` } });
  return answer.ok ? await answer.json() : undefined;
}
