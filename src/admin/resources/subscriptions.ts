import * as z from "zod/mini";
import { randomId } from "../../platform/random.ts";
import { identifier, tenantId } from "../fields.ts";
import type { Resource } from "../resource.ts";
import type { AdminDeps } from "../ports.ts";

const body = z.object({});

/** Our choice: with what else is in it the event stays below the 256 KiB of a payload (contract 3.2). */
const MAX_SCOPES_CHARS = 128 * 1024;

const TENANT = `SELECT 1 FROM tenant WHERE id = ?1`;
const FAULTS = `
  SELECT 'absent' AS type, 'id' AS field, 'There is no tenant ' || ?1 || '.' AS message
    WHERE NOT EXISTS (SELECT 1 FROM tenant WHERE id = ?1)
  UNION ALL SELECT 'absent', 'packageId', 'There is no package ' || ?2 || '.'
    WHERE ?2 <> ?3 AND NOT EXISTS (SELECT 1 FROM package WHERE id = ?2)
  UNION ALL SELECT 'invalid_uri_parameter', 'packageId',
      'The services of ' || ?2 || ' list more scopes than an event can tell of.'
    WHERE (SELECT sum(length(scopes)) FROM service WHERE name IN
        (SELECT service FROM package_service WHERE package = ?2)) > ${MAX_SCOPES_CHARS}
      AND NOT EXISTS (SELECT 1 FROM subscription WHERE tenant = ?1 AND package = ?2)`;
/** Checked again here, since packages have no foreign key: the built-in one has no row. */
const SUBSCRIBE = `
  INSERT INTO subscription (tenant, package, id, created_at)
  SELECT ?1, ?2, ?4, ?5 WHERE ?2 = ?3 OR EXISTS (SELECT 1 FROM package WHERE id = ?2)
  ON CONFLICT (tenant, package) DO NOTHING`;
const SELECT = `SELECT tenant, package, id, created_at FROM subscription WHERE tenant = ?1 AND package = ?2`;
const PAGE = `
  SELECT tenant, package, id, created_at, package AS page_key FROM subscription
  WHERE tenant = ?1 AND package > ?2 ORDER BY package LIMIT ?3 OFFSET ?4`;
const DELETE = `DELETE FROM subscription WHERE tenant = ?1 AND package = ?2`;

/**
 * Which packages a tenant has. Subscribing again changes nothing and keeps the subscription's id. What does change is
 * published: the row that says so is written in the same transaction.
 */
export const subscriptions = ({ db, random, builtIn, outbox }: AdminDeps): Resource<z.output<typeof body>> => ({
  noun: "subscription",
  collection: "/tenants/{id}/subscriptions",
  key: "packageId",
  params: z.object({ id: tenantId, packageId: identifier }),
  owner: { noun: "tenant", params: z.object({ id: tenantId }), exists: ({ id }) => db.prepare(TENANT).bind(id) },
  body,
  bodyOptional: true,
  faults: ({ params }) => db.prepare(FAULTS).bind(params["id"], params["packageId"], builtIn.package.id),
  async put({ params, nowMs }) {
    const { id, packageId } = params;
    const subscriptionId = randomId(random);
    const subscribe = db.prepare(SUBSCRIBE).bind(id, packageId, builtIn.package.id, subscriptionId, nowMs);
    return { writes: [subscribe, outbox.created(subscriptionId, nowMs)] };
  },
  row: ({ id, packageId }) => ({ sql: SELECT, values: [id, packageId] }),
  logged: {},
  page: ({ id }, { after, limit, skip }) => db.prepare(PAGE).bind(id, after, limit, skip),
  toJson: (row) => ({ id: row["id"], tenant: row["tenant"], package: row["package"], createdAt: row["created_at"] }),
  remove: ({ id = "", packageId = "" }, nowMs) => ({
    before: () => [outbox.cancelled(id, packageId, nowMs)],
    delete: db.prepare(DELETE).bind(id, packageId),
  }),
  afterChange: () => outbox.drain(),
});
