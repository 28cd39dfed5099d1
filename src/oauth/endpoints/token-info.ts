import { json, type Call, type Answer } from "../../http/route.ts";
import { failure } from "../model/failure.ts";
import type { TokenEndpointDeps } from "./deps.ts";

/**
 * `GET /tokeninfo`: describes a token, after reading its revocations from D1. `scopes` begins with the one that names
 * the tenant or organization. `tenant` is empty for an organization, and outside any tenant. `clientId` is empty if a
 * user signed in without a client. `resources` are the services that the token is for; absent, it is for all.
 */
export async function tokenInfo(
  deps: Pick<TokenEndpointDeps, "refuse" | "verifier" | "unavailable" | "directory" | "issuerFor">,
  call: Call<unknown, unknown, unknown, undefined>,
): Promise<Answer> {
  const refuse = (description: string, reason?: string): Response =>
    deps.refuse(call, "tokeninfo", failure("invalid_query_parameter", description, reason));
  const token = single(call.url.searchParams, "access_token");
  if (token === undefined) return refuse("Send one access_token as a query parameter.");
  const details = call.url.searchParams.getAll("details");
  if (details.length > 1 || !["true", "false", ""].includes(details[0] ?? ""))
    return refuse("details must be true or false.");

  const verified = await deps.verifier.verifyNow([token], call.nowMs);
  if (!verified.ok) return deps.unavailable();
  const [found] = verified.value;
  if (!found?.ok) return refuse("The access token is not valid or has expired.", found?.error);
  const { scopes, tenant, clientId, user, audience } = found.value;
  const origin = deps.issuerFor(call).audience;
  const body = {
    scopes,
    tenant,
    clientId,
    ...(user === "" ? {} : { user }),
    ...(audience === undefined ? {} : { resources: audience.map((path) => origin + path) }),
  };
  const headers = { "cache-control": "no-store" };
  if (details[0] !== "true") return json(200, body, headers);
  const allowedServices = await subscribedServices(deps, tenant, call.publicBase, call.nowMs);
  return json(200, { ...body, allowedServices }, headers);
}

/**
 * Services of the packages that the token's tenant subscribes to, without essential ones and the tenant's own. Tokens
 * for an organization or for no tenant have none, because only tenants subscribe.
 */
async function subscribedServices(
  deps: Pick<TokenEndpointDeps, "directory">,
  tenant: string,
  base: string,
  nowMs: number,
): Promise<object[]> {
  if (tenant === "") return [];
  const { tenant: rights } = await deps.directory.find(undefined, tenant, { nowMs });
  return (rights?.services ?? [])
    .filter(({ name, essential, tenant: owner }) => rights?.subscribed.includes(name) && !essential && owner !== tenant)
    .map((service) => ({ name: service.name, proxyUrl: [base + service.proxyPath], serviceScopes: service.scopes }));
}

function single(query: URLSearchParams, name: string): string | undefined {
  const values = query.getAll(name);
  return values.length === 1 && values[0] !== "" ? values[0] : undefined;
}
