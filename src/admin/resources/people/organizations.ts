import * as z from "zod/mini";
import { displayName, identifier } from "../../model/fields.ts";
import type { OAuthPort } from "../../model/ports.ts";
import { isOrganization } from "../shared/within-organization.ts";
import { builtInRefusal, type RuleContext } from "../../model/rules.ts";
import { DEPENDENTS_LIMIT, refuseDependents } from "../shared/refusals.ts";
import type { Resource } from "../shared/resource.ts";

export const params = z.object({ id: identifier });
export const schema = z.object({ name: displayName });
export const isBuiltIn = (id: string, { builtIn }: Pick<RuleContext, "builtIn">): boolean => id === builtIn.tenant;

const UPSERT = `
  INSERT INTO organization (id, name, created_at) VALUES (?1, ?2, ?3)
  ON CONFLICT (id) DO UPDATE SET name = excluded.name`;
const SELECT = `SELECT id, name, created_at FROM organization WHERE id = ?1`;
const PAGE = `
  SELECT id, name, created_at, id AS page_key FROM organization WHERE id > ?1 AND id <> '~' ORDER BY id LIMIT ?2 OFFSET ?3`;
const OWN_PAGE = `
  SELECT id, name, created_at, id AS page_key FROM organization WHERE id > ?1 AND id = ?4 ORDER BY id LIMIT ?2 OFFSET ?3`;
const DEPENDENTS = `
  SELECT * FROM (SELECT 'tenant' AS kind, id FROM tenant WHERE organization = ?1 LIMIT ?2)
  UNION ALL SELECT * FROM (SELECT 'package', id FROM package WHERE organization = ?1 LIMIT ?2)`;
const DELETE = `DELETE FROM organization WHERE id = ?1`;

interface Deps extends Pick<RuleContext, "builtIn"> {
  readonly db: D1Database;
  readonly oauth: Pick<OAuthPort, "revokeMembersStatement">;
}

/** Removing an organization removes its memberships and revokes the tokens that its members got by them. */
export const organizations = ({ db, builtIn, oauth }: Deps): Resource<z.output<typeof schema>> => ({
  noun: "organization",
  collection: "/organizations",
  key: "id",
  params,
  schema,
  row: ({ id }) => ({ sql: SELECT, values: [id] }),
  page: (_, { after, limit, skip }) => db.prepare(PAGE).bind(after, limit, skip),
  toJson: (row) => ({ id: row["id"], name: row["name"], createdAt: row["created_at"] }),
  logged: { name: { value: "name" } },
  async validate({ params: { id = "" } }) {
    return isBuiltIn(id, { builtIn }) ? builtInRefusal("organization", id) : undefined;
  },
  put: ({ params: { id }, body: { name }, nowMs }, write) => write([db.prepare(UPSERT).bind(id, name, nowMs)]),
  async validateRemoval({ id = "" }) {
    if (isBuiltIn(id, { builtIn })) return builtInRefusal("organization", id);
    return refuseDependents(db, "organization", [db.prepare(DEPENDENTS).bind(id, DEPENDENTS_LIMIT)]);
  },
  remove: ({ params: { id = "" }, nowMs }, remove) =>
    remove(db.prepare(DELETE).bind(id), { before: [oauth.revokeMembersStatement(id, nowMs)] }),
  within: {
    owns: ({ id = "" }, organization) => isOrganization(id, organization),
    page: (organization, { after, limit, skip }) => db.prepare(OWN_PAGE).bind(after, limit, skip, organization),
  },
});
