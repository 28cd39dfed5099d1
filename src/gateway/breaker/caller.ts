import type { Principal } from "../../http/callers/auth.ts";
import { networkOf } from "../../platform/outside/ip-range.ts";
import type { ReceivedHeaders } from "../model/headers.ts";

/** The caller behind a request, so that one caller's failures do not count for another. */
export interface Caller {
  /** User and client in a tenant; without a token the caller's network. */
  readonly id: string;
  /** Undefined for a caller without a token. */
  readonly tenant: string | undefined;
  /** Two callers without a common trait are independent. A caller without traits is independent of none. */
  readonly traits: readonly string[];
}

export function callerOf(principal: Principal | undefined, headers: ReceivedHeaders): Caller {
  const network = networkOf(headers.get("cf-connecting-ip") ?? "");
  const traits = network === "" ? [] : [`network ${network}`];
  if (principal === undefined) return { id: JSON.stringify([network]), tenant: undefined, traits };
  const { tenant, clientId, user } = principal;
  const id = JSON.stringify([tenant, clientId, user]);
  // Every user can get a token without a tenant besides one with a tenant, so the two must not count as independent.
  if (tenant === "") return { id, tenant, traits: [] };
  return { id, tenant, traits: [...traits, `tenant ${tenant}`, user === "" ? `client ${clientId}` : `user ${user}`] };
}

/**
 * True if two callers are unlikely to be the same attacker: they share no tenant, no network, no user, and no client
 * that acts for both tenants.
 */
export const areIndependent = (one: Caller, other: Caller): boolean =>
  one.traits.length > 0 && other.traits.length > 0 && !one.traits.some((trait) => other.traits.includes(trait));
