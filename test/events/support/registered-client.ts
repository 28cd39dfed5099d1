import type { Principal } from "../../../src/http/callers/auth.ts";
import { makeClient } from "../../support/platform/clients.ts";
import { makeTenant } from "../../support/platform/tenants.ts";
import { someClient } from "./some-client.ts";

let tenant: Promise<string> | undefined;

/** A client that the operator registered: a subscription belongs to one. Its token is played, as in events-app.ts. */
export async function registeredClient(changes: Partial<Principal> = {}): Promise<Principal> {
  const { clientId, tenant: own } = await makeClient({ tenant: await (tenant ??= makeTenant()) });
  return someClient({ clientId, clientName: clientId, tenant: own, ...changes });
}

export const CONSUMES = ["plat.pubsub.topic=*"];
