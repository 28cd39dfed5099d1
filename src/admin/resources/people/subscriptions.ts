import * as z from "zod/mini";
import type { BuiltIn } from "../../../platform/model/built-in.ts";
import { randomId, type Random } from "../../../platform/runtime/random.ts";
import { identifier, tenantId } from "../../model/fields.ts";
import { beyondOrganization, holds, ownsTenant, type Condition } from "../shared/within-organization.ts";
import type { OutboxPort } from "../../model/ports.ts";
import { refuseFaults } from "../shared/refusals.ts";
import type { Resource } from "../shared/resource.ts";

export const params = z.object({ id: tenantId, packageId: identifier });
export const schema = z.object({});

/** Our choice: it keeps the payload of the whole event below 256 KiB. */
const MAX_SCOPES_CHARS = 128 * 1024;

const TENANT = `SELECT 1 FROM tenant WHERE id = ?1`;
const FAULTS = `
  SELECT 'absent' AS type, 'id' AS field, 'There is no tenant ' || ?1 || '.' AS message
    WHERE NOT EXISTS (SELECT 1 FROM tenant WHERE id = ?1)
  UNION ALL SELECT 'absent', 'packageId', 'There is no package ' || ?2 || '.'
    WHERE ?2 <> ?3 AND NOT EXISTS (SELECT 1 FROM package WHERE id = ?2)
  UNION ALL SELECT 'invalid_uri_parameter', 'packageId', 'The services of ' || ?2 || ' have more scopes than an event holds.'
    WHERE (SELECT sum(length(scopes)) FROM service WHERE name IN
        (SELECT service FROM package_service WHERE package = ?2)) > ${MAX_SCOPES_CHARS}
      AND NOT EXISTS (SELECT 1 FROM subscription WHERE tenant = ?1 AND package = ?2)`;
/** SQL: checks the package again. There is no foreign key, because the built-in package has no row. */
const SUBSCRIBE = `
  INSERT INTO subscription (tenant, package, id, created_at)
  SELECT ?1, ?2, ?4, ?5 WHERE ?2 = ?3 OR EXISTS (SELECT 1 FROM package WHERE id = ?2)
  ON CONFLICT (tenant, package) DO NOTHING`;
const SELECT = `SELECT tenant, package, id, created_at FROM subscription WHERE tenant = ?1 AND package = ?2`;
const PAGE = `
  SELECT tenant, package, id, created_at, package AS page_key FROM subscription
  WHERE tenant = ?1 AND package > ?2 ORDER BY package LIMIT ?3 OFFSET ?4`;
const DELETE = `DELETE FROM subscription WHERE tenant = ?1 AND package = ?2`;

/** Only the platform's operators subscribe a tenant to packages of other organizations. */
const ownPackage = (tenant = "", packageId = "", organization: string): Condition => ({
  sql: `?1 IN (SELECT id FROM tenant WHERE organization = ?3)
    AND EXISTS (SELECT 1 FROM package WHERE id = ?2 AND organization = ?3)`,
  values: [tenant, packageId, organization],
});

interface Deps {
  readonly db: D1Database;
  readonly random: Random;
  readonly builtIn: BuiltIn;
  readonly outbox: OutboxPort;
}

/**
 * The subscriptions of a tenant to packages. A repeated PUT changes nothing and keeps the subscription's id. The
 * transaction of a change also writes the event to the outbox.
 */
export const subscriptions = ({ db, random, builtIn, outbox }: Deps): Resource<z.output<typeof schema>> => ({
  noun: "subscription",
  collection: "/tenants/{id}/subscriptions",
  key: "packageId",
  params,
  owner: { noun: "tenant", params: z.object({ id: tenantId }), exists: ({ id }) => db.prepare(TENANT).bind(id) },
  schema,
  bodyOptional: true,
  row: ({ id, packageId }) => ({ sql: SELECT, values: [id, packageId] }),
  page: ({ id }, { after, limit, skip }) => db.prepare(PAGE).bind(id, after, limit, skip),
  toJson: (row) => ({ id: row["id"], tenant: row["tenant"], package: row["package"], createdAt: row["created_at"] }),
  logged: {},
  validate: ({ params: { id, packageId } }) => refuseFaults(db.prepare(FAULTS).bind(id, packageId, builtIn.package.id)),
  put({ params: { id, packageId }, nowMs }, write) {
    const subscriptionId = randomId(random);
    return write([
      db.prepare(SUBSCRIBE).bind(id, packageId, builtIn.package.id, subscriptionId, nowMs),
      outbox.created(subscriptionId, nowMs),
    ]);
  },
  remove: ({ params: { id = "", packageId = "" }, nowMs }, remove) =>
    remove(db.prepare(DELETE).bind(id, packageId), { before: [outbox.cancelled(id, packageId, nowMs)] }),
  afterChange: () => outbox.drain(),
  within: {
    owns: ({ id }, organization) => ownsTenant(id, organization),
    change: {
      permits: ({ params: { id, packageId } }, organization) => ownPackage(id, packageId, organization),
      async validateRemoval({ id, packageId }, by) {
        const isOwn = await holds(db, ownPackage(id, packageId, by.organization));
        return isOwn ? undefined : beyondOrganization(by, "The package");
      },
    },
  },
});
