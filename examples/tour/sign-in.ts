import { createHash, randomBytes } from "node:crypto";
import type { RequestOpts } from "@oazapfts/runtime";
import * as api from "../../api/plinth.ts";
import type { Answer } from "./exchange.ts";
import type { Cast } from "./people.ts";
import type { Session } from "./session.ts";

const REDIRECT_URI = "http://127.0.0.1/callback";

/** A person signs in at a browser application, which gets tokens by a code; then everything is revoked. */
export async function tellSignIn(session: Session, { tenant, web, person }: Cast): Promise<void> {
  session.chapter("A person signs in");
  const verifier = randomBytes(32).toString("base64url");
  const state = randomBytes(8).toString("hex");
  const nonce = randomBytes(8).toString("hex");
  const scope = `openid ${session.platform}.tenant=${tenant} ${session.platform}.media_view`;
  const authorize = (to: RequestOpts) =>
    api.authorize(
      "code",
      web,
      {
        redirectUri: REDIRECT_URI,
        scope,
        state,
        nonce,
        codeChallenge: createHash("sha256").update(verifier).digest("base64url"),
        codeChallengeMethod: "S256",
      },
      to,
    );
  const page = await session.expect(200, authorize, { note: "a page asks for e-mail and password" });
  const jar = cookiesOf(page);
  const { action, fields } = formOf(page.data ?? "");
  const signedIn = await session.call(303, "POST", action, {
    headers: { cookie: jar },
    form: { ...fields, email: person.email, password: person.password },
    note: "the form, with what the browser keeps",
  });
  const landed = new URL(signedIn.header("location"));
  session.same("the browser goes back to the application", landed.origin + landed.pathname, REDIRECT_URI);
  session.same("with the application's state", landed.searchParams.get("state"), state);

  const { data: tokens } = await session.expect(200, (to) =>
    api.getToken(
      {
        grant_type: "authorization_code",
        redirect_uri: REDIRECT_URI,
        client_id: web,
        code: landed.searchParams.get("code") ?? "",
        code_verifier: verifier,
      },
      {},
      to,
    ),
  );
  const claims = claimsOf(session.given("an ID token", tokens.id_token));
  session.same("an ID token for the person and the application", [claims.email, claims.aud], [person.email, web]);
  session.same("with the nonce of this sign-in", claims.nonce, nonce);
  const user = await session.expect(200, api.getUserInfo, { token: tokens.access_token });
  session.same("whom the access token was issued for", user.data, { sub: claims.sub });

  const browser = { headers: { cookie: `${jar}; ${cookiesOf(signedIn)}` } };
  await session.expect(302, authorize, { ...browser, note: "the same browser is not asked again" });

  const refresh = (token: string | undefined) => (to: RequestOpts) =>
    api.getToken({ grant_type: "refresh_token", client_id: web, refresh_token: token }, {}, to);
  const { data: fresh } = await session.expect(200, refresh(tokens.refresh_token), {
    note: "a new access token, and a new refresh token",
  });
  const token = fresh.access_token;
  const { data: grants } = await session.expect(200, (to) => api.listRefreshTokens({}, to), { token });
  session.same(
    "the person sees which applications have access",
    grants.map(({ clientId }) => clientId),
    [web],
  );
  await session.expect(204, (to) => api.deleteRefreshTokens({ clientId: web }, to), { token });
  await session.expect(400, refresh(fresh.refresh_token), { note: "and it has none any more" });
  await session.expect(200, (to) => api.endSession({ clientId: web }, to), browser);
  await session.expect(200, authorize, { ...browser, note: "signed out: the page asks again" });
}

const claimsOf = (idToken: string): { sub?: string; email?: string; aud?: string; nonce?: string } =>
  JSON.parse(Buffer.from(idToken.split(".")[1] ?? "", "base64url").toString());

/** The cookies that a browser would send back. */
export const cookiesOf = ({ headers }: Pick<Answer, "headers">): string =>
  headers
    .getSetCookie()
    .map((cookie) => cookie.split(";")[0])
    .join("; ");

/** Reads the page's form: its address and hidden fields. */
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
