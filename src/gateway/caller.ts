import type { Principal } from "../http/auth.ts";
import { networkOf } from "../platform/ip-range.ts";
import type { GivenHeaders } from "./read-headers.ts";

/**
 * Who is behind a request, as far as one caller's failures are to be no other's: person and client within a tenant, or
 * whoever is at an address where nobody says who they are.
 */
export const callerOf = (principal: Principal | undefined, given: GivenHeaders): string =>
  principal === undefined
    ? JSON.stringify([networkOf(given.get("cf-connecting-ip") ?? "")])
    : JSON.stringify([principal.tenant, principal.clientId, principal.user]);
