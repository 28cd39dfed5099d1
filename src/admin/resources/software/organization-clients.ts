import { problem, type Problem } from "../../../http/errors/errors.ts";
import { alignOwnerPattern, covers, scopesOverlap } from "../../../platform/model/scope-pattern.ts";
import { beyondOrganization, type Condition, type TenantOperator } from "../shared/within-organization.ts";
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

/**
 * SQL: which of these scopes name topics of the organization: `{scope, tenant, from, to}`, with the range of owners'
 * names, which begin with the tenant. A client elsewhere may have such a name, since operators choose names freely.
 */
const OWN_TOPICS = `SELECT value ->> 'scope' AS value FROM json_each(?2)
  WHERE EXISTS (SELECT 1 FROM tenant WHERE id = value ->> 'tenant' AND organization = ?1)
    AND NOT EXISTS (SELECT 1 FROM client JOIN tenant ON tenant.id = client.tenant
      WHERE client.name >= value ->> 'from' AND client.name < value ->> 'to' AND organization <> ?1)`;
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
  const named = scopes.filter((scope) => scope.startsWith(topics)).flatMap((scope) => ownersOf(scope, topics));
  const [found, offered] = await db.batch<{ value: string }>([
    db.prepare(OWN_TOPICS).bind(by.organization, JSON.stringify(named)),
    db.prepare(SERVICE_SCOPES).bind(service ?? ""),
  ]);
  const own = new Set((found?.results ?? []).map(({ value }) => value));
  const served = [
    ...(offered?.results ?? []).map(({ value }) => value),
    ...["pubsub_publish", "media_view", "media_manage"].map(names.scope),
  ];
  const beyond = scopes.find((scope) =>
    scopesOverlap(scope, `${topics}*`)
      ? !own.has(scope)
      : service !== undefined && !covers(served, scope, builtIn.operatorScopes),
  );
  return beyond === undefined ? undefined : beyondOrganization(by, `A client that lists ${beyond}`);
}

/** The owners of the topics that a scope names: one, or all whose names begin with a tenant. Else none. */
function ownersOf(scope: string, topics: string): readonly object[] {
  const [, tenant, app] = /^([a-z0-9-]+)\.([a-z0-9-]*)/.exec(alignOwnerPattern(scope).slice(topics.length)) ?? [];
  if (tenant === undefined) return [];
  // In ASCII, "/" follows ".", and a space comes before all characters of names.
  if (app === undefined || app === "") return [{ scope, tenant, from: `${tenant}.`, to: `${tenant}/` }];
  return [{ scope, tenant, from: `${tenant}.${app}`, to: `${tenant}.${app} ` }];
}

/**
 * How many clients an organization has when its administrators can add no more. Our choice: each client may leave a row
 * that every isolate holds, as by a token that it revokes, and one organization is far from the platform's bound.
 */
export const MOST_CLIENTS_OF_ORGANIZATION = 10_000;

/** True if the client exists, or the organization has room for it. */
export const hasRoom = (clientId: string, organization: string): Condition => ({
  sql: `EXISTS (SELECT 1 FROM client WHERE id = ?1) OR ?3 > (SELECT count(*) FROM (SELECT 1 FROM tenant
    CROSS JOIN client ON client.tenant = tenant.id WHERE tenant.organization = ?2 LIMIT ?3))`,
  values: [clientId, organization, MOST_CLIENTS_OF_ORGANIZATION],
});

export const refuseMany = ({ organization }: TenantOperator): Problem =>
  problem(
    "conflict_resource",
    `The organization ${organization} has ${MOST_CLIENTS_OF_ORGANIZATION.toLocaleString("en")} clients or more. ` +
      "Remove one, or ask an operator of the platform to add this one.",
  );
