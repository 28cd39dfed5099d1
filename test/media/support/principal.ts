import type { Principal } from "../../../src/http/callers/auth.ts";
import { unique } from "../../support/platform/unique.ts";

/** A caller of its own client and tenant, with every media scope. */
export function principal(given: Partial<Principal> = {}): Principal {
  const client = unique("c");
  return {
    clientId: `${client}.id`,
    clientName: `${client}.shop`,
    clientAuthenticated: true,
    tenant: "acme",
    tenantExplicit: false,
    org: "",
    plan: "standard",
    user: "",
    subject: `${client}.id`,
    scopes: ["plat.media_view", "plat.media_manage", "plat.media_admin"],
    tokenId: "",
    grantId: "",
    sessionId: "",
    issuedAtSec: 0,
    expiresAtSec: 0,
    ...given,
  };
}
