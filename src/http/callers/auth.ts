import { err, ok, type Result } from "../../platform/model/result.ts";
import type { Names } from "../../platform/model/names.ts";
import type { Plan } from "../../platform/model/plans.ts";
import { problem, type Problem } from "../errors/errors.ts";
import { PROOF_ALGS, type ProofVerifier } from "./proof.ts";

/** The caller: the claims of a verified access token. A claim that the token does not carry is the empty text. */
export interface Principal {
  readonly clientId: string;
  /** False if the client did not authenticate: public clients, the implicit flow, the untrusted password grant. */
  readonly clientAuthenticated: boolean;
  /** Owner of topics and of media. */
  readonly clientName: string;
  readonly tenant: string;
  /** True if the token request named the tenant: media then accepts the token for no other tenant. */
  readonly tenantExplicit: boolean;
  readonly org: string;
  /** The tenant's plan, which limits its requests. */
  readonly plan: Plan;
  readonly user: string;
  /** `sub`: the user's identifier in tokens, or the client's if there is no user. */
  readonly subject: string;
  readonly scopes: readonly string[];
  readonly tokenId: string;
  readonly grantId: string;
  readonly sessionId: string;
  readonly issuedAtSec: number;
  readonly expiresAtSec: number;
  /** The thumbprint of the key that the token is bound to (`cnf.jkt`, RFC 9449). Undefined: its holder may use it. */
  readonly proofKey?: string | undefined;
  /** Public paths of the services that the token is for (RFC 8707). Undefined: the whole platform. */
  readonly audience?: readonly string[] | undefined;
  /** The client that acts for the user, by an exchanged token (RFC 8693 4.1). Undefined: the user's own client. */
  readonly act?: Actor | undefined;
  /** Sent with the answer: the nonce for the caller's next proofs. */
  readonly nextNonce?: string | undefined;
}

/** The client that acts, and the one that acted before it. */
export interface Actor {
  readonly sub: string;
  readonly act?: Actor;
}

export type TokenFault = "malformed" | "expired" | "revoked" | "unavailable";

/** Begins look-ups for a caller whose token may still turn out to be revoked, so it must change nothing. */
export type Meanwhile = (caller: Principal) => void;

/** Port to OAuth. */
export interface TokenVerifier {
  /** `meanwhile` is called if the token is signed and not expired, but revocations are still to be read. */
  verify(token: string, nowMs: number, meanwhile?: Meanwhile): Promise<Result<Principal, TokenFault>>;
  /** Begins to read keys and revocations, for a request that first reads something else. */
  begin(nowMs: number): void;
  readonly proofs: ProofVerifier;
}

/** The parts of a request that identify the caller. */
export interface Presented {
  readonly authorization: string | null | undefined;
  /** The header `DPoP`, read only for a bound token. `checked`: it was checked when the request came. */
  readonly proof: (() => string | null | undefined) | "checked";
  readonly method: string;
  /** The public address. */
  readonly url: URL;
  /** Public path of the requested service behind the gateway. Undefined: a service of the platform itself. */
  readonly service?: string;
}

export const presentedBy = (request: Request, url: URL): Presented => ({
  authorization: request.headers.get("authorization"),
  proof: () => request.headers.get("dpop"),
  method: request.method,
  url,
});

/** Port to OAuth: the records of the operator, at most 30 s old. */
export interface ClientAccess {
  /**
   * True if the caller could get a token for this tenant: a client for its own tenant and for those that subscribe to
   * its service; a user only for the tenant of the token, even if the client could get others.
   */
  mayActFor(caller: Pick<Principal, "clientId" | "user" | "tenant">, tenant: string, nowMs: number): Promise<boolean>;
  /** True for a service's client, which may act for tenants besides its own. */
  servesOthers(clientId: string, nowMs: number): Promise<boolean>;
  /** True if the client is registered for the scope (full name), even if its token does not carry it. */
  listsScope(clientId: string, scope: string, nowMs: number): Promise<boolean>;
  /** True if the token's tenant may use the service: an essential one, its own, or one of its packages. */
  tenantUses(caller: Pick<Principal, "tenant">, service: string, nowMs: number): Promise<boolean>;
  /** True only for the client's own tenant, although a service's client may act for others. */
  belongsTo(clientId: string, tenant: string, nowMs: number): Promise<boolean>;
  /** True if each person at this client has access only to the person's own files. */
  keepsUsersApart(clientId: string, nowMs: number): Promise<boolean>;
  /** True if client and tenant both exist and are enabled, so that the client could get a token now. */
  isLive(clientId: string, nowMs: number): Promise<boolean>;
}

