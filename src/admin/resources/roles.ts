import * as z from "zod/mini";
import { identifier, scopeList } from "../fields.ts";
import { ASKED_USERS, toList, type Resource } from "../resource.ts";
import type { AdminDeps } from "../ports.ts";

const body = z.object({ scopes: scopeList });

/** A role that gives less: what its holders got by it is void. */
const TAKE_AWAY = `
  UPDATE role SET scopes = ?2 WHERE name = ?1
    AND EXISTS (SELECT 1 FROM json_each(scopes) WHERE value NOT IN (SELECT value FROM json_each(?2)))`;
const UPSERT = `
  INSERT INTO role (name, scopes, created_at) VALUES (?1, ?2, ?3)
  ON CONFLICT (name) DO UPDATE SET scopes = excluded.scopes`;
const SELECT = `SELECT name, scopes, created_at FROM role WHERE name = ?1`;
const PAGE = `
  SELECT name, scopes, created_at, name AS page_key FROM role WHERE name > ?1 ORDER BY name LIMIT ?2 OFFSET ?3`;
const USERS = `
  SELECT * FROM (SELECT 'tenant member' AS kind, tenant || '/' || email AS id FROM tenant_member_role WHERE role = ?1 LIMIT ?2)
  UNION ALL
  SELECT * FROM (SELECT 'organization member', organization || '/' || email FROM organization_member_role WHERE role = ?1 LIMIT ?2)`;
const DELETE = `DELETE FROM role WHERE name = ?1`;

export const roles = ({ db, voidHoldersStatement }: AdminDeps): Resource<z.output<typeof body>> => ({
  noun: "role",
  collection: "/roles",
  key: "name",
  params: z.object({ name: identifier }),
  body,
  async put({ params, body: { scopes }, nowMs }) {
    const { name = "" } = params;
    const list = JSON.stringify(scopes);
    const takeAway = [db.prepare(TAKE_AWAY).bind(name, list), voidHoldersStatement(name, nowMs)];
    return { writes: [...takeAway, db.prepare(UPSERT).bind(name, list, nowMs)] };
  },
  row: ({ name }) => ({ sql: SELECT, values: [name] }),
  logged: { scopes: { list: "scopes" } },
  page: (_, { after, limit, skip }) => db.prepare(PAGE).bind(after, limit, skip),
  toJson: (row) => ({ name: row["name"], scopes: toList(row["scopes"]), createdAt: row["created_at"] }),
  remove: ({ name }) => ({
    users: [db.prepare(USERS).bind(name, ASKED_USERS)],
    delete: db.prepare(DELETE).bind(name),
  }),
});
