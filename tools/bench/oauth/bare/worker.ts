import { jwtVerify, SignJWT, type JWTPayload } from "jose";
import { signJwt } from "../../../../src/oauth/tokens/jwt.ts";
import { theKeys } from "../../lib/worker-keys.ts";

/**
 * The baseline: a Worker that signs a token for everybody with jose (below `/own` with the platform's own code), and
 * verifies one signature for operations on tokens (below `/d1` after one D1 statement). It has no router, clients,
 * scopes, storage or log. What remains is the runtime, the form, the signature and the JSON. The token has the claims
 * of the platform's own.
 */
const LIFETIME_SEC = 3600;
const SCOPE =
  "plat.tenant=bench plat.media_admin plat.media_manage plat.media_view plat.pubsub.topic=* plat.pubsub_publish";

export default {
  async fetch(request, env) {
    const url = new URL(request.url);
    const withD1 = url.pathname.startsWith("/d1/");
    if (withD1) await env.DB.prepare("SELECT ?1 AS now").bind(Date.now()).all();
    switch (withD1 ? url.pathname.slice("/d1".length) : url.pathname) {
      case "/token":
        return token(url.origin, new URLSearchParams(await request.text()), signWithJose);
      case "/own/token":
        return token(url.origin, new URLSearchParams(await request.text()), signAsPlinth);
      case "/tokeninfo":
        return tokenInfo(await verify(url.searchParams.get("access_token") ?? ""));
      case "/introspect":
        return introspect(await verify(new URLSearchParams(await request.text()).get("token") ?? ""));
      case "/userinfo":
        return userInfo(await verify(request.headers.get("authorization")?.slice("Bearer ".length) ?? ""));
      default:
        return new Response(null, { status: 404 });
    }
  },
} satisfies ExportedHandler<{ readonly DB: D1Database }>;

type Sign = (claims: JWTPayload, key: CryptoKey) => Promise<string>;

const HEADER = { alg: "ES256", typ: "at+jwt", kid: "a-key-of-16-char" } as const;

const signWithJose: Sign = (claims, key) => new SignJWT(claims).setProtectedHeader(HEADER).sign(key);
const signAsPlinth: Sign = (claims, key) => signJwt(HEADER, claims, key);

async function token(origin: string, form: URLSearchParams, sign: Sign): Promise<Response> {
  if (form.get("grant_type") !== "client_credentials") return new Response(null, { status: 400 });
  const { privateKey } = await theKeys();
  const nowMs = Date.now();
  const nowSec = Math.floor(nowMs / 1000);
  const id = crypto.randomUUID();
  const claims = {
    iss: `${origin}/oauth2/v1`,
    aud: origin,
    sub: "bench.client",
    jti: id,
    iat: nowSec,
    exp: nowSec + LIFETIME_SEC,
    client_id: "bench.client",
    client_name: "bench.client",
    client_auth: true,
    tenant: "bench",
    tenant_explicit: false,
    org: "",
    user: "",
    scope: SCOPE,
    gid: id,
    sid: id,
    asof: nowMs,
    user_asof: nowMs,
  };
  const signed = await sign(claims, privateKey);
  const body = { token_type: "Bearer", access_token: signed, expires_in: LIFETIME_SEC, scope: SCOPE };
  // RFC 6749 section 5.1.
  return Response.json(body, { headers: { "cache-control": "no-store", pragma: "no-cache" } });
}

interface Claims {
  client_id: string;
  tenant: string;
  scope: string;
  sub: string;
  exp: number;
  iat: number;
}

async function verify(given: string): Promise<Claims> {
  const { publicKey } = await theKeys();
  const { payload } = await jwtVerify<Claims>(given, publicKey, { algorithms: ["ES256"], typ: "at+jwt" });
  return payload;
}

const tokenInfo = ({ client_id: clientId, tenant, scope }: Claims): Response =>
  Response.json({ scopes: scope.split(" "), tenant, clientId });

const introspect = ({ client_id, scope, sub, exp, iat }: Claims): Response =>
  Response.json({ active: true, scope, client_id, token_type: "Bearer", exp, iat, sub });

const userInfo = ({ sub }: Claims): Response => Response.json({ sub });
