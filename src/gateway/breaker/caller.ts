import type { Principal } from "../../http/auth.ts";
import { networkOf } from "../../platform/ip-range.ts";
import type { GivenHeaders } from "../model/headers.ts";

/** Who is behind a request, as far as one caller's failures are to be no other's. */
export interface Caller {
  /** Person and client within a tenant, or whoever is in a network where nobody says who they are. */
  readonly id: string;
  /** Undefined for a caller without a token. */
  readonly tenant: string | undefined;
  /** What tells the caller apart from others. None: anybody. */
  readonly marks: readonly string[];
}

export function callerOf(principal: Principal | undefined, given: GivenHeaders): Caller {
  const network = networkOf(given.get("cf-connecting-ip") ?? "");
  const marks = network === "" ? [] : [`network ${network}`];
  if (principal === undefined) return { id: JSON.stringify([network]), tenant: undefined, marks };
  const { tenant, clientId, user } = principal;
  const id = JSON.stringify([tenant, clientId, user]);
  // Anybody may have such a token besides the one of their tenant.
  if (tenant === "") return { id, tenant, marks: [] };
  return { id, tenant, marks: [...marks, `tenant ${tenant}`, user === "" ? `client ${clientId}` : `user ${user}`] };
}

/**
 * Whether two callers cannot be the same attacker, as far as that is known: neither tenant nor network is the same, nor the
 * person, nor the client that acts for both tenants.
 */
export const areApart = (one: Caller, other: Caller): boolean =>
  one.marks.length > 0 && other.marks.length > 0 && !one.marks.some((mark) => other.marks.includes(mark));
