import { createHash, randomBytes } from "node:crypto";
import type { Cast } from "./people.ts";
import type { Answer, Session } from "./session.ts";

const REDIRECT_URI = "http://127.0.0.1/callback";

/** A person signs in at a browser application, which gets tokens by a code; then everything is given back. */
export async function tellSignIn(session: Session, { tenant, web, person }: Cast): Promise<void> {
  session.chapter("A person signs in");
  const verifier = randomBytes(32).toString("base64url");
  const state = randomBytes(8).toString("hex");
  const parameters = new URLSearchParams({
    response_type: "code",
    client_id: web,
    redirect_uri: REDIRECT_URI,
    scope: `openid ${session.platform}.tenant=${tenant} ${session.platform}.media_view`,
    state,
    nonce: randomBytes(8).toString("hex"),
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
  });
  const authorize = `/oauth2/v1/authorize?${parameters.toString()}`;
  const page = await session.call(200, "GET", authorize, { note: "a page asks for e-mail and password" });
  const jar = cookiesOf(page);
  const { action, fields } = formOf(page.bytes.toString("utf8"));
  const signedIn = await session.call(303, "POST", action, {
    headers: { cookie: jar },
    form: { ...fields, email: person.email, password: person.password },
    note: "the form, with what the browser keeps",
  });
  const landed = new URL(signedIn.header("location"));
  session.same("the browser goes back to the application", landed.origin + landed.pathname, REDIRECT_URI);
  session.same("with the application's state", landed.searchParams.get("state"), state);

  const redeem = { grant_type: "authorization_code", redirect_uri: REDIRECT_URI, client_id: web };
  const code = landed.searchParams.get("code") ?? "";
  const tokens = (
    await session.call(200, "POST", "/oauth2/v1/token", { form: { ...redeem, code, code_verifier: verifier } })
  ).json();
  const claims = JSON.parse(Buffer.from(String(tokens.id_token).split(".")[1] ?? "", "base64url").toString());
  session.same("an ID token for the person and the application", [claims.email, claims.aud], [person.email, web]);
  const user = await session.call(200, "GET", "/oauth2/v1/userinfo", { token: tokens.access_token });
  session.same("who it is", user.json(), { sub: person.email });

  const cookie = `${jar}; ${cookiesOf(signedIn)}`;
  await session.call(302, "GET", authorize, { headers: { cookie }, note: "the same browser is not asked again" });

  const refresh = { grant_type: "refresh_token", client_id: web };
  const fresh = await session.call(200, "POST", "/oauth2/v1/token", {
    form: { ...refresh, refresh_token: tokens.refresh_token },
    note: "a new access token, and a new refresh token",
  });
  const list = await session.call(200, "GET", "/oauth2/v1/refreshtokens", { token: fresh.json().access_token });
  session.same(
    "the person sees which applications have access",
    list.json().map((grant: { clientId: string }) => grant.clientId),
    [web],
  );
  await session.call(204, "DELETE", `/oauth2/v1/refreshtokens?clientId=${web}`, { token: fresh.json().access_token });
  await session.call(400, "POST", "/oauth2/v1/token", {
    form: { ...refresh, refresh_token: fresh.json().refresh_token },
    note: "and it has none any more",
  });
  await session.call(200, "GET", `/oauth2/v1/end_session?client_id=${web}`, { headers: { cookie } });
  await session.call(200, "GET", authorize, { headers: { cookie }, note: "signed out: the page asks again" });
}

/** What a browser would send back. */
export const cookiesOf = ({ headers }: Pick<Answer, "headers">): string =>
  headers
    .getSetCookie()
    .map((cookie) => cookie.split(";")[0])
    .join("; ");

/** The page's form: where it goes and what it carries unseen. */
export function formOf(html: string): { action: string; fields: Record<string, string> } {
  const attribute = (tag: string, name: string): string =>
    unescape(new RegExp(`\\b${name}="([^"]*)"`).exec(tag)?.[1] ?? "");
  const hidden = [...html.matchAll(/<input[^>]*type="hidden"[^>]*>/g)].map(([tag]) => tag);
  return {
    action: attribute(/<form[^>]*>/.exec(html)?.[0] ?? "", "action"),
    fields: Object.fromEntries(hidden.map((tag) => [attribute(tag, "name"), attribute(tag, "value")])),
  };
}

const unescape = (text: string): string =>
  text
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");
