import * as z from "zod/mini";
import { flagOrKept, identifier, scopeList, secondFactorFlag } from "../../model/fields.ts";
import type { OAuthPort } from "../../model/ports.ts";
import { DEPENDENTS_LIMIT, refuseDependents } from "../shared/refusals.ts";
import { toFlag, toList, type Resource } from "../shared/resource.ts";

export const params = z.object({ name: identifier });
export const schema = z.object({ scopes: scopeList, requireSecondFactor: secondFactorFlag });

/** SQL: runs before the upsert, and changes the row only if a scope goes. */
const TAKE_AWAY = `
  UPDATE role SET scopes = ?2 WHERE name = ?1
    AND EXISTS (SELECT 1 FROM json_each(scopes) WHERE value NOT IN (SELECT value FROM json_each(?2)))`;
const UPSERT = `
  INSERT INTO role (name, scopes, created_at, second_factor) VALUES (?1, ?2, ?3, coalesce(?4, 0))
  ON CONFLICT (name) DO UPDATE SET scopes = excluded.scopes, second_factor = coalesce(?4, second_factor)`;
const SELECT = `SELECT name, scopes, created_at, second_factor FROM role WHERE name = ?1`;
const PAGE = `
  SELECT name, scopes, created_at, second_factor, name AS page_key FROM role WHERE name > ?1 ORDER BY name LIMIT ?2 OFFSET ?3`;
const DEPENDENTS = `
  SELECT * FROM (SELECT 'tenant member' AS kind, tenant || '/' || email AS id FROM tenant_member_role WHERE role = ?1 LIMIT ?2)
  UNION ALL
  SELECT * FROM (SELECT 'organization member', organization || '/' || email FROM organization_member_role WHERE role = ?1 LIMIT ?2)`;
const DELETE = `DELETE FROM role WHERE name = ?1`;

interface Deps {
  readonly db: D1Database;
  readonly oauth: Pick<OAuthPort, "revokeRoleHoldersStatement">;
}

/** If a role loses a scope, the tokens that its holders got by it are revoked. */
export const roles = ({ db, oauth }: Deps): Resource<z.output<typeof schema>> => ({
  noun: "role",
  collection: "/roles",
  key: "name",
  params,
  schema,
  row: ({ name }) => ({ sql: SELECT, values: [name] }),
  page: (_, { after, limit, skip }) => db.prepare(PAGE).bind(after, limit, skip),
  toJson: (row) => ({
    name: row["name"],
    scopes: toList(row["scopes"]),
    requireSecondFactor: toFlag(row["second_factor"]),
    createdAt: row["created_at"],
  }),
  logged: { scopes: { list: "scopes" }, requireSecondFactor: { flag: "second_factor" } },
  put({ params: { name = "" }, body, nowMs }, write) {
    const scopes = JSON.stringify(body.scopes);
    return write([
      db.prepare(TAKE_AWAY).bind(name, scopes),
      oauth.revokeRoleHoldersStatement(name, nowMs),
      db.prepare(UPSERT).bind(name, scopes, nowMs, flagOrKept(body.requireSecondFactor)),
    ]);
  },
  validateRemoval: ({ name }) => refuseDependents(db, "role", [db.prepare(DEPENDENTS).bind(name, DEPENDENTS_LIMIT)]),
  remove: ({ params: { name } }, remove) => remove(db.prepare(DELETE).bind(name)),
});
