import type { Names } from "../../platform/model/names.ts";
import { err, ok, type Result } from "../../platform/model/result.ts";
import { scopeMatches } from "../../platform/model/scope-pattern.ts";
import { serviceScopes } from "./authorization.ts";
import type { Addresses, AnyCall } from "./call.ts";
import { failure, type OAuthFailure } from "./failure.ts";

/**
 * Resource indicators (RFC 8707): a client names the services that it wants a token for, and every other service
 * refuses the token.
 *
 *   resource=https://plat.example/orders/v1 ──the service at this path or above it──▶ /orders/v1
 *   none named                              ──▶ a token for the whole platform
 *
 *   authorized for A and B ──the token request names A──▶ a token for A
 *                          ├─none───────────────────────▶ a token for A and B
 *                          └─C──────────────────────────▶ `invalid_target`
 *
 * The token holds the scopes of these services alone. The grant keeps what was authorized.
 */
export interface Resource {
  /** Public path of the service, with the deployment's prefix: `/orders/v1`. */
  readonly path: string;
  readonly name: string;
  /** Patterns. */
  readonly scopes: readonly string[];
  /** Its tenant, which may use it without a package; and whether every tenant may. */
  readonly tenant: string;
  readonly essential: boolean;
  /** A service of the platform itself, such as media. */
  readonly isBuiltIn: boolean;
}

/** The service that wants access tokens at this public path or above it. */
export type FindResource = (path: string, nowMs: number) => Promise<Resource | undefined>;

export interface ResourceDeps extends Pick<Addresses, "issuerFor"> {
  readonly findResource: FindResource;
}

/** Our choice: more would only make tokens long. */
const MAX_RESOURCES = 8;
const MAX_CHARS = 2000;

/** One text for every fault, so that a developer sees what a right value is. */
const WRONG_TARGET =
  "resource must be the address of a service here that takes access tokens, without a fragment, at most 8 times.";

/** Carries several values in one parameter. An address has no space. */
export const joinResources = (values: readonly string[]): string => values.filter((value) => value !== "").join(" ");

/** Finds the services that the values name. Empty: none is named. The error is for the caller. */
export async function findResources(
  deps: ResourceDeps,
  joined: string | undefined,
  call: AnyCall,
): Promise<Result<readonly Resource[], string>> {
  const values = (joined ?? "").split(" ").filter((value) => value !== "");
  if (values.length > MAX_RESOURCES) return err(WRONG_TARGET);
  const found = new Map<string, Resource>();
  for (const value of values) {
    const path = pathHere(value, deps.issuerFor(call).audience);
    const resource = path === undefined ? undefined : await deps.findResource(path, call.nowMs);
    if (resource === undefined) return err(WRONG_TARGET);
    found.set(resource.path, resource);
  }
  return ok([...found.values()]);
}

/** The path of an absolute address without a fragment (RFC 8707 2), if it is of this platform. */
function pathHere(value: string, origin: string): string | undefined {
  const url = value.length > MAX_CHARS || value.includes("#") ? null : URL.parse(value);
  return url?.origin === origin && url.username + url.password === "" ? url.pathname : undefined;
}

export const invalidTarget = (reason: string, clientId: string): OAuthFailure =>
  failure("invalid_target", WRONG_TARGET, reason, clientId);

/**
 * The services that a token is for: the requested ones, which must have been authorized. Without a request, all
 * authorized ones. Empty: the whole platform.
 */
export async function targetsOf(
  { findResource }: Pick<ResourceDeps, "findResource">,
  authorized: readonly string[] | undefined,
  asked: readonly Resource[],
  nowMs: number,
): Promise<Result<readonly Resource[], string>> {
  if (authorized === undefined) return ok(asked);
  const beyond = asked.find(({ path }) => !authorized.includes(path));
  if (beyond !== undefined) return err(`${beyond.path} was not authorized`);
  if (asked.length > 0) return ok(asked);
  const found = await Promise.all(authorized.map((path) => findResource(path, nowMs)));
  // The person did not authorize a service that moved to another path.
  const live = found.filter((one) => one !== undefined).filter(({ path }) => authorized.includes(path));
  return live.length === 0 ? err(`no service is at ${authorized.join(" ")} any more`) : ok(live);
}

/** The part of a granted access that concerns these services. */
export function restrict<
  G extends { readonly tenant: string; readonly org: string; readonly scopes: readonly string[] },
>(granted: G, targets: readonly Resource[], names: Names): G & { readonly audience?: readonly string[] } {
  if (targets.length === 0) return granted;
  const own = targets.flatMap(({ scopes }) => scopes);
  const ofServices = serviceScopes(granted, names);
  const narrowed = ofServices.flatMap((scope) =>
    own.some((one) => scopeMatches(one, scope)) ? [scope] : own.filter((one) => scopeMatches(scope, one)),
  );
  return {
    ...granted,
    scopes: [...new Set([...granted.scopes.filter((scope) => !ofServices.includes(scope)), ...narrowed])],
    audience: targets.map(({ path }) => path),
  };
}
