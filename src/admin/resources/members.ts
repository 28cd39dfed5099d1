import * as z from "zod/mini";
import { email, identifier, tenantId } from "../fields.ts";
import { toList, type Resource } from "../resource.ts";
import type { AdminDeps } from "../ports.ts";

const body = z.object({ roles: z.array(identifier).check(z.maxLength(100)) });

/** Members of tenants and of organizations: the same rules over two pairs of tables. */
const KINDS = {
  tenant: { owners: "tenants", ownerId: tenantId },
  organization: { owners: "organizations", ownerId: identifier },
} as const;

/** `kind` is one of the two words above and names the tables and their column. */
const statements = (kind: keyof typeof KINDS) => ({
  owner: `SELECT 1 FROM ${kind} WHERE id = ?1`,
  faults: `
    SELECT 'absent' AS type, 'id' AS field, 'There is no ${kind} ' || ?1 || '.' AS message
      WHERE NOT EXISTS (SELECT 1 FROM ${kind} WHERE id = ?1)
    UNION ALL SELECT 'absent', 'email', 'There is no user ' || ?2 || '.'
      WHERE NOT EXISTS (SELECT 1 FROM user WHERE email = ?2)
    UNION ALL SELECT 'invalid_field', 'roles[' || key || ']', 'There is no role ' || value || '.'
      FROM json_each(?3) WHERE NOT EXISTS (SELECT 1 FROM role WHERE name = value)`,
  upsert: `
    INSERT INTO ${kind}_member (${kind}, email, created_at) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING`,
  dropOtherRoles: `
    DELETE FROM ${kind}_member_role
    WHERE ${kind} = ?1 AND email = ?2 AND role NOT IN (SELECT value FROM json_each(?3))`,
  addRoles: `INSERT OR IGNORE INTO ${kind}_member_role (${kind}, email, role) SELECT ?1, ?2, value FROM json_each(?3)`,
  select: `
    SELECT ${kind} AS owner, email, created_at,
      (SELECT json_group_array(role) FROM ${kind}_member_role AS held WHERE held.${kind} = ?1 AND held.email = ?2) AS roles
    FROM ${kind}_member WHERE ${kind} = ?1 AND email = ?2`,
  page: `
    SELECT ${kind} AS owner, email, created_at, email AS page_key,
      (SELECT json_group_array(role) FROM ${kind}_member_role AS held
        WHERE held.${kind} = member.${kind} AND held.email = member.email) AS roles
    FROM ${kind}_member AS member WHERE ${kind} = ?1 AND email > ?2 ORDER BY email LIMIT ?3 OFFSET ?4`,
  delete: `DELETE FROM ${kind}_member WHERE ${kind} = ?1 AND email = ?2`,
});

/** A user who leaves, or loses a role, loses the tokens that were issued by it: others are had at once. */
export function members(kind: keyof typeof KINDS, { db, voidStatement }: AdminDeps): Resource<z.output<typeof body>> {
  const sql = statements(kind);
  const { owners, ownerId } = KINDS[kind];
  return {
    noun: `${kind} member`,
    collection: `/${owners}/{id}/members`,
    key: "email",
    params: z.object({ id: ownerId, email }),
    owner: { noun: kind, params: z.object({ id: ownerId }), exists: ({ id }) => db.prepare(sql.owner).bind(id) },
    body,
    faults: ({ params, body: { roles } }) =>
      db.prepare(sql.faults).bind(params["id"], params["email"], JSON.stringify(roles)),
    async put({ params, body: { roles }, nowMs }) {
      const { email: address = "" } = params;
      const member = [params["id"], address];
      const held = JSON.stringify(roles);
      return {
        writes: [
          db.prepare(sql.upsert).bind(...member, nowMs),
          db.prepare(sql.dropOtherRoles).bind(...member, held),
          voidStatement("user", address, nowMs, "if changed"),
          db.prepare(sql.addRoles).bind(...member, held),
        ],
      };
    },
    row: (params) => ({ sql: sql.select, values: [params["id"], params["email"]] }),
    logged: { roles: { list: "roles" } },
    page: (params, { after, limit, skip }) => db.prepare(sql.page).bind(params["id"], after, limit, skip),
    toJson: (row) => ({
      [kind]: row["owner"],
      email: row["email"],
      roles: toList(row["roles"]),
      createdAt: row["created_at"],
    }),
    remove: ({ id, email: address = "" }, nowMs) => ({
      delete: db.prepare(sql.delete).bind(id, address),
      andThen: voidStatement("user", address, nowMs, "if changed"),
    }),
  };
}
