import type { Problem } from "../../../http/errors/errors.ts";
import { alignOwnerPattern, covers, scopesOverlap } from "../../../platform/model/scope-pattern.ts";
import { beyondOrganization, type TenantOperator } from "../shared/within-organization.ts";
import type { Body, Rules } from "./client-body.ts";

/** Limits of the clients that people of an organization register, besides those of all clients. */

/**
 * Ids and names must begin with the tenant. Otherwise these people could take the names of other tenants' clients,
 * which own topics and files, and learn which ids are taken.
 */
export function refuseForeign(
  clientId: string,
  { name = clientId, tenant, scopes }: Body,
  by: TenantOperator,
  { builtIn }: Pick<Rules, "builtIn">,
): Problem | undefined {
  const foreign = [clientId, name].find((one) => !one.startsWith(`${tenant}.`));
  if (foreign !== undefined)
    return beyondOrganization(by, `The name ${foreign}, which does not begin with ${tenant}.,`);
  const scope = scopes.find((one) => builtIn.operatorScopes.includes(one));
  return scope === undefined ? undefined : beyondOrganization(by, `A client that lists ${scope}`);
}

/** SQL: which of these ids are tenants of the organization. */
const OWN_TENANTS = `SELECT value FROM json_each(?2)
  WHERE EXISTS (SELECT 1 FROM tenant WHERE id = value AND organization = ?1)`;
const SERVICE_SCOPES = `SELECT scope.value FROM service, json_each(service.scopes) AS scope WHERE service.name = ?1`;

/**
 * A scope of topics opens events of whoever owns them, in any tenant. So these people's clients list such scopes of
 * their own tenants' clients alone, and no pattern that covers others. A client that serves a service also gets tokens
 * for customers' tenants: it lists the scopes of that service, and those that concern its own topics and files.
 */
export async function refuseScopes(
  { scopes, service }: Body,
  by: TenantOperator,
  { db, names, builtIn }: Rules & { readonly db: D1Database },
): Promise<Problem | undefined> {
  const topics = names.scope("pubsub.topic=");
  /** The first part of the owner's name, which is the tenant for clients that these people register. */
  const tenantOf = (scope: string): string | undefined =>
    scope.startsWith(topics) ? /^([a-z0-9-]+)\./.exec(alignOwnerPattern(scope).slice(topics.length))?.[1] : undefined;
  const [tenants, offered] = await db.batch<{ value: string }>([
    db.prepare(OWN_TENANTS).bind(by.organization, JSON.stringify(scopes.flatMap((scope) => tenantOf(scope) ?? []))),
    db.prepare(SERVICE_SCOPES).bind(service ?? ""),
  ]);
  const own = new Set((tenants?.results ?? []).map(({ value }) => value));
  const served = [
    ...(offered?.results ?? []).map(({ value }) => value),
    ...["pubsub_publish", "media_view", "media_manage"].map(names.scope),
  ];
  const beyond = scopes.find((scope) =>
    scopesOverlap(scope, `${topics}*`)
      ? !own.has(tenantOf(scope) ?? "")
      : service !== undefined && !covers(served, scope, builtIn.operatorScopes),
  );
  return beyond === undefined ? undefined : beyondOrganization(by, `A client that lists ${beyond}`);
}
