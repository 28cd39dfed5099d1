import * as z from "zod/mini";
import { email, identifier, tenantId } from "../model/fields.ts";
import type { OAuthPort } from "../model/ports.ts";
import { refuseFaults, toList, type Resource } from "./resource.ts";

/** Members of tenants and of organizations: the same rules over two pairs of tables. */
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
type OwnerNoun = keyof typeof OWNERS;

export const paramsOf = (owner: OwnerNoun) => OWNERS[owner].memberParams;
export const schema = z.object({ roles: z.array(identifier).check(z.maxLength(100)) });

/** `owner` is one of the two words above and names the tables and their column. */
const statements = (owner: OwnerNoun) => ({
  owner: `SELECT 1 FROM ${owner} WHERE id = ?1`,
  faults: `
    SELECT 'absent' AS type, 'id' AS field, 'There is no ${owner} ' || ?1 || '.' AS message
      WHERE NOT EXISTS (SELECT 1 FROM ${owner} WHERE id = ?1)
    UNION ALL SELECT 'absent', 'email', 'There is no user ' || ?2 || '.'
      WHERE NOT EXISTS (SELECT 1 FROM user WHERE email = ?2)
    UNION ALL SELECT 'invalid_field', 'roles[' || key || ']', 'There is no role ' || value || '.'
      FROM json_each(?3) WHERE NOT EXISTS (SELECT 1 FROM role WHERE name = value)`,
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
  delete: `DELETE FROM ${owner}_member WHERE ${owner} = ?1 AND email = ?2`,
});

interface Deps {
  readonly db: D1Database;
  readonly oauth: Pick<OAuthPort, "revokeStatement">;
}

/**
 * Leaving, or losing a role, revokes the user's tokens, since they may come from it. The user gets new ones at once.
 */
export function members(owner: OwnerNoun, { db, oauth }: Deps): Resource<z.output<typeof schema>> {
  const sql = statements(owner);
  const { collection, params } = OWNERS[owner];
  return {
    noun: `${owner} member`,
    collection: `/${collection}/{id}/members`,
    key: "email",
    params: paramsOf(owner),
    owner: { noun: owner, params, exists: ({ id }) => db.prepare(sql.owner).bind(id) },
    schema,
    row: ({ id, email: address }) => ({ sql: sql.select, values: [id, address] }),
    page: ({ id }, { after, limit, skip }) => db.prepare(sql.page).bind(id, after, limit, skip),
    toJson: (row) => ({
      [owner]: row["owner"],
      email: row["email"],
      roles: toList(row["roles"]),
      createdAt: row["created_at"],
    }),
    logged: { roles: { list: "roles" } },
    validate: ({ params: { id, email: address }, body: { roles } }) =>
      refuseFaults(db.prepare(sql.faults).bind(id, address, JSON.stringify(roles))),
    put({ params: { id, email: address = "" }, body, nowMs }, write) {
      const roles = JSON.stringify(body.roles);
      return write([
        db.prepare(sql.upsert).bind(id, address, nowMs),
        db.prepare(sql.dropOtherRoles).bind(id, address, roles),
        oauth.revokeStatement("user", address, nowMs, "if changed"),
        db.prepare(sql.addRoles).bind(id, address, roles),
      ]);
    },
    remove: ({ params: { id, email: address = "" }, nowMs }, remove) =>
      remove(db.prepare(sql.delete).bind(id, address), {
        after: oauth.revokeStatement("user", address, nowMs, "if changed"),
      }),
  };
}
