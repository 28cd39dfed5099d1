import type { Names } from "../platform/names.ts";
import { err, ok, type Result } from "../platform/result.ts";
import { scopeMatches } from "../platform/scope-pattern.ts";
import type { Access } from "./access.ts";
import { authenticate, missingScope, type Principal, userTokenRequired } from "./auth.ts";
import { notFound, problem, type Problem } from "./errors.ts";
import { rightOf, type Operation } from "./rights.ts";
import type { Route } from "./route.ts";
import type { HttpDeps, Service } from "./service.ts";
import { kindOf, type TokenKind } from "./token-kind.ts";

/**
 * Who calls a route, if its row in the table of rights lets them: token → limit → kind of token → scope. Nothing else of
 * the request is read before that. Undefined where no token is asked for.
 */
export async function admit(
  { access, operation }: Route,
  request: Request,
  service: Service | undefined,
  { verifier, limits, names }: Pick<HttpDeps, "verifier" | "limits" | "names">,
  nowMs: number,
): Promise<Result<Principal | undefined, Problem>> {
  if (access.kind === "public") {
    const excess = await limits.anonymous(request, service?.anonymousUse);
    return excess === undefined ? ok(undefined) : err(excess);
  }
  const caller = await authenticate(request.headers.get("authorization"), verifier, names, nowMs);
  const excess = await (caller.ok ? limits.caller(caller.value) : limits.anonymous(request));
  if (excess !== undefined) return err(excess);
  if (!caller.ok) return caller;
  const lacking = lackingScope(access, caller.value, names);
  const refused = refusedKind(operation, caller.value, lacking, names) ?? lacking;
  return refused === undefined ? caller : err(refused);
}

function lackingScope(access: Access, caller: Principal, names: Names): Problem | undefined {
  if (access.kind !== "scope") return undefined;
  // One that ends in `*` names scopes of which the operation knows which will do.
  if (access.others.some((other) => caller.scopes.some((held) => scopeMatches(names.scope(other), held))))
    return undefined;
  return missingScope(caller, names.scope(access.scope), names);
}

/**
 * Undefined where the operation takes this kind of token, else what the table of rights answers it: of two reasons for a 403
 * the scope that is missing too (contract 1.2).
 */
function refusedKind(
  operation: Operation,
  token: Principal,
  lacking: Problem | undefined,
  names: Names,
): Problem | undefined {
  const kind = kindOf(token);
  switch (rightOf(operation, kind)) {
    case 401:
      return userTokenRequired(names.platform);
    case 403:
      return lacking ?? problem("insufficient_permissions", whyNot(operation, kind));
    case 404:
      // As what is not there: the caller may own none of it, nor learn of it.
      return notFound("topic");
    default:
      return undefined;
  }
}

/** What to do about it: a proof of the client helps a person only where persons have a right. */
const whyNot = (operation: Operation, kind: TokenKind): string =>
  REFUSALS[kind === "personUnproven" && rightOf(operation, "person") === 403 ? "person" : kind];

const REFUSALS = {
  client: "This takes another kind of access token than a client's own.",
  person: "This takes a token of the client itself, without a user in it: get one by client_credentials.",
  personUnproven: "The client of this access token did not prove itself: get one that its secret was sent for.",
  noTenant: "This access token is for no tenant: get one that names a tenant.",
  organization: "This access token is for an organization: get one that names a tenant.",
  clientless: "This access token was issued to no client: get one with a client of your own.",
  unproven: "The client of this access token did not prove itself: get one that its secret was sent for.",
} as const satisfies Record<TokenKind, string>;
