/**
 * Plans of tenants, which limit requests a minute. The operator sets a tenant's plan (`tenants/{id}`); wrangler.toml
 * sets the number of requests.
 */
export const PLANS = ["small", "standard", "large"] as const;
export type Plan = (typeof PLANS)[number];

/** The plan of a tenant without one, and of a token without a tenant. */
export const DEFAULT_PLAN: Plan = "standard";

export const planOf = (text: unknown): Plan => PLANS.find((plan) => plan === text) ?? DEFAULT_PLAN;
