import * as z from "zod/mini";
import type { Problem } from "../../../http/errors/errors.ts";
import { covers } from "../../../platform/model/scope-pattern.ts";
import { email, identifier, tenantId } from "../../model/fields.ts";
import { beyondOrganization, isOrganization, ownsTenant, type TenantOperator } from "../shared/within-organization.ts";
import type { OAuthPort } from "../../model/ports.ts";
import type { RuleContext } from "../../model/rules.ts";
import { refuseFaults } from "../shared/refusals.ts";
import { toList, type Params, type Resource, type Row } from "../shared/resource.ts";

/** Members of tenants and of organizations have the same rules over two pairs of tables. */
const OWNERS = {
  tenant: {
    collection: "tenants",
    params: z.object({ id: tenantId }),
    memberParams: z.object({ id: tenantId, email }),
  },
  organization: {
    collection: "organizations",
    params: z.object({ id: identifier }),
    memberParams: z.object({ id: identifier, email }),
  },
} as const;
export type OwnerNoun = keyof typeof OWNERS;

export const paramsOf = (owner: OwnerNoun) => OWNERS[owner].memberParams;

/** The common part of resources that lie below a tenant or an organization and are named by a person's address. */
export function ofPerson(
  owner: OwnerNoun,
  kind: "member" | "invitation",
  sql: Readonly<Record<"select" | "page", string>>,
  db: D1Database,
) {
  const { collection, params } = OWNERS[owner];
  return {
    noun: `${owner} ${kind}`,
    collection: `/${collection}/{id}/${kind}s`,
    key: "email",
    params: paramsOf(owner),
    owner: {
      noun: owner,
      params,
      exists: ({ id }: Params) => db.prepare(`SELECT 1 FROM ${owner} WHERE id = ?1`).bind(id),
    },
    row: ({ id, email: address }: Params) => ({ sql: sql.select, values: [id, address] }),
    page: ({ id }: Params, { after, limit, skip }: { after: string; limit: number; skip: number }) =>
      db.prepare(sql.page).bind(id, after, limit, skip),
  };
}

/**
 * SQL: the faults of a body with roles: the owner `?1` does not exist, `between`, or a role in `roles` does not exist.
 */
export const faultsOf = (owner: OwnerNoun, roles: string, between = ""): string => `
    SELECT 'absent' AS type, 'id' AS field, 'There is no ${owner} ' || ?1 || '.' AS message
      WHERE NOT EXISTS (SELECT 1 FROM ${owner} WHERE id = ?1)
    ${between}
    UNION ALL SELECT 'invalid_field', 'roles[' || key || ']', 'There is no role ' || value || '.'
      FROM json_each(${roles}) WHERE NOT EXISTS (SELECT 1 FROM role WHERE name = value)`;

export const schema = z.object({ roles: z.array(identifier).check(z.maxLength(100)) });

/** `owner` is one of the two words above, which name the tables and their column. */
const statements = (owner: OwnerNoun) => ({
  faults: faultsOf(
    owner,
    "?3",
    `UNION ALL SELECT 'absent', 'email', 'There is no user ' || ?2 || '.'
      WHERE NOT EXISTS (SELECT 1 FROM user WHERE email = ?2)`,
  ),
  upsert: `
    INSERT INTO ${owner}_member (${owner}, email, created_at) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING`,
  dropOtherRoles: `
    DELETE FROM ${owner}_member_role
    WHERE ${owner} = ?1 AND email = ?2 AND role NOT IN (SELECT value FROM json_each(?3))`,
  addRoles: `INSERT OR IGNORE INTO ${owner}_member_role (${owner}, email, role) SELECT ?1, ?2, value FROM json_each(?3)`,
  select: `
    SELECT ${owner} AS owner, email, created_at,
      (SELECT json_group_array(role) FROM ${owner}_member_role AS held WHERE held.${owner} = ?1 AND held.email = ?2) AS roles
    FROM ${owner}_member WHERE ${owner} = ?1 AND email = ?2`,
  page: `
    SELECT ${owner} AS owner, email, created_at, email AS page_key,
      (SELECT json_group_array(role) FROM ${owner}_member_role AS held
        WHERE held.${owner} = member.${owner} AND held.email = member.email) AS roles
    FROM ${owner}_member AS member WHERE ${owner} = ?1 AND email > ?2 ORDER BY email LIMIT ?3 OFFSET ?4`,
  /** True if the owner belongs to the organization, and the person is already a member somewhere in it. */
  known: `
    ${{ tenant: "?1 IN (SELECT id FROM tenant WHERE organization = ?2)", organization: "?1 = ?2" }[owner]} AND (
      EXISTS (SELECT 1 FROM organization_member WHERE organization = ?2 AND email = ?3)
      OR EXISTS (SELECT 1 FROM tenant_member JOIN tenant ON tenant.id = tenant_member.tenant
        WHERE tenant_member.email = ?3 AND tenant.organization = ?2))`,
  /** Selects the roles that the member has or gets, with their scopes. For an unknown role the scopes are NULL. */
  concerned: `
    SELECT value AS name, (SELECT scopes FROM role WHERE name = value) AS scopes FROM json_each(?3)
    UNION SELECT role, (SELECT scopes FROM role WHERE name = role) FROM ${owner}_member_role WHERE ${owner} = ?1 AND email = ?2`,
  delete: `DELETE FROM ${owner}_member WHERE ${owner} = ?1 AND email = ?2`,
});

