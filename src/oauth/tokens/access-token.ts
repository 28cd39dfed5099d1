import { decodeProtectedHeader } from "jose";
import type { Actor, Principal, TokenFault, TokenVerifier } from "../../http/callers/auth.ts";
import type { ProofVerifier } from "../../http/callers/proof.ts";
import { toSec } from "../../platform/runtime/clock.ts";
import { planOf } from "../../platform/model/plans.ts";
import { err, ok, type Result } from "../../platform/model/result.ts";
import type { HintBounds } from "../model/authorization.ts";
import type { Issuer } from "../model/call.ts";
import type { MethodClaims } from "../model/methods.ts";
import type { IssuedToken } from "./issued-token.ts";
import { ACCESS_TOKEN_LIFETIME_SEC, LATE_ISSUE_SEC } from "./lifetimes.ts";
import { readOwnToken, type Kind, signJwt } from "./jwt.ts";
import { ACCESS_TOKEN_ALG } from "./keys/signing-key.ts";
import type { Trust } from "./trust.ts";
import { VerifiedTokens } from "./verified-tokens.ts";

/**
 * Access tokens: JWT profile (RFC 9068, `typ: at+jwt`, ES256), opaque to clients. Verifying one needs no I/O while the
 * isolate's copy of keys and revocations is fresh. `asof` and `user_asof` say when the records behind it were read,
 * which decides whether a revocation concerns it.
 */
/** After this time, every token that is issued from the current records has expired. */
export const ALL_EXPIRED_AFTER_SEC = ACCESS_TOKEN_LIFETIME_SEC + LATE_ISSUE_SEC;
export const allExpiredSec = (nowMs: number): number => toSec(nowMs) + ALL_EXPIRED_AFTER_SEC;
const TYPE = "at+jwt";

type Fault = Exclude<TokenFault, "unavailable">;

export type NewToken = Omit<IssuedToken, "issuedAtSec">;

/** The end of a token that is issued now. With an ID token hint it ends with the hint. */
export const accessTokenEndSec = (nowMs: number, hint: Pick<HintBounds, "endsAtMs"> | undefined): number =>
  Math.min(toSec(nowMs) + ACCESS_TOKEN_LIFETIME_SEC, toSec(hint?.endsAtMs ?? Infinity));

/** `methods`: how the person signed in (RFC 9068 2.2.1). */
export async function issueAccessToken(
  token: NewToken,
  methods: MethodClaims,
  from: Issuer,
  trust: Trust,
  nowMs: number,
): Promise<string> {
  const signer = await trust.signingKey(nowMs, ACCESS_TOKEN_ALG);
  const issuedAtSec = toSec(nowMs);
  const claims = {
    // First, so verified-tokens.ts can find a known token by its beginning.
    jti: token.tokenId,
    iss: from.issuer,
    aud: audienceClaim(token, from.audience),
    iat: issuedAtSec,
    exp: token.expiresAtSec,
    ...identityClaims(token),
    ...methods,
    plan: token.plan,
    scope: token.scopes.join(" "),
    ...clientTenantClaim(token),
    gid: token.grantId,
    asof: token.recordsAsOfMs,
    user_asof: token.userAsOfMs,
    ...(token.proofKey === undefined ? {} : { cnf: { jkt: token.proofKey } }),
  };
  return signJwt({ alg: ACCESS_TOKEN_ALG, typ: TYPE, kid: signer.kid }, claims, signer.key);
}

/** The origin: the whole platform. Else the addresses of the services that the token is for. */
export function audienceClaim({ audience }: Pick<Principal, "audience">, origin: string): string | readonly string[] {
  const [first = "", ...others] = (audience ?? [""]).map((path) => origin + path);
  return others.length === 0 ? first : [first, ...others];
}

/** The paths that `aud` names; undefined for the whole platform. `origin`: undefined if any may be ours. */
function readAudience(aud: unknown, origin: string | undefined): Result<readonly string[] | undefined, Fault> {
  const addresses: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
  const urls = addresses.map((one) => (typeof one === "string" ? URL.parse(one) : null));
  if (urls.length === 0 || urls.some((url) => url === null || url.origin !== (origin ?? url.origin)))
    return err("malformed");
  if (urls.some((url, index) => url?.origin === addresses[index])) return ok(undefined);
  const paths = urls.map((url) => url?.pathname ?? "/");
  return paths.includes("/") ? err("malformed") : ok(paths);
}

/** Revocations of a tenant's clients need it. Left out if it adds nothing: most tokens are for the client's tenant. */
export const clientTenantClaim = ({ clientTenant = "", tenant }: Pick<IssuedToken, "clientTenant" | "tenant">) =>
  clientTenant === "" || clientTenant === tenant ? {} : { client_tenant: clientTenant };

/** The claims that identify the caller, the same in every token that a service may see. */
export const identityClaims = (token: Principal | NewToken) => ({
  sub: token.subject,
  client_id: token.clientId,
  client_name: token.clientName,
  client_auth: token.clientAuthenticated,
  tenant: token.tenant,
  tenant_explicit: token.tenantExplicit,
  org: token.org,
  user: token.user,
  sid: token.sessionId,
  ...(token.act === undefined ? {} : { act: token.act }),
});

/**
 * `expected`: the issuer of a deployment with a `PUBLIC_URL`. Without one, the issuer is the origin of any request, so
 * it proves nothing, and the signature alone shows that the token is ours.
 */
