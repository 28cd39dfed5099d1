import * as z from "zod/mini";
import { displayName, identifier } from "../fields.ts";
import { builtInRefusal, ASKED_USERS, type Resource } from "../resource.ts";
import type { AdminDeps } from "../ports.ts";

const body = z.object({ name: displayName });

const UPSERT = `
  INSERT INTO organization (id, name, created_at) VALUES (?1, ?2, ?3)
  ON CONFLICT (id) DO UPDATE SET name = excluded.name`;
const SELECT = `SELECT id, name, created_at FROM organization WHERE id = ?1`;
const PAGE = `
  SELECT id, name, created_at, id AS page_key FROM organization WHERE id > ?1 ORDER BY id LIMIT ?2 OFFSET ?3`;
const USERS = `
  SELECT * FROM (SELECT 'tenant' AS kind, id FROM tenant WHERE organization = ?1 LIMIT ?2)
  UNION ALL SELECT * FROM (SELECT 'package', id FROM package WHERE organization = ?1 LIMIT ?2)`;
const DELETE = `DELETE FROM organization WHERE id = ?1`;

/** Memberships go with the organization, and end what its members got by them; what others rely on keeps it. */
export const organizations = ({ db, builtIn, voidMembersStatement }: AdminDeps): Resource<z.output<typeof body>> => ({
  noun: "organization",
  collection: "/organizations",
  key: "id",
  params: z.object({ id: identifier }),
  body,
  builtIn: ({ id }) => (id === builtIn.tenant ? builtInRefusal("organization", id) : undefined),
  async put({ params, body: { name }, nowMs }) {
    return { writes: [db.prepare(UPSERT).bind(params["id"], name, nowMs)] };
  },
  row: ({ id }) => ({ sql: SELECT, values: [id] }),
  logged: { name: { value: "name" } },
  page: (_, { after, limit, skip }) => db.prepare(PAGE).bind(after, limit, skip),
  toJson: (row) => ({ id: row["id"], name: row["name"], createdAt: row["created_at"] }),
  remove: ({ id = "" }, nowMs) => ({
    users: [db.prepare(USERS).bind(id, ASKED_USERS)],
    before: () => [voidMembersStatement(id, nowMs)],
    delete: db.prepare(DELETE).bind(id),
  }),
});
