import type { Principal } from "../../http/callers/auth.ts";
import { networkOf } from "../../platform/outside/ip-range.ts";
import type { ReceivedHeaders } from "../model/headers.ts";

/** The caller behind a request, so that one caller's failures do not count for another. */
export interface Caller {
  /** User and client within a tenant; without a token everybody in a network. */
  readonly id: string;
  /** Undefined for a caller without a token. */
  readonly tenant: string | undefined;
  /** Two callers without a common trait are different people. A caller without traits may be anybody. */
  readonly traits: readonly string[];
}

export function callerOf(principal: Principal | undefined, headers: ReceivedHeaders): Caller {
  const network = networkOf(headers.get("cf-connecting-ip") ?? "");
  const traits = network === "" ? [] : [`network ${network}`];
  if (principal === undefined) return { id: JSON.stringify([network]), tenant: undefined, traits };
  const { tenant, clientId, user } = principal;
  const id = JSON.stringify([tenant, clientId, user]);
  // Everybody can get a token without a tenant beside the one of their tenant.
  if (tenant === "") return { id, tenant, traits: [] };
  return { id, tenant, traits: [...traits, `tenant ${tenant}`, user === "" ? `client ${clientId}` : `user ${user}`] };
}

/**
 * True if two callers cannot be the same attacker, as far as is known: they share neither tenant nor network, nor the
 * user, nor a client that acts for both tenants.
 */
export const areIndependent = (one: Caller, other: Caller): boolean =>
  one.traits.length > 0 && other.traits.length > 0 && !one.traits.some((trait) => other.traits.includes(trait));
