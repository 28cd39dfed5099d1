import * as z from "zod/mini";
import { noSuch } from "../../http/errors.ts";
import { defineRoute, json, type Route } from "../../http/route.ts";
import { tenantId } from "../fields.ts";
import type { Row } from "../resource.ts";
import type { AdminDeps } from "../ports.ts";
import { toQuota } from "./tenants.ts";

const QUOTA = `SELECT quota_files, quota_bytes FROM tenant WHERE id = ?1`;

/** `GET /tenants/{id}/usage`: what the tenant stores in the media service, and what it may. */
export const tenantUsageRoute = ({ db, usage }: AdminDeps): Route =>
  defineRoute({
    method: "GET",
    path: "/tenants/{id}/usage",
    summary: "Show what the tenant stores, and its quota",
    operation: "readUsage",
    params: z.object({ id: tenantId }),
    async handle({ params: { id } }) {
      const [row, stored] = await Promise.all([db.prepare(QUOTA).bind(id).first<Row>(), usage(id)]);
      if (row === null) return noSuch("tenant");
      return json(200, { tenant: id, ...stored, quota: toQuota(row) });
    },
  });
