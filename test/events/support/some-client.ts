import type { Principal } from "../../../src/http/callers/auth.ts";
import { unique } from "../../support/platform/unique.ts";

/** A client that may publish; its name is its id. */
export function someClient(changes: Partial<Principal> = {}): Principal {
  const clientId = `${unique("proj")}.app`;
  return {
    clientId,
    clientName: clientId,
    clientAuthenticated: true,
    tenant: "tenant1",
    tenantExplicit: false,
    org: "",
    plan: "standard",
    user: "",
    subject: clientId,
    scopes: ["plat.pubsub_publish"],
    tokenId: "t",
    grantId: "g",
    sessionId: "s",
    issuedAtSec: 0,
    expiresAtSec: 4_000_000_000,
    ...changes,
  };
}
