import { err, ok, type Result } from "../platform/result.ts";
import type { Names } from "../platform/names.ts";
import type { Plan } from "../platform/plans.ts";
import { problem, type Problem } from "./errors.ts";

/** Who calls: the claims of a verified access token (contract 2.1). Empty text where the token carries none. */
export interface Principal {
  readonly clientId: string;
  /** False where nobody proved to be the client: public clients, the implicit flow, the untrusted password grant. */
  readonly clientAuthenticated: boolean;
  /** Owner of topics and of media. */
  readonly clientName: string;
  readonly tenant: string;
  /** True when the token request named the tenant: for media such a token acts for no other one (contract 4.4). */
  readonly tenantExplicit: boolean;
  readonly org: string;
  /** Of the tenant; how many requests it may make. */
  readonly plan: Plan;
  readonly user: string;
  /** `sub`: how tokens name the user, or the client where there is none. */
  readonly subject: string;
  readonly scopes: readonly string[];
  readonly tokenId: string;
  readonly grantId: string;
  readonly sessionId: string;
  readonly issuedAtSec: number;
  readonly expiresAtSec: number;
}

export type TokenFault = "malformed" | "expired" | "revoked" | "unavailable";

/** Port to the OAuth room. */
export interface TokenVerifier {
  verify(token: string, nowMs: number): Promise<Result<Principal, TokenFault>>;
}

/** Port to the OAuth room: what the operator registered, at most 30 s old (contract 2.1). */
export interface ClientAccess {
  /**
   * Whether the caller could have a token that names this tenant: a client its own, or one that subscribes to its service.
   * A user's token is for the tenant that it was issued for and no other, whatever its client could get.
   */
  mayActFor(caller: Pick<Principal, "clientId" | "user" | "tenant">, tenant: string, nowMs: number): Promise<boolean>;
  /** Whether the client is a service's, and so may act for tenants besides its own. */
  servesOthers(clientId: string, nowMs: number): Promise<boolean>;
  /** Whether the client is registered for the scope (full name), whatever its token carries. */
  listsScope(clientId: string, scope: string, nowMs: number): Promise<boolean>;
  /** Whether the tenant that a token is for may use a service: an essential one, its own, or one of its packages. */
  tenantUses(caller: Pick<Principal, "tenant">, service: string, nowMs: number): Promise<boolean>;
  /** Whether it is the client's own tenant: a service's client acts for others besides. */
  belongsTo(clientId: string, tenant: string, nowMs: number): Promise<boolean>;
  /** Whether the client could get a token for its own tenant now: neither is gone or disabled. */
  isLive(clientId: string, nowMs: number): Promise<boolean>;
}

/** Longer tokens are neither issued nor read: what carries requests to us takes headers of some 16 KiB. */
export const MAX_TOKEN_CHARS = 8192;

/** The principal of an `Authorization` header, else the 401 or 503 (RFC 6750 section 3). */
export async function authenticate(
  header: string | null | undefined,
  verifier: TokenVerifier,
  names: Names,
  nowMs: number,
): Promise<Result<Principal, Problem>> {
  const token = /^bearer +([^ ]+) *$/i.exec(header ?? "")?.[1];
  const realm = `Bearer realm="${names.platform}"`;
  if (token === undefined && !/^bearer\b/i.test(header ?? "")) {
    const headers = { "www-authenticate": realm };
    return err(problem("insufficient_credentials", "The request carries no access token.", { headers }));
  }
  const refused = (message: string, reason: string): Result<never, Problem> => {
    const headers = { "www-authenticate": `${realm}, error="invalid_token", error_description="${message}"` };
    return err(problem("insufficient_credentials", message, { headers, reason }));
  };
  if (token === undefined || token.length > MAX_TOKEN_CHARS)
    return refused("The access token is not valid.", "malformed");
  const verified = await verifier.verify(token, nowMs);
  if (verified.ok) return ok(verified.value);
  switch (verified.error) {
    case "malformed":
    case "revoked":
      return refused("The access token is not valid.", verified.error);
    case "expired":
      return refused("The access token has expired.", verified.error);
    case "unavailable":
      return err(
        problem("service_temporarily_unavailable", "The token cannot be checked at the moment.", {
          headers: { "retry-after": "5" },
        }),
      );
  }
}

/** Undefined when the principal has the scope, else the 403 that names it. */
export function missingScope(principal: Principal, scope: string, names: Names): Problem | undefined {
  return principal.scopes.includes(scope) ? undefined : scopeRefusal(scope, names);
}

/** The 403 that names a scope (RFC 6750 section 3). */
export function scopeRefusal(scope: string, names: Names): Problem {
  const headers = {
    "www-authenticate": `Bearer realm="${names.platform}", error="insufficient_scope", scope="${scope}"`,
  };
  return problem("insufficient_permissions", `The access token lacks the scope ${scope}.`, { headers });
}

/** 401 for a valid token of a client that acts for itself, where only a user's will do (specification, `/userinfo`). */
export function userTokenRequired(realm: string): Problem {
  const message = "The access token was not issued for a user.";
  const challenge = `Bearer realm="${realm}", error="invalid_token", error_description="${message}"`;
  return problem("insufficient_credentials", message, { headers: { "www-authenticate": challenge } });
}
