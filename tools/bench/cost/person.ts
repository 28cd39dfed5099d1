import { createHash, randomBytes } from "node:crypto";
import { cookiesOf, formOf } from "../../../examples/tour/sign-in.ts";
import { call, type Called } from "../lib/exchange.ts";
import { TENANT, type Platform } from "../lib/platform.ts";

const REDIRECT_URI = "http://127.0.0.1/callback";
const PERSON = { email: "person@cost.example", password: "correct horse battery" };
const WEB = `${TENANT}.web`;

/** A person with a browser, at an application without a secret. */
export interface Person {
  /** Signs in by password and keeps the browser signed in. Each sign-in makes a new grant. */
  signIn(): Promise<Tokens>;
  comeAgain(): Promise<Tokens>;
  refresh(token: string): Promise<Tokens>;
}

export interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
}

export async function makePerson({ base, put }: Platform): Promise<Person> {
  const oauth = `${base}/oauth2/v1`;
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
  let browser = "";
  return {
    async signIn() {
      const { authorize, redeem } = newRequest(oauth);
      const page = await call("GET", authorize);
      const { action, fields } = formOf(page.text);
      const form = { ...fields, ...PERSON };
      const headers = { cookie: cookiesOf(page) };
      const signedIn = await call("POST", new URL(action, base).href, { status: 303, headers, form });
      browser = `${cookiesOf(page)}; ${cookiesOf(signedIn)}`;
      return redeem(signedIn);
    },
    async comeAgain() {
      const { authorize, redeem } = newRequest(oauth);
      return redeem(await call("GET", authorize, { status: 302, headers: { cookie: browser } }));
    },
    async refresh(token) {
      const form = { grant_type: "refresh_token", client_id: WEB, refresh_token: token };
      return (await call("POST", `${oauth}/token`, { form })).json();
    },
  };
}

/** An authorization request, and how its code is redeemed. */
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
    async redeem({ headers }: Called): Promise<Tokens> {
      const code = new URL(headers.get("location") ?? "").searchParams.get("code") ?? "";
      const redeemed = { redirect_uri: REDIRECT_URI, client_id: WEB, code, code_verifier: verifier };
      return (await call("POST", `${oauth}/token`, { form: { grant_type: "authorization_code", ...redeemed } })).json();
    },
  };
}
