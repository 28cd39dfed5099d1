import * as z from "zod/mini";
import { randomId } from "../../platform/random.ts";
import { identifier, tenantId } from "../fields.ts";
import type { Resource } from "../resource.ts";
import type { AdminDeps } from "../routes.ts";

const body = z.object({});

const TENANT = `SELECT 1 FROM tenant WHERE id = ?1`;
const FAULTS = `
  SELECT 'absent' AS type, 'id' AS field, 'There is no tenant ' || ?1 || '.' AS message
    WHERE NOT EXISTS (SELECT 1 FROM tenant WHERE id = ?1)
  UNION ALL SELECT 'absent', 'packageId', 'There is no package ' || ?2 || '.'
    WHERE ?2 <> ?3 AND NOT EXISTS (SELECT 1 FROM package WHERE id = ?2)`;
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

/** Which packages a tenant has. Subscribing again changes nothing and keeps the subscription's id. */
export const subscriptions = ({ db, random, builtIn }: AdminDeps): Resource<z.output<typeof body>> => ({
  noun: "subscription",
  collection: "/tenants/{id}/subscriptions",
  key: "packageId",
  params: z.object({ id: tenantId, packageId: identifier }),
  owner: { params: z.object({ id: tenantId }), exists: ({ id }) => db.prepare(TENANT).bind(id) },
  body,
  bodyOptional: true,
  faults: ({ params }) => db.prepare(FAULTS).bind(params["id"], params["packageId"], builtIn.package.id),
  async put({ params, nowMs }) {
    const { id, packageId } = params;
    return { writes: [db.prepare(SUBSCRIBE).bind(id, packageId, builtIn.package.id, randomId(random), nowMs)] };
  },
  select: ({ id, packageId }) => db.prepare(SELECT).bind(id, packageId),
  page: ({ id }, { after, limit, skip }) => db.prepare(PAGE).bind(id, after, limit, skip),
  toJson: (row) => ({ id: row["id"], tenant: row["tenant"], package: row["package"], createdAt: row["created_at"] }),
  remove: ({ id, packageId }) => ({ delete: db.prepare(DELETE).bind(id, packageId) }),
});