export function createTokenVerifier(
  trust: Trust,
  expected: Issuer | undefined,
  proofs: ProofVerifier,
): TokenVerifier & StrictVerifier {
  const requiredClaims = ["iat", "exp", "jti", "gid", "sid", "client_id", "tenant", "user", "sub", "asof", "user_asof"];
  const kind: Kind = { alg: ACCESS_TOKEN_ALG, typ: TYPE, requiredClaims, expired: "refused", ...issuedBy(expected) };
  const verified = new VerifiedTokens();
  const findKey = (kid: string, nowMs: number): Promise<CryptoKey | undefined> =>
    trust.verifyKey(kid, ACCESS_TOKEN_ALG, nowMs);
  const read = async (token: string, nowMs: number): Promise<Result<IssuedToken, Fault>> => {
    const known = verified.find(token, nowMs);
    if (known !== undefined && (await findKey(known.kid, nowMs)) === known.key) return ok(known.issued);
    const claims = await readOwnToken<Claims>(token, kind, trust, nowMs);
    if (!claims.ok) return err(claims.error.kind);
    const audience = readAudience(claims.value.aud, expected?.audience);
    if (!audience.ok) return audience;
    const issued = {
      ...toPrincipal(claims.value),
      ...(audience.value === undefined ? {} : { audience: audience.value }),
    };
    const { kid = "" } = decodeProtectedHeader(token);
    const key = await findKey(kid, nowMs);
    if (key !== undefined) verified.remember({ token, kid, key, issued });
    return ok(issued);
  };
  const hasKnownKey = (token: string): boolean => {
    try {
      return trust.knowsKey(decodeProtectedHeader(token).kid ?? "");
    } catch {
      return false;
    }
  };
  const check = async (token: string, nowMs: number): Promise<Result<IssuedToken, Fault>> => {
    const issued = await read(token, nowMs);
    return issued.ok && trust.isRevoked(issued.value) ? err("revoked") : issued;
  };
  return {
    proofs,
    begin(nowMs) {
      trust.begin(nowMs);
    },
    async verify(token, nowMs, meanwhile) {
      if (trust.isRecent(nowMs))
        return (await trust.ensure(nowMs, "recent")) ? check(token, nowMs) : err("unavailable");
      const ensured = trust.ensure(nowMs, "recent");
      const early = meanwhile === undefined || !hasKnownKey(token) ? undefined : await read(token, nowMs);
      if (early?.ok === true) meanwhile?.(early.value);
      return (await ensured) ? check(token, nowMs) : err("unavailable");
    },
    async verifyNow(tokens, nowMs) {
      // Made-up and expired tokens cost no read of D1: the copy at hand knows the keys.
      if (trust.isRecent(nowMs)) {
        const faults = (await Promise.all(tokens.map((token) => read(token, nowMs)))).filter((found) => !found.ok);
        if (faults.length === tokens.length) return ok(faults);
      }
      if (!(await trust.ensure(nowMs, "now"))) return err("unavailable");
      return ok(await Promise.all(tokens.map((token) => check(token, nowMs))));
    },
  };
}

const issuedBy = (expected: Issuer | undefined) => (expected === undefined ? {} : { issuer: expected.issuer });

/**
 * For the endpoints that answer about tokens: reads revocations from D1 every time that a token is well formed, signed
 * and not expired, once for the whole list.
 */
export interface StrictVerifier {
  verifyNow(
    tokens: readonly string[],
    nowMs: number,
  ): Promise<Result<readonly Result<IssuedToken, Fault>[], "unavailable">>;
}

export interface Claims {
  client_id: string;
  client_name: string;
  client_auth: boolean;
  /** Absent in tokens for this tenant, and in older ones. */
  client_tenant?: string;
  tenant: string;
  tenant_explicit: boolean;
  org: string;
  /** Absent in older tokens. */
  plan?: string;
  user: string;
  sub: string;
  scope: string;
  gid: string;
  sid: string;
  asof: number;
  user_asof: number;
  jti: string;
  iat: number;
  exp: number;
  /** RFC 9449 6.1 */
  cnf?: { readonly jkt: string };
  act?: Actor;
  /** In tokens for services behind the gateway: the audience of the caller's own token. */
  res?: readonly string[];
}

export const toPrincipal = (claims: Claims): IssuedToken => ({
  clientId: claims.client_id,
  clientName: claims.client_name,
  clientAuthenticated: claims.client_auth,
  clientTenant: claims.client_tenant,
  tenant: claims.tenant,
  tenantExplicit: claims.tenant_explicit,
  org: claims.org,
  plan: planOf(claims.plan),
  user: claims.user,
  subject: claims.sub,
  scopes: claims.scope.split(" ").filter((scope) => scope !== ""),
  tokenId: claims.jti,
  grantId: claims.gid,
  sessionId: claims.sid,
  recordsAsOfMs: claims.asof,
  userAsOfMs: claims.user_asof,
  issuedAtSec: claims.iat,
  expiresAtSec: claims.exp,
  ...(claims.act === undefined ? {} : { act: claims.act }),
  ...(claims.res === undefined ? {} : { audience: claims.res }),
  ...(claims.cnf === undefined ? {} : { proofKey: claims.cnf.jkt }),
});
