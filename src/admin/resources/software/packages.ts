import * as z from "zod/mini";
import { text } from "../../../http/input/validate.ts";
import { identifier } from "../../model/fields.ts";
import { builtInRefusal, type RuleContext } from "../../model/rules.ts";
import { DEPENDENTS_LIMIT, refuseDependents, refuseFaults } from "../shared/refusals.ts";
import { toList, type Resource } from "../shared/resource.ts";

export const params = z.object({ id: identifier });
export const schema = z.object({
  version: text(64),
  organization: identifier,
  services: z.array(identifier).check(z.maxLength(200)),
});
export const isBuiltIn = (id: string, { builtIn }: Pick<RuleContext, "builtIn">): boolean => id === builtIn.package.id;

/** `?3` has the names of the built-in services, which have no rows. */
const FAULTS = `
  SELECT 'invalid_field' AS type, 'organization' AS field, 'There is no organization ' || ?1 || '.' AS message
    WHERE NOT EXISTS (SELECT 1 FROM organization WHERE id = ?1)
  UNION ALL SELECT 'invalid_field', 'services[' || key || ']', 'There is no service ' || value || '.' FROM json_each(?2)
    WHERE value NOT IN (SELECT name FROM service) AND value NOT IN (SELECT value FROM json_each(?3))`;
const UPSERT = `
  INSERT INTO package (id, version, organization, created_at) VALUES (?1, ?2, ?3, ?4)
  ON CONFLICT (id) DO UPDATE SET version = excluded.version, organization = excluded.organization`;
const DROP_SERVICES = `DELETE FROM package_service WHERE package = ?1`;
/** SQL: a service that was removed meanwhile becomes NULL. The table refuses NULL, and so the whole change fails. */
const ADD_SERVICES = `
  INSERT INTO package_service (package, service)
  SELECT ?1, CASE WHEN value IN (SELECT name FROM service) OR value IN (SELECT value FROM json_each(?3)) THEN value END
  FROM json_each(?2) WHERE true
  ON CONFLICT DO NOTHING`;
/** SQL: the stored packages and, from JSON, the built-in one, as one list. */
const ALL = `
  (SELECT id, version, organization, created_at,
     (SELECT json_group_array(service) FROM package_service WHERE package = package.id) AS services FROM package
   UNION ALL SELECT value ->> 'id', value ->> 'version', NULL, NULL, value -> 'services' FROM json_each(?1))`;
const COLUMNS = `id, version, organization, created_at, services`;
const SELECT = `SELECT ${COLUMNS} FROM ${ALL} WHERE id = ?2`;
const PAGE = `SELECT ${COLUMNS}, id AS page_key FROM ${ALL} WHERE id > ?2 ORDER BY id LIMIT ?3 OFFSET ?4`;
const DEPENDENTS = `SELECT 'tenant' AS kind, tenant AS id FROM subscription WHERE package = ?1 LIMIT ?2`;
const DELETE = `DELETE FROM package WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM subscription WHERE package = ?1)`;

interface Deps extends Pick<RuleContext, "builtIn"> {
  readonly db: D1Database;
}

export const packages = ({ db, builtIn }: Deps): Resource<z.output<typeof schema>> => {
  const builtInServices = JSON.stringify(builtIn.services.map((service) => service.name));
  const builtInJson = JSON.stringify([builtIn.package]);
  return {
    noun: "package",
    collection: "/packages",
    key: "id",
    params,
    schema,
    row: ({ id }) => ({ sql: SELECT, values: [builtInJson, id] }),
    page: (_, { after, limit, skip }) => db.prepare(PAGE).bind(builtInJson, after, limit, skip),
    toJson: (row) => ({
      id: row["id"],
      version: row["version"],
      ...(row["organization"] === null
        ? { builtIn: true }
        : { organization: row["organization"], createdAt: row["created_at"] }),
      services: toList(row["services"]),
    }),
    logged: {
      version: { value: "version" },
      organization: { value: "organization" },
      services: { list: "services" },
    },
    async validate({ params: { id = "" }, body: { organization, services } }) {
      if (isBuiltIn(id, { builtIn })) return builtInRefusal("package", id);
      return refuseFaults(db.prepare(FAULTS).bind(organization, JSON.stringify(services), builtInServices));
    },
    put: ({ params: { id }, body: { version, organization, services }, nowMs }, write) =>
      write([
        db.prepare(UPSERT).bind(id, version, organization, nowMs),
        db.prepare(DROP_SERVICES).bind(id),
        db.prepare(ADD_SERVICES).bind(id, JSON.stringify(services), builtInServices),
      ]),
    async validateRemoval({ id = "" }) {
      if (isBuiltIn(id, { builtIn })) return builtInRefusal("package", id);
      return refuseDependents(db, "package", [db.prepare(DEPENDENTS).bind(id, DEPENDENTS_LIMIT)]);
    },
    remove: ({ params: { id } }, remove) => remove(db.prepare(DELETE).bind(id)),
  };
};
