import * as z from "zod/mini";
import { DEFAULT_PLAN, PLANS } from "../../platform/plans.ts";
import { disabledFlag, displayName, flagOrKept, identifier, tenantId } from "../fields.ts";
import { builtInRefusal, ASKED_USERS, toFlag, type Resource, type Row } from "../resource.ts";
import type { AdminDeps } from "../ports.ts";

const maximum = z.optional(z.int().check(z.nonnegative()));
/** What the tenant may store; what it leaves out is not limited. Without one the tenant keeps the one that it has. */
const quota = z.optional(z.object({ files: maximum, bytes: maximum }));
/** Kept too where it is left out: whoever renames a tenant gives it no more requests. */
const plan = z.optional(z.enum(PLANS));
const body = z.object({ organization: identifier, name: displayName, disabled: disabledFlag, quota, plan });

const FAULTS = `
  SELECT 'invalid_field' AS type, 'organization' AS field, 'There is no organization ' || ?1 || '.' AS message
  WHERE NOT EXISTS (SELECT 1 FROM organization WHERE id = ?1)`;
const UPSERT = `
  INSERT INTO tenant (id, organization, name, disabled, created_at, quota_files, quota_bytes, plan)
  VALUES (?1, ?2, ?3, coalesce(?4, 0), ?5, ?6, ?7, coalesce(?9, '${DEFAULT_PLAN}'))
  ON CONFLICT (id) DO UPDATE SET organization = excluded.organization, name = excluded.name,
    disabled = coalesce(?4, disabled), quota_files = iif(?8, ?6, quota_files), quota_bytes = iif(?8, ?7, quota_bytes),
    plan = coalesce(?9, plan)`;
const COLUMNS = `id, organization, name, disabled, created_at, quota_files, quota_bytes, plan`;
const SELECT = `SELECT ${COLUMNS} FROM tenant WHERE id = ?1`;
const PAGE = `
  SELECT ${COLUMNS}, id AS page_key FROM tenant
  WHERE id > ?1 ORDER BY id LIMIT ?2 OFFSET ?3`;
const USERS = `
  SELECT * FROM (SELECT 'client' AS kind, id FROM client WHERE tenant = ?1 LIMIT ?2)
  UNION ALL SELECT * FROM (SELECT 'service', name FROM service WHERE tenant = ?1 LIMIT ?2)
  UNION ALL SELECT * FROM (SELECT 'subscription', package FROM subscription WHERE tenant = ?1 LIMIT ?2)`;
const DELETE = `DELETE FROM tenant WHERE id = ?1`;

/** Memberships go with the tenant; what others rely on keeps it. */
export const tenants = ({ db, builtIn, voidStatement, filesOfTenant }: AdminDeps): Resource<z.output<typeof body>> => ({
  noun: "tenant",
  collection: "/tenants",
  key: "id",
  params: z.object({ id: tenantId }),
  body,
  faults: ({ body: { organization } }) => db.prepare(FAULTS).bind(organization),
  builtIn: ({ id }) => (id === builtIn.tenant ? builtInRefusal("tenant", id) : undefined),
  async put({ params, body: tenant, nowMs }) {
    const id = params["id"] ?? "";
    const { organization, name, disabled, quota: limits, plan: chosen } = tenant;
    const quotas = [limits?.files ?? null, limits?.bytes ?? null, Number(limits !== undefined)];
    const write = db
      .prepare(UPSERT)
      .bind(id, organization, name, flagOrKept(disabled), nowMs, ...quotas, chosen ?? null);
    return { writes: disabled === true ? [write, voidStatement("tenant", id, nowMs, "always")] : [write] };
  },
  row: ({ id }) => ({ sql: SELECT, values: [id] }),
  logged: {
    organization: { value: "organization" },
    name: { value: "name" },
    disabled: { flag: "disabled" },
    quota: { json: "json_patch('{}', json_object('files', quota_files, 'bytes', quota_bytes))" },
    plan: { value: "plan" },
  },
  page: (_, { after, limit, skip }) => db.prepare(PAGE).bind(after, limit, skip),
  toJson: (row) => ({
    id: row["id"],
    organization: row["organization"],
    name: row["name"],
    disabled: toFlag(row["disabled"]),
    createdAt: row["created_at"],
    quota: toQuota(row),
    plan: row["plan"],
  }),
  remove: ({ id = "" }, nowMs) => ({
    users: [db.prepare(USERS).bind(id, ASKED_USERS), filesOfTenant(id, ASKED_USERS)],
    delete: db.prepare(DELETE).bind(id),
    andThen: voidStatement("tenant", id, nowMs, "if changed"),
  }),
});

/** A row with `quota_files` and `quota_bytes`, as it is shown. */
export const toQuota = (row: Row): { readonly files?: number; readonly bytes?: number } =>
  Object.fromEntries(
    [
      ["files", row["quota_files"]],
      ["bytes", row["quota_bytes"]],
    ].filter(([, limited]) => limited !== null),
  );
