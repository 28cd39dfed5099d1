import { createHash, randomBytes } from "node:crypto";
import { cookiesOf, formOf } from "../../scripts/tour/sign-in.ts";
import { basic } from "../lib/exchange.ts";
import { call, type Answer } from "./caller.ts";
import type { Meter } from "./meter.ts";
import { bearer, TENANT, type Platform } from "./platform.ts";
import type { Row } from "./tables.ts";

const REDIRECT_URI = "http://127.0.0.1/callback";
const PERSON = { email: "person@cost.example", password: "correct horse battery" };
const WEB = `${TENANT}.web`;

/** Tokens of services and of a person. */
export async function oauthRows(platform: Platform, meter: Meter, repetitions: number): Promise<Row[]> {
  const { base, put } = platform;
  const oauth = `${base}/oauth2/v1`;
  const client = await platform.makeClient("service", []);
  await put(`users/${PERSON.email}`, { name: "Person", password: PERSON.password });
  await put(`tenants/${TENANT}/members/${PERSON.email}`, { roles: [] });
  await put(`clients/${WEB}`, {
    tenant: TENANT,
    confidential: false,
    redirectUris: [REDIRECT_URI],
    postLogoutRedirectUris: [],
    grantTypes: ["authorization_code", "refresh_token"],
    scopes: [],
  });
  const measure = (label: string, step: () => Promise<unknown>, times = repetitions) =>
    meter.measure({ label, repetitions: times, step });

  const rows: Row[] = [await measure("client_credentials token", client.token)];
  const token = await client.token();
  const asked = { headers: { authorization: basic(client.id, client.secret) }, form: { token } };
  rows.push(await measure("tokeninfo", () => call("GET", `${oauth}/tokeninfo?access_token=${token}`)));
  rows.push(await measure("introspection", () => call("POST", `${oauth}/introspect`, asked)));

  let browser = "";
  const signIn = async () => {
    const { authorize, redeem } = newRequest(oauth);
    const page = await call("GET", authorize);
    const { action, fields } = formOf(page.text);
    const form = { ...fields, ...PERSON };
    const headers = { cookie: cookiesOf(page) };
    const signedIn = await call("POST", new URL(action, base).href, { status: 303, headers, form });
    browser = `${cookiesOf(page)}; ${cookiesOf(signedIn)}`;
    return redeem(signedIn);
  };
  const again = async () => {
    const { authorize, redeem } = newRequest(oauth);
    return redeem(await call("GET", authorize, { status: 302, headers: { cookie: browser } }));
  };
  // A password is hashed for some 70 ms.
  rows.push(await measure("a person signs in: page, form, code redeemed", signIn, Math.ceil(repetitions / 5)));
  rows.push(await measure("the browser comes again: code, redeemed", again));
  const person = await again();
  rows.push(
    await measure("userinfo", () => call("GET", `${oauth}/userinfo`, { headers: bearer(person.access_token) })),
  );
  let { refresh_token: refreshToken } = person;
  const refresh = async () => {
    const form = { grant_type: "refresh_token", client_id: WEB, refresh_token: refreshToken };
    refreshToken = (await call("POST", `${oauth}/token`, { form })).json().refresh_token;
  };
  rows.push(await measure("refresh token used", refresh));
  return rows;
}

/** An authorization request of the application, and what it does with the code. */
function newRequest(oauth: string) {
  const verifier = randomBytes(32).toString("base64url");
  const parameters = new URLSearchParams({
    response_type: "code",
    client_id: WEB,
    redirect_uri: REDIRECT_URI,
    scope: "openid",
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
  });
  return {
    authorize: `${oauth}/authorize?${parameters.toString()}`,
    async redeem({ headers }: Answer) {
      const code = new URL(headers.get("location") ?? "").searchParams.get("code") ?? "";
      const redeemed = { redirect_uri: REDIRECT_URI, client_id: WEB, code, code_verifier: verifier };
      return (await call("POST", `${oauth}/token`, { form: { grant_type: "authorization_code", ...redeemed } })).json();
    },
  };
}
