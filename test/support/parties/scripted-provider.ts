import { env } from "cloudflare:workers";
import { exportJWK, generateKeyPair, SignJWT, type JWTHeaderParameters, type JWTPayload } from "jose";
import { isolate, type Isolate } from "../isolate.ts";
import { answerJson, requestsTo } from "../outside.ts";
import type { OutsideAnswer, OutsideRequest } from "../runtime/outside-world.ts";
import { ORIGIN } from "../platform/call.ts";
import { put } from "../platform/operator.ts";
import { makeTenant } from "../platform/tenants.ts";
import { unique } from "../platform/unique.ts";

/**
 * An identity provider whose every word a test can bend: it lives in the world outside that the tests play, says what
 * discovery, keys, token endpoint and userinfo answer, and is registered with the platform under an id of its own.
 */
export const CLIENT_SECRET = "secret of the platform: +&=% \u007e";
export const CLIENT_ID = "platform id:1";
export const CALLBACK = "https://app.test/cb";

export interface Signer {
  readonly alg: string;
  readonly kid: string;
  readonly privateKey: CryptoKey;
  readonly publicJwk: object;
}

export async function makeSigner(alg = "ES256", kid = unique("k")): Promise<Signer> {
  const pair = await generateKeyPair(alg, { extractable: true });
  return { alg, kid, privateKey: pair.privateKey, publicJwk: { ...(await exportJWK(pair.publicKey)), kid, alg } };
}

export interface Provider {
  readonly id: string;
  readonly issuer: string;
  readonly signer: Signer;
  /** What discovery says unless a test says otherwise. */
  readonly metadata: Readonly<Record<string, unknown>>;
}

export const at = (provider: Provider, path: string): string => `${provider.issuer}/${path}`;

