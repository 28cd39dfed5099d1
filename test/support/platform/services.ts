import { answerJson } from "../outside.ts";
import { makeClient } from "./clients.ts";
import { put } from "./operator.ts";
import { makeTenant } from "./tenants.ts";
import { tokenFor } from "./tokens.ts";
import { unique } from "./unique.ts";

/** A new service behind the gateway that answers `{}`, and a token of a customer of its package. */
export async function makeServiceWithCustomer(): Promise<{ readonly path: string; readonly token: string }> {
  const name = unique("svc-");
  const tenant = await makeTenant({ subscribed: false });
  const source = `https://${name}.example.com/v1`;
  await put(`services/${name}`, { sourceUrl: source, proxyPath: `/${name}/v1`, scopes: [], tenant, access: "token" });
  await put(`packages/${name}`, { version: "1", organization: `${tenant}-org`, services: [name] });
  await answerJson(`${source}/`, {});
  const customer = await makeClient({ scopes: [] });
  await put(`tenants/${customer.tenant}/subscriptions/${name}`, {});
  return { path: `/${name}/v1/`, token: await tokenFor(customer) };
}
