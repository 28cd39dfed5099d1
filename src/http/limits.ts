import { networkOf } from "../platform/ip-range.ts";
import { PLANS, type Plan } from "../platform/plans.ts";
import type { Principal } from "./auth.ts";
import { problem, type Problem } from "./errors.ts";
import { RETRY_AFTER_SEC, unlimited, type RateLimit } from "./rate-limit.ts";

/**
 * How many requests a minute the platform takes from whom, so that nobody uses up what is everybody's. Counted by each
 * location of Cloudflare, in memory; the numbers stand in wrangler.toml.
 *
 *   no valid token      the network that the request came from; content and services behind the gateway, which pages are made
 *                       of, have a larger limit than the rest
 *   a client's token    the client, and its token's tenant: by the tenant's plan
 *   a person's token    the person at that client, and the tenant: many people share a browser application
 *
 * A token counts by itself and not by its network: a service calls from one address for all of its tenants. One that does
 * not verify counts as none, so guessing tokens is limited too.
 */
export interface Limits {
  /** Undefined: go on. */
  anonymous(request: Request, what?: AnonymousUse): Promise<Problem | undefined>;
  caller(caller: Caller): Promise<Problem | undefined>;
}

/** What somebody without a token asks for. */
export type AnonymousUse = "requests" | "content";

type Caller = Pick<Principal, "clientId" | "tenant" | "user" | "plan">;

export interface LimitBindings {
  readonly anonymous: Readonly<Record<AnonymousUse, RateLimit>>;
  readonly callers: Readonly<Record<Plan, RateLimit>>;
  readonly tenants: Readonly<Record<Plan, RateLimit>>;
}

export function createLimits({ anonymous: strangers, callers, tenants }: LimitBindings): Limits {
  return {
    async anonymous(request, what = "requests") {
      // Cloudflare sets the header, whatever the caller sent.
      const network = networkOf(request.headers.get("cf-connecting-ip") ?? "");
      return (await strangers[what].admits(network)) ? undefined : tooMany("from this address");
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

const ofAllPlans = (limit: RateLimit): Readonly<Record<Plan, RateLimit>> =>
  Object.fromEntries(PLANS.map((plan) => [plan, limit])) as Record<Plan, RateLimit>;

/** Where everything runs on one machine. */
export const noLimits: Limits = createLimits({
  anonymous: { requests: unlimited, content: unlimited },
  callers: ofAllPlans(unlimited),
  tenants: ofAllPlans(unlimited),
});

const tooMany = (whose: string): Problem =>
  problem("insufficient_resources", `There are too many requests ${whose}.`, {
    headers: { "retry-after": String(RETRY_AFTER_SEC) },
  });
