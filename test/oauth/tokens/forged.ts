import { env } from "cloudflare:workers";
import { decodeJwt, decodeProtectedHeader, generateKeyPair } from "jose";
import { expect } from "vitest";
import { toBase64Url, utf8 } from "../../../src/platform/text/encoding.ts";
import { systemRandom } from "../../../src/platform/runtime/random.ts";
import { createSealer, parseSealKeys } from "../../../src/platform/secrets/seal.ts";
import { authorizeAddress, Browser, landed } from "../../support/browser.ts";
import { call, expectJson } from "../../support/platform/call.ts";
import { basic } from "../../support/platform/tokens.ts";
import { makeApp, requestFor, signInThrough, type TestApp } from "../../support/sign-in.ts";
import { makeUser } from "../../support/users.ts";

/** Forged tokens, some signed by the platform's own keys, and the places that accept tokens. */
export type Kind = "access" | "id";
export const ALG = { access: "ES256", id: "RS256" } as const;
export const TYP = { access: "at+jwt", id: "JWT" } as const;
const CRYPTO = {
  ES256: { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" },
  RS256: { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" },
} as const;

export let app: TestApp;
export const good = {} as Record<Kind, string>;
export const strangers = {} as Record<Kind, CryptoKeyPair>;
/** The platform's private keys, so a test can sign anything. */
export const keys = {} as Record<Kind, { kid: string; jwk: Record<string, string>; sign: CryptoKey }>;

/** Gets a valid token of each kind, and the keys that signed them. */
export async function prepare(): Promise<void> {
  const user = await makeUser();
  app = await makeApp({ tenant: user.tenant });
  const done = await signInThrough(new Browser(), app, user, { scope: "openid plat.media_view" });
  const form = {
    grant_type: "authorization_code",
    code: landed(done).query.get("code")!,
    redirect_uri: app.redirectUri,
  };
  const headers = { authorization: basic(app) };
  const tokens = await expectJson(await call("/oauth2/v1/token", { form, headers }), 200);
  good.access = tokens.access_token;
  good.id = tokens.id_token;
  const published = (await expectJson(await call("/oauth2/v1/jwks"), 200)).keys as Record<string, string>[];
  for (const kind of ["access", "id"] as const) {
    const { kid } = decodeProtectedHeader(good[kind]) as { kid: string };
    keys[kind] = { kid, jwk: published.find((key) => key["kid"] === kid)!, sign: await ownKey(kid, ALG[kind]) };
    strangers[kind] = await generateKeyPair(ALG[kind], { extractable: true });
  }
}

async function ownKey(kid: string, alg: "ES256" | "RS256"): Promise<CryptoKey> {
  const sealed = await env.DB.prepare("SELECT sealed_private_jwk FROM signing_key WHERE kid = ?")
    .bind(kid)
    .first<string>("sealed_private_jwk");
  const seals = parseSealKeys(env.SEAL_KEYS);
  if (!seals.ok || sealed === null) throw new Error("the key is there, and SEAL_KEYS of the tests parse");
  const jwk = await createSealer(seals.value, systemRandom).open(sealed, `signing_key:${kid}`);
  return crypto.subtle.importKey("jwk", JSON.parse(jwk!) as JsonWebKey, CRYPTO[alg], false, ["sign"]);
}

type Parts = { header?: object; claims?: object; payload?: Uint8Array<ArrayBuffer> };
export const encode = (value: object): string => toBase64Url(utf8(JSON.stringify(value)));

/** A token of the kind with changed header or claims. Signed by the platform's own key unless `key` is given. */
export async function forge(kind: Kind, parts: Parts, key = keys[kind].sign, alg: string = ALG[kind]): Promise<string> {
  const header = { alg: ALG[kind], typ: TYP[kind], kid: keys[kind].kid, ...parts.header };
  const payload = parts.payload ?? utf8(JSON.stringify({ ...decodeJwt(good[kind]), ...parts.claims }));
  const text = `${encode(header)}.${toBase64Url(payload)}`;
  const algorithm = CRYPTO[alg as "ES256"] ?? { name: "HMAC" };
  return `${text}.${toBase64Url(new Uint8Array(await crypto.subtle.sign(algorithm, key, utf8(text))))}`;
}

const inHeader = /^[\x21-\x7e]+$/;

/** Sends the token to all places of its kind and returns those that accept it. */
export async function takenAt(kind: Kind, token: string): Promise<string[]> {
  const is = async (place: string, answer: Promise<boolean>) => ((await answer) ? [place] : []);
  const ok = async (answer: Promise<Response>) => (await answer).status === 200;
  if (kind === "id") {
    const hint = { ...requestFor(app, { prompt: "none" }), id_token_hint: token };
    const authorize = async () => landed(await new Browser().get(authorizeAddress(hint))).query.has("code");
    const endSession = call(`/oauth2/v1/end_session?id_token_hint=${encodeURIComponent(token)}`);
    return (await Promise.all([is("authorize", authorize()), is("end_session", ok(endSession))])).flat();
  }
  const introspect = async () => {
    const headers = { authorization: basic(app) };
    return (await expectJson(await call("/oauth2/v1/introspect", { form: { token }, headers }), 200)).active as boolean;
  };
  const bearer = inHeader.test(token);
  const places = [
    is("tokeninfo", ok(call(`/oauth2/v1/tokeninfo?access_token=${encodeURIComponent(token)}`))),
    is("introspect", introspect()),
    ...(bearer ? [is("userinfo", ok(call("/oauth2/v1/userinfo", { token })))] : []),
    ...(bearer ? [is("refreshtokens", ok(call("/oauth2/v1/refreshtokens", { token })))] : []),
  ];
  return (await Promise.all(places)).flat();
}

/** Expects each token to be refused. Sends them in parallel, because the server delays look-ups of unknown keys. */
export async function expectRefused(kind: Kind, tokens: Record<string, string | Promise<string>>): Promise<void> {
  const entries = Object.entries(tokens).map(
    async ([what, token]) => [what, await takenAt(kind, await token)] as const,
  );
  expect(await Promise.all(entries)).toEqual(Object.keys(tokens).map((what) => [what, []]));
}

export const BOTH = ["access", "id"] as const;
export const other = (kind: Kind): Kind => (kind === "access" ? "id" : "access");
export const split = (token: string) => token.split(".") as [string, string, string];
