import type { Principal } from "../../http/callers/auth.ts";
import { toSec } from "../../platform/runtime/clock.ts";
import { Attempts } from "../../platform/copies/attempts.ts";
import { FreshCache } from "../../platform/copies/fresh-cache.ts";
import type { Isolate } from "../../platform/copies/isolate.ts";
import { randomId, type Random } from "../../platform/runtime/random.ts";
import { err, ok, type Result } from "../../platform/model/result.ts";
import { scopeMatches } from "../../platform/model/scope-pattern.ts";
import { clientTenantClaim, identityClaims, toPrincipal, type Claims } from "./access-token.ts";
import type { IssuedToken } from "./issued-token.ts";
import { readOwnToken, signJwt, type Kind } from "./jwt.ts";
import { ACCESS_TOKEN_ALG } from "./keys/signing-key.ts";
import type { Trust } from "./trust.ts";

/**
 * The token that the gateway sends to a service instead of the caller's. It identifies the caller as an access token
 * does, and is valid at that service only. `aud` is the service's name, `scope` the caller's scopes there. The platform
 * accepts its `typ` nowhere, so it opens nothing here.
 *
 * A signature costs as much as the rest of a small request. So one token serves all requests with the same access token
 * within half its lifetime. The other half lets the last of them arrive.
 */
const SERVICE_TOKEN_LIFETIME_SEC = 60;
const TYPE = "service+jwt";
/** About 1.5 KB each. */
const KEPT = { ttlMs: (SERVICE_TOKEN_LIFETIME_SEC * 1000) / 2, maxEntries: 1_000 } as const;

export interface AudienceService {
  readonly name: string;
  /** Patterns. */
  readonly scopes: readonly string[];
}

/** The claims by which revocations reach a token. */
const basisOf = (caller: Principal) =>
  isIssued(caller)
    ? {
        ...clientTenantClaim(caller),
        gid: caller.grantId,
        asof: caller.recordsAsOfMs,
        user_asof: caller.userAsOfMs,
        caller_jti: caller.tokenId,
      }
    : {};

const isIssued = (caller: Principal): caller is IssuedToken => "recordsAsOfMs" in caller && "userAsOfMs" in caller;

const REQUIRED_CLAIMS = ["iat", "exp", "jti", "gid", "sid", "client_id", "tenant", "user", "sub", "asof", "user_asof"];

interface ServiceClaims extends Claims {
  /** The id of the caller's own token. Absent in tokens of older releases, which live for a minute. */
  readonly caller_jti?: string;
}

/**
 * Reads the token that the gateway sent to this service, with the id of the caller's own token, which revocations name.
 * The error says why it is none, for the log.
 */
export async function readServiceToken(
  token: string,
  service: string,
  trust: Pick<Trust, "verifyKey">,
  nowMs: number,
): Promise<Result<IssuedToken, string>> {
  const kind: Kind = {
    alg: ACCESS_TOKEN_ALG,
    typ: TYPE,
    requiredClaims: REQUIRED_CLAIMS,
    audience: service,
    expired: "refused",
  };
  const read = await readOwnToken<ServiceClaims>(token, kind, trust, nowMs);
  if (!read.ok) return err(read.error.reason);
  const issued = toPrincipal(read.value);
  return ok({ ...issued, tokenId: read.value.caller_jti ?? issued.tokenId });
}

export function createServiceTokens(trust: Pick<Trust, "signingKey">, random: Random, isolate: Isolate) {
  // A signature asks no database: it works while D1 does not answer, and does not show that D1 answers again.
  const kept = new FreshCache<string, string>(KEPT, isolate, new Attempts(isolate));
  return {
    /** `issuer`: as known at the request's origin. The token ends with the caller's own at the latest. */
    tokenFor: (caller: Principal, service: AudienceService, issuer: string, nowMs: number): Promise<string> =>
      kept.get(JSON.stringify([caller.tokenId, service.name, issuer]), nowMs, async () => {
        const signer = await trust.signingKey(nowMs, ACCESS_TOKEN_ALG);
        const issuedAtSec = toSec(nowMs);
        const claims = {
          jti: randomId(random),
          iss: issuer,
          aud: service.name,
          iat: issuedAtSec,
          exp: Math.min(issuedAtSec + SERVICE_TOKEN_LIFETIME_SEC, caller.expiresAtSec),
          ...identityClaims(caller),
          plan: caller.plan,
          // For an exchange (grants/token-exchange.ts): if the caller's token was revoked, it is refused.
          ...basisOf(caller),
          ...(caller.audience === undefined ? {} : { res: caller.audience }),
          scope: caller.scopes.filter((scope) => service.scopes.some((own) => scopeMatches(own, scope))).join(" "),
        };
        return signJwt({ alg: ACCESS_TOKEN_ALG, typ: TYPE, kid: signer.kid }, claims, signer.key);
      }),
  };
}
