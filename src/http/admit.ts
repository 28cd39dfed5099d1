import type { Names } from "../platform/model/names.ts";
import { err, ok, type Result } from "../platform/model/result.ts";
import { scopeMatches } from "../platform/model/scope-pattern.ts";
import type { Access } from "./callers/access.ts";
import {
  authenticate,
  missingScope,
  presentedBy,
  userTokenRequired,
  type Meanwhile,
  type Principal,
} from "./callers/auth.ts";
import { notFound, problem, type Problem } from "./errors/errors.ts";
import { rightOf, type Operation } from "./callers/rights.ts";
import type { AnyCall, Route } from "./route.ts";
import type { HttpDeps, Service } from "./service.ts";
import { kindOf, type TokenKind } from "./callers/token-kind.ts";

/**
 * The caller of a route, if the table of rights admits it: token → limit → kind of token → scope. Reads nothing else of
 * the request. Undefined for a public route.
 */
export async function admit(
  { access, operation }: Route,
  service: Service | undefined,
  { verifier, limits, names }: Pick<HttpDeps, "verifier" | "limits" | "names">,
  { request, url, nowMs, attributeTo }: Pick<AnyCall, "request" | "url" | "nowMs" | "attributeTo">,
  meanwhile: Meanwhile | undefined,
): Promise<Result<Principal | undefined, Problem>> {
  if (access.kind === "public") {
    const excess = await limits.anonymous(request, service?.anonymousUse);
    return excess === undefined ? ok(undefined) : err(excess);
  }
  const caller = await authenticate(presentedBy(request, url), verifier, names, nowMs, meanwhile);
  if (caller.ok) attributeTo(caller.value.tenant, caller.value.clientId);
  const excess = await (caller.ok ? limits.caller(caller.value) : limits.anonymous(request));
  if (excess !== undefined) return err(excess);
  if (!caller.ok) return caller;
  const lacking = lackingScope(access, caller.value, names);
  const refused = refusedKind(operation, caller.value, lacking, names) ?? lacking;
  return refused === undefined ? caller : err(refused);
}

function lackingScope(access: Access, caller: Principal, names: Names): Problem | undefined {
  if (access.kind !== "scope") return undefined;
  // A pattern admits each scope that it covers. The operation checks which of them suffices.
  if (access.others.some((other) => caller.scopes.some((held) => scopeMatches(names.scope(other), held))))
    return undefined;
  const [forPerson] = caller.user === "" ? [] : access.people;
  if (access.people.some((scope) => caller.scopes.includes(names.scope(scope)))) return undefined;
  return missingScope(caller, names.scope(forPerson ?? access.scope), names);
}

/**
 * The refusal of this kind of token by the table of rights; undefined if the operation accepts it. A 403 names the
 * missing scope rather than the kind if both are wrong.
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
      // The same answer as for a missing topic: the caller cannot own one, and must not learn of it.
      return notFound("topic");
    default:
      return undefined;
  }
}

/** The advice for the caller. To authenticate the client helps only if the operation accepts a person's token then. */
const whyNot = (operation: Operation, kind: TokenKind): string =>
  REFUSALS[kind === "personUnproven" && rightOf(operation, "person") === 403 ? "person" : kind];

const REFUSALS = {
  client: "A client's own access token is not taken here: send a user's.",
  person: "Only a client's own access token is taken here, without a user: get one by client_credentials.",
  personUnproven: "The client of this access token did not authenticate: get a token with the client's secret.",
  noTenant: "This access token is for no tenant: get one that names a tenant.",
  organization: "This access token is for an organization: get one that names a tenant.",
  clientless: "This access token was issued to no client: get one with a client of your own.",
  unproven: "The client of this access token did not authenticate: get a token with the client's secret.",
} as const satisfies Record<TokenKind, string>;