/** SQL: the scopes of a person's roles in an organization, and in a tenant of it. */
const HELD = `
  SELECT value FROM organization_member_role AS held JOIN role ON role.name = held.role, json_each(role.scopes)
  WHERE held.organization = ?1 AND held.email = ?2
  UNION SELECT value FROM tenant_member_role AS held JOIN role ON role.name = held.role, json_each(role.scopes)
  WHERE held.tenant = ?3 AND held.email = ?2`;

interface RoleDeps extends Pick<RuleContext, "builtIn"> {
  readonly db: D1Database;
}
interface Deps extends RoleDeps {
  readonly oauth: Pick<OAuthPort, "revokeInPlaceStatement">;
}

/** Nobody may give or take a role with scopes that their own roles do not have. */
export async function refuseRoles(
  owner: OwnerNoun,
  { db, builtIn }: RoleDeps,
  { id = "", email: address = "" }: Params,
  roles: readonly string[],
  by: TenantOperator,
): Promise<Problem | undefined> {
  const [concerned, held] = await db.batch<Row>([
    db.prepare(statements(owner).concerned).bind(id, address, JSON.stringify(roles)),
    db.prepare(HELD).bind(by.organization, by.email, owner === "tenant" ? id : ""),
  ]);
  const own = (held?.results ?? []).map(({ value }) => String(value));
  const isBeyond = ({ scopes }: Row): boolean =>
    scopes === null || !toList(scopes).every((scope) => covers(own, scope, builtIn.operatorScopes));
  const beyond = (concerned?.results ?? []).find(isBeyond);
  return beyond && beyondOrganization(by, `The role ${beyond["name"]}, which has scopes that you do not have,`);
}

/**
 * If a member leaves or loses a role, the user's tokens for this tenant or organization are revoked, because they may
 * have its scopes. Tokens for other places stay: they may belong to other organizations.
 */
export function members(owner: OwnerNoun, deps: Deps): Resource<z.output<typeof schema>> {
  const { db, oauth } = deps;
  const sql = statements(owner);
  const isTenant = owner === "tenant";
  return {
    ...ofPerson(owner, "member", sql, db),
    schema,
    toJson: (row) => ({
      [owner]: row["owner"],
      email: row["email"],
      roles: toList(row["roles"]),
      createdAt: row["created_at"],
    }),
    logged: { roles: { list: "roles" } },
    validate: ({ params: { id, email: address }, body: { roles } }) =>
      refuseFaults(db.prepare(sql.faults).bind(id, address, JSON.stringify(roles))),
    put({ params: { id = "", email: address = "" }, body, nowMs, by }, write) {
      const roles = JSON.stringify(body.roles);
      return write([
        db.prepare(sql.upsert).bind(id, address, nowMs),
        db.prepare(sql.dropOtherRoles).bind(id, address, roles),
        oauth.revokeInPlaceStatement(address, owner, id, nowMs, by?.organization),
        db.prepare(sql.addRoles).bind(id, address, roles),
      ]);
    },
    remove: ({ params: { id = "", email: address = "" }, nowMs, by }, remove) =>
      remove(db.prepare(sql.delete).bind(id, address), {
        after: oauth.revokeInPlaceStatement(address, owner, id, nowMs, by?.organization),
      }),
    within: {
      owns: ({ id = "" }, organization) => (isTenant ? ownsTenant(id, organization) : isOrganization(id, organization)),
      change: {
        permits: ({ params: { id, email: address } }, organization) => ({
          sql: sql.known,
          values: [id, organization, address],
        }),
        validate: ({ params: path, body }, by) => refuseRoles(owner, deps, path, body.roles, by),
        validateRemoval: (path, by) => refuseRoles(owner, deps, path, [], by),
      },
    },
  };
}