/** Maximum length of a token that is issued or read: servers in front of the Worker accept headers of some 16 KiB. */
export const MAX_TOKEN_CHARS = 8192;

/** Schemes of `Authorization` that carry an access token of the platform. */
export const TOKEN_SCHEME = /^(?:bearer|dpop)\b/i;

/** The caller by an `Authorization` header, else a 401 or 503 (RFC 6750 section 3, RFC 9449 section 7). */
export async function authenticate(
  presented: Presented,
  verifier: Pick<TokenVerifier, "proofs" | "verify">,
  names: Names,
  nowMs: number,
  meanwhile?: Meanwhile,
): Promise<Result<Principal, Problem>> {
  const header = presented.authorization ?? "";
  const token = /^(?:bearer|dpop) +([^ ]+) *$/i.exec(header)?.[1];
  const isBound = /^dpop\b/i.test(header);
  const realm = `${isBound ? "DPoP" : "Bearer"} realm="${names.platform}"`;
  const end = isBound ? `, algs="${PROOF_ALGS.join(" ")}"` : "";
  if (token === undefined && !TOKEN_SCHEME.test(header)) {
    const headers = { "www-authenticate": realm };
    return err(problem("insufficient_credentials", "The request carries no access token.", { headers }));
  }
  const refused = (message: string, reason: string): Result<never, Problem> => {
    const headers = { "www-authenticate": `${realm}, error="invalid_token", error_description="${message}"${end}` };
    return err(problem("insufficient_credentials", message, { headers, reason }));
  };
  if (token === undefined || token.length > MAX_TOKEN_CHARS)
    return refused("The access token is not valid.", "malformed");
  const verified = await verifier.verify(token, nowMs, meanwhile);
  if (verified.ok) {
    const caller = verified.value;
    if (!isFor(caller, presented)) return refused("The access token is for another service.", "another audience");
    if (!isBound)
      return caller.proofKey === undefined
        ? ok(caller)
        : refused("The access token is bound to a key: send it as DPoP, with a proof.", "a bound token as Bearer");
    if (caller.proofKey === undefined)
      return refused("The access token is bound to no key.", "an unbound token as DPoP");
    return proveKey(presented, token, caller, { realm: realm + end, proofs: verifier.proofs }, nowMs);
  }
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

/**
 * True if the token is for the requested service. Behind the gateway, a service may be below another one, so the paths
 * must be equal. A service of the platform has all paths below its own.
 */
const isFor = ({ audience }: Principal, { service, url: { pathname } }: Presented): boolean =>
  audience === undefined ||
  audience.some((path) =>
    service === undefined ? pathname === path || pathname.startsWith(`${path}/`) : service === path,
  );

async function proveKey(
  { proof: sent, method, url }: Presented,
  token: string,
  caller: Principal,
  { realm, proofs }: { readonly realm: string; readonly proofs: ProofVerifier },
  nowMs: number,
): Promise<Result<Principal, Problem>> {
  if (sent === "checked") return ok(caller);
  const proof = await proofs.check(sent() ?? "", { method, url, token }, nowMs);
  if (proof.ok && proof.value.key === caller.proofKey) return ok({ ...caller, nextNonce: proof.value.nextNonce });
  const reason = proof.ok ? "the proof is by another key" : proof.error.reason;
  const lacksNonce = !proof.ok && proof.error.kind === "nonce";
  const message = lacksNonce ? "The proof needs a fresh nonce." : "The proof of the token's key is not valid.";
  const code = lacksNonce ? "use_dpop_nonce" : "invalid_dpop_proof";
  const headers = {
    "www-authenticate": `${realm}, error="${code}", error_description="${message}"`,
    ...(proof.ok ? {} : { "dpop-nonce": proof.error.nonce }),
  };
  return err(problem("insufficient_credentials", message, { headers, reason }));
}

/** The 403 that names the scope; undefined if the caller has it. */
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

/** The 401 for a valid token without a user, at an operation that needs a user. */
export function userTokenRequired(realm: string): Problem {
  const message = "The access token was not issued for a user.";
  const challenge = `Bearer realm="${realm}", error="invalid_token", error_description="${message}"`;
  return problem("insufficient_credentials", message, { headers: { "www-authenticate": challenge } });
}
