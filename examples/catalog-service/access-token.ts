import { createRemoteJWKSet, errors, jwtVerify } from "jose";
import { Refusal } from "./refusal.ts";
import type { Settings } from "./settings.ts";

/** Who calls, as the platform signed it. */
export interface Caller {
  readonly tenant: string;
  /** The application that calls. */
  readonly client: string;
  /** The e-mail address of the person who uses it; empty where an application acts for itself. */
  readonly user: string;
  readonly scopes: ReadonlySet<string>;
}

/** What these say is about the token; anything else that fails (the keys cannot be fetched) is not the caller's fault. */
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
 * Checks the token of a request by the platform's public keys, which are fetched once and again when a token
 * names a key that is new. No request to the platform is needed to check a token.
 *
 * Two kinds arrive. A caller of another tenant has its token kept back by the gateway, which sends one in its place that
 * is for this service and for a minute: `service+jwt`, and `aud` is our name. A caller of our own tenant is sent on with
 * the token that it has: `at+jwt`, for the whole platform. Each kind has an audience of its own, and neither passes for
 * the other; so a token that was made for another service is none here.
 *
 * The gateway has checked the token already, and says in the headers `plat-tenant`, `plat-client`, `plat-user` and
 * `plat-scopes` whose it is. These are not looked at here: a header is written by whoever sends the request, and the
 * gateway removes forged ones only from what passes through it. This service listens on an address of its own; whoever
 * reaches it past the gateway (another container, a wrong firewall rule, a request that some other service was talked
 * into) writes `plat-tenant: acmeshop` and would have Acme's products. A signature cannot be written by hand. So the
 * tenant comes from the verified token and from nowhere else.
 *
 * What the headers are good for: a service that nobody but the gateway can reach (a private tunnel, mutual TLS) need
 * not read tokens at all; and a proxy on the way can choose by them, for example a limit for each tenant.
 *
 * What only the gateway knows: that a token was revoked, and that the tenant's subscription ended, within seconds.
 * Here a token is good until it expires: a minute or an hour at most.
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
  // Others there are, such as ID tokens, signed by the same platform for the same person: they give no access.
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
  // A person's token may be for an organization, or for no tenant at all.
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
