import { networkOf } from "../../platform/outside/ip-range.ts";
import type { Plan } from "../../platform/model/plans.ts";
import type { Principal } from "./auth.ts";
import { problem, type Problem } from "../errors/errors.ts";
import { RETRY_AFTER_SEC, type RateLimit } from "./rate-limit.ts";

/**
 * Limits of requests a minute, so that one caller cannot use up the capacity of all. Each location of Cloudflare counts
 * in memory; the numbers are in wrangler.toml.
 *
 *   no valid token      the network of the caller; content and services behind the gateway have a larger limit, since
 *                       a page loads many of their files
 *   a client's token    the client, and its token's tenant: by the tenant's plan
 *   a person's token    the person at that client, and the tenant: many people share a browser application
 *
 * A valid token does not count for its network: a service calls from one address for all of its tenants. An invalid
 * token counts as none, so guessing tokens is limited too.
 */
export interface Limits {
  /** Each returns the refusal; undefined if the request may continue. */
  anonymous(request: Request, what?: AnonymousUse): Promise<Problem | undefined>;
  caller(caller: Caller): Promise<Problem | undefined>;
}

/** The use that callers without a token make of a service. */
export type AnonymousUse = "requests" | "content";

type Caller = Pick<Principal, "clientId" | "tenant" | "user" | "plan">;

export interface LimitBindings {
  readonly anonymous: Readonly<Record<AnonymousUse, RateLimit>>;
  readonly callers: Readonly<Record<Plan, RateLimit>>;
  readonly tenants: Readonly<Record<Plan, RateLimit>>;
}

export function createLimits({ anonymous, callers, tenants }: LimitBindings): Limits {
  return {
    async anonymous(request, what = "requests") {
      // Cloudflare overwrites the header of the caller.
      const network = networkOf(request.headers.get("cf-connecting-ip") ?? "");
      return (await anonymous[what].admits(network)) ? undefined : tooMany("from this address");
    },
    async caller({ clientId, tenant, user, plan }) {
      const [own, whole] = await Promise.all([
        callers[plan].admits(JSON.stringify([clientId, user])),
        tenant === "" ? true : tenants[plan].admits(tenant),
      ]);
      if (!own) return tooMany(user === "" ? "of this client" : "of this user at this client");
      return whole ? undefined : tooMany("of this tenant");
    },
  };
}

const tooMany = (whose: string): Problem =>
  problem("insufficient_resources", `There are too many requests ${whose}.`, {
    headers: { "retry-after": String(RETRY_AFTER_SEC) },
  });
