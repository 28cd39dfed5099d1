import { createRemoteJWKSet, errors, jwtVerify } from "jose";
import { Refusal } from "./refusal.ts";
import type { Settings } from "./settings.ts";

/** The caller, as the platform signed it. */
export interface Caller {
  readonly tenant: string;
  /** The calling application. */
  readonly client: string;
  /** The e-mail address of its user; empty if the application acts for itself. */
  readonly user: string;
  readonly scopes: ReadonlySet<string>;
}

/** Errors of jose about the token. Any other error (the keys cannot be fetched) is not the caller's fault. */
const TOKEN_FAULTS: ReadonlySet<string> = new Set(
  [
    errors.JWTInvalid,
    errors.JWTExpired,
    errors.JWTClaimValidationFailed,
    errors.JWSInvalid,
    errors.JWSSignatureVerificationFailed,
    errors.JWKSNoMatchingKey,
    errors.JWKSMultipleMatchingKeys,
    errors.JOSEAlgNotAllowed,
    errors.JOSENotSupported,
  ].map(({ code }) => code),
);

/**
 * Verifies the token of a request with the platform's public keys. The keys are fetched once, and again when a token
 * names a new one, so verifying needs no request to the platform.
 *
 * Two kinds of tokens arrive. For a caller of another tenant, the gateway replaces the token by one for this service
 * and one minute: `service+jwt`, with our name in `aud`. A caller of our own tenant keeps its token: `at+jwt`, for the
 * whole platform. Each kind has its own audience, so a token for another service is not accepted.
 *
 * The gateway has verified the token already and adds the headers `plat-tenant`, `plat-client`, `plat-user` and
 * `plat-scopes`. This service does not read them. Anyone can write a header, and the gateway removes forged ones only
 * from requests through it. A request that bypasses the gateway (another container, a wrong firewall rule, a request
 * that another service was tricked into) could say `plat-tenant: acmeshop` and get Acme's products. A signature cannot
 * be forged, so the tenant comes only from the verified token.
 *
 * The headers are useful for a service that only the gateway can reach (a private tunnel, mutual TLS), which need not
 * read tokens, and for a proxy, which may for example limit requests by tenant.
 *
 * Only the gateway knows within seconds that a token was revoked or a subscription ended. Here a token is valid until
 * it expires: after a minute, or an hour at most.
 */
export function createTokenCheck({
  platformUrl,
  service,
}: Settings): (authorization: string | undefined) => Promise<Caller> {
  const issuer = `${platformUrl}/oauth2/v1`;
  const keys = createRemoteJWKSet(new URL(`${issuer}/jwks`), { timeoutDuration: 5_000 });
  const expected = {
    issuer,
    algorithms: ["ES256"],
    requiredClaims: ["exp", "aud", "sub", "client_id", "tenant", "scope"],
  };
  // The same platform signs other tokens for the same person, such as ID tokens; they give no access.
  const audiences = new Map([
    ["service+jwt", service],
    ["at+jwt", new URL(issuer).origin],
  ]);
  return async (authorization) => {
    const [, token] = /^Bearer +([\w.-]+)$/i.exec(authorization ?? "") ?? [];
    if (token === undefined) throw unauthorized("This needs an access token: send Authorization: Bearer <token>.");
    try {
      const { payload, protectedHeader } = await jwtVerify(token, keys, expected);
      const audience = audiences.get(protectedHeader.typ ?? "");
      if (audience === undefined || payload.aud !== audience)
        throw unauthorized("The access token is not one for this service.", "invalid_token");
      return toCaller(payload);
    } catch (error) {
      if (error instanceof Refusal) throw error;
      if (error instanceof errors.JWTExpired) throw unauthorized("The access token has expired.", "invalid_token");
      if (error instanceof errors.JWTClaimValidationFailed)
        throw unauthorized(`The access token is not one of ${issuer}: its ${error.claim} is another.`, "invalid_token");
      if (error instanceof errors.JOSEError && TOKEN_FAULTS.has(error.code))
        throw unauthorized("The access token is not valid here.", "invalid_token", error.message);
      throw new Refusal("service_temporarily_unavailable", "Tokens cannot be checked at the moment.", {
        headers: { "retry-after": "5" },
        reason: `the platform's keys: ${String(error)}`,
      });
    }
  };
}

function toCaller(claims: Readonly<Record<string, unknown>>): Caller {
  const text = (name: string): string => (typeof claims[name] === "string" ? claims[name] : "");
  const tenant = text("tenant");
  // A person's token may be for an organization, or for no tenant.
  if (tenant === "") throw new Refusal("insufficient_permissions", "This needs a token for a tenant.");
  return { tenant, client: text("client_id"), user: text("user"), scopes: new Set(text("scope").split(" ")) };
}

export function requireScope({ scopes }: Caller, scope: string): void {
  if (!scopes.has(scope))
    throw new Refusal("insufficient_permissions", `This needs a token with the scope ${scope}.`, {
      headers: { "www-authenticate": `Bearer error="insufficient_scope", scope="${scope}"` },
    });
}

const unauthorized = (message: string, error?: string, reason?: string): Refusal =>
  new Refusal("insufficient_credentials", message, {
    headers: { "www-authenticate": error === undefined ? "Bearer" : `Bearer error="${error}"` },
    ...(reason !== undefined && { reason }),
  });