export async function makeProvider(
  options: {
    metadata?: Record<string, unknown>;
    signer?: Signer;
    id?: string;
    /** Fields of its registration. */
    scopes?: string[];
    tenants?: string[];
    domains?: string[];
    linking?: string;
    trustEmail?: boolean;
    button?: string;
  } = {},
): Promise<Provider> {
  const id = options.id ?? unique("idp");
  const issuer = `https://${unique("idp")}.test`;
  const { signer = await makeSigner(), metadata: _metadata, id: _id, ...registered } = options;
  const metadata = {
    issuer,
    authorization_endpoint: `${issuer}/authorize?tenant=a`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/jwks`,
    ...options.metadata,
  };
  const provider = { id, issuer, signer, metadata };
  await answerJson(at(provider, ".well-known/openid-configuration"), metadata);
  await answerJson(at(provider, "jwks"), { keys: [signer.publicJwk] });
  const registration = { issuer, clientId: CLIENT_ID, clientSecret: CLIENT_SECRET };
  await put(`identity-providers/${id}`, { ...registration, ...registered });
  return provider;
}

/** Another registration of it, where only these fields differ. */
export const bindProvider = ({ id, issuer }: Provider, fields: object): Promise<unknown> =>
  put(`identity-providers/${id}`, { issuer, clientId: CLIENT_ID, clientSecret: "********", ...fields });

/** A client of the platform, and a user who may sign in to it. */
export interface Application {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly email: string;
}

export async function makeApplication(): Promise<Application> {
  const tenant = await makeTenant();
  const email = `${unique("ada")}@example.org`;
  await put(`users/${email}`, { name: "Ada" });
  await put(`tenants/${tenant}/members/${email}`, { roles: [] });
  const clientId = `${tenant}.${unique("app")}`;
  const clientSecret = "c".repeat(43);
  const grantTypes = ["authorization_code", "implicit", "refresh_token"];
  const client = { tenant, confidential: true, clientSecret, redirectUris: [CALLBACK], grantTypes, scopes: [] };
  await put(`clients/${clientId}`, client);
  return { clientId, clientSecret, email };
}

/** A browser at one isolate of the platform: it keeps cookies and follows nothing. */
export class Browser {
  readonly cookies = new Map<string, string>();
  readonly platform: Isolate;

  constructor(platform: Isolate = isolate()) {
    this.platform = platform;
  }

  async get(address: string): Promise<Response> {
    const { pathname, search } = new URL(address, ORIGIN);
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await this.platform.fetch(pathname + search, cookie === "" ? {} : { headers: { cookie } });
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      this.cookies.set(name, value);
    }
    return response;
  }
}

/** A sign-in under way: the address at the provider that the browser was sent to, and its parameters. */
export interface SentOff {
  readonly browser: Browser;
  readonly address: URL;
  readonly state: string;
  readonly nonce: string;
}

export const authorizeAddress = (app: Application, provider: Provider, more: Record<string, string> = {}): string =>
  `/oauth2/v1/authorize?${new URLSearchParams({
    response_type: "code",
    client_id: app.clientId,
    redirect_uri: CALLBACK,
    state: "the client's own state",
    scope: "openid",
    plat_id_provider: provider.id,
    ...more,
  }).toString()}`;

/** For a user whose account there is linked already. */
export async function sendOff(
  app: Application,
  provider: Provider,
  browser: Browser = new Browser(),
  more: Record<string, string> = {},
): Promise<SentOff> {
  await linkAccount(app, provider);
  return sendOffUnlinked(app, provider, browser, more);
}

/** The user's account there, as `claimsFor` names it. */
export const subjectOf = ({ email }: Pick<Application, "email">): string => `account of ${email}`;

/** As an operator does it. */
export const linkAccount = (app: Pick<Application, "email">, { id }: Pick<Provider, "id">): Promise<unknown> =>
  put(`users/${app.email}/identities/${id}`, { subject: subjectOf(app) });

/** The same where nobody linked the account there before. */
export async function sendOffUnlinked(
  app: Application,
  provider: Provider,
  browser: Browser = new Browser(),
  more: Record<string, string> = {},
): Promise<SentOff> {
  const response = await browser.get(authorizeAddress(app, provider, more));
  const location = response.headers.get("location") ?? "";
  if (response.status !== 302 || !location.startsWith(provider.issuer))
    throw new Error(`not sent to ${provider.issuer}: ${response.status} ${location} ${await response.text()}`);
  const address = new URL(location);
  const [state = "", nonce = ""] = ["state", "nonce"].map((name) => address.searchParams.get(name) ?? "");
  return { browser, address, state, nonce };
}

export const claimsFor = (app: Application, provider: Provider, { nonce }: SentOff): JWTPayload => ({
  iss: provider.issuer,
  aud: CLIENT_ID,
  sub: subjectOf(app),
  nonce,
  email: app.email,
  email_verified: true,
});

/** An ID token; a claim that is undefined is left out. */
export async function sign(
  claims: JWTPayload,
  { alg, kid, privateKey }: Pick<Signer, "alg" | "kid"> & { privateKey: CryptoKey | Uint8Array },
  header: Partial<JWTHeaderParameters> = {},
): Promise<string> {
  const nowSec = Math.floor(Date.now() / 1000);
  const payload = JSON.parse(JSON.stringify({ iat: nowSec, exp: nowSec + 300, ...claims })) as JWTPayload;
  return new SignJWT(payload).setProtectedHeader({ alg, kid, ...header }).sign(privateKey);
}

/** What the provider's token endpoint answers from now on. */
export const answerToken = (provider: Provider, idToken: unknown, more: OutsideAnswer = {}): Promise<void> =>
  answerJson(
    at(provider, "token"),
    { access_token: "access-token-of-the-provider", token_type: "Bearer", id_token: idToken },
    more,
  );

export const comeBack = (
  provider: Pick<Provider, "id">,
  { browser, state }: SentOff,
  parameters: Record<string, string> = {},
): Promise<Response> =>
  browser.get(
    `/oauth2/v1/callback/${provider.id}?${new URLSearchParams({ state, code: "the code", ...parameters }).toString()}`,
  );

/** What the client gets: the parameters of the redirect to it. */
export function toClient(response: Response): Record<string, string> {
  const location = response.headers.get("location") ?? "";
  if (response.status !== 302 || !location.startsWith(CALLBACK)) throw new Error(`${response.status} ${location}`);
  return Object.fromEntries(new URL(location).searchParams);
}

/** Why the request of this answer was refused, as the operator reads it. */
export async function reasonOf(response: Response): Promise<string> {
  const row = env.DB.prepare("SELECT group_concat(reason, ' | ') AS reason FROM audit_entry WHERE request_id = ?");
  return (await row.bind(response.headers.get("plat-request-id")).first<string>("reason")) ?? "";
}

export const tokenRequests = (provider: Provider): Promise<OutsideRequest[]> => requestsTo(at(provider, "token"));
