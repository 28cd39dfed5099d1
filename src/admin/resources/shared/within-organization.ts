import type { Principal } from "../../../http/callers/auth.ts";
import { problem, type Problem } from "../../../http/errors/errors.ts";
import type { Names } from "../../../platform/model/names.ts";
import type { OAuthPort } from "../../model/ports.ts";
import type { RowQuery } from "../../audit/change-store.ts";

/**
 * People with the scope `admin_tenant` run the tenants of one organization.
 *
 *   caller ── tenantOperator ──▶ undefined: the whole platform; or the token's organization
 *   path, and a PUT's body ── Condition ──▶ they belong to the organization, or not
 *
 * A request checks the condition before it does anything else, so a refusal reveals nothing about other organizations.
 * A change checks it again in its transaction, by `guard`.
 */
export type Use = "see" | "run";

/** A person who runs an organization's tenants. */
export interface TenantOperator {
  readonly organization: string;
  readonly email: string;
}

/** Returns the organization of the caller; undefined if the caller may do this in the whole platform. */
export function tenantOperator(
  { scopes, org, user }: Pick<Principal, "scopes" | "org" | "user">,
  { scope }: Pick<Names, "scope">,
  use: Use,
): TenantOperator | undefined {
  const ofPlatform = ["admin", "admin_write", ...(use === "see" ? ["admin_read"] : [])];
  if (ofPlatform.some((one) => scopes.includes(scope(one)))) return undefined;
  return { organization: org, email: user };
}

/** An SQL expression that is true or false. */
export type Condition = RowQuery;

const OF_ORGANIZATION = `IN (SELECT id FROM tenant WHERE organization = ?2)`;

export const isOrganization = (id: string, organization: string): Condition => ({
  sql: `?1 = ?2`,
  values: [id, organization],
});

/** True if the tenant belongs to the organization. */
export const ownsTenant = (tenant = "", organization: string): Condition => ({
  sql: `?1 ${OF_ORGANIZATION}`,
  values: [tenant, organization],
});

/** True if the client belongs to a tenant of the organization. */
export const ownsClient = (clientId = "", organization: string): Condition => ({
  sql: `EXISTS (SELECT 1 FROM client WHERE id = ?1 AND tenant ${OF_ORGANIZATION})`,
  values: [clientId, organization],
});

/**
 * True if topics of this owner belong to the organization. The name begins with a tenant of it, and no client elsewhere
 * has the name, since the platform's operators choose names freely.
 */
export const ownsTopicsOf = (owner: string, organization: string): Condition => ({
  sql: `?1 ${OF_ORGANIZATION} AND NOT EXISTS (SELECT 1 FROM client WHERE name = ?3 AND NOT tenant ${OF_ORGANIZATION})`,
  values: [owner.split(".")[0] ?? "", organization, owner],
});

export const holds = async (db: D1Database, { sql, values }: Condition): Promise<boolean> =>
  (await db
    .prepare(`SELECT 1 WHERE ${sql}`)
    .bind(...values)
    .first()) !== null;

/** A statement that fails, and so rolls its transaction back, unless the condition holds. */
export const guard = (db: D1Database, { sql, values }: Condition): D1PreparedStatement =>
  db.prepare(`SELECT json(iif(${sql}, '1', 'does not hold'))`).bind(...values);

/** Refuses a change that may revoke tokens, if the organization's administrators have revoked as much as they may. */
export async function refuseManyEnded(
  { organization }: TenantOperator,
  oauth: Pick<OAuthPort, "hasEndedMost">,
): Promise<Problem | undefined> {
  if (!(await oauth.hasEndedMost(organization))) return undefined;
  const message =
    `The administrators of the organization ${organization} have removed or changed so many clients and members within ` +
    "an hour that the next one must wait, or be done by an operator of the platform.";
  return problem("insufficient_resources", message, { headers: { "retry-after": "3600" } });
}

/** Refuses a request that only the platform's operators may make, or that concerns records of others. */
export const beyondOrganization = ({ organization }: TenantOperator, what: string): Problem =>
  problem(
    "insufficient_permissions",
    `${what} is beyond this access token, which is for the tenants of the organization ${organization}.`,
  );
