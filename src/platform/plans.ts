/** How much of the platform a tenant may use a minute; the operator says which (`tenants/{id}`). wrangler.toml has the numbers. */
export const PLANS = ["small", "standard", "large"] as const;
export type Plan = (typeof PLANS)[number];

/** Of a tenant whose operator said nothing, and of a token of none. */
export const DEFAULT_PLAN: Plan = "standard";

export const planOf = (text: unknown): Plan => PLANS.find((plan) => plan === text) ?? DEFAULT_PLAN;
