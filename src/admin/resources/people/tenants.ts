import * as z from "zod/mini";
import { invalid, noSuch, type Problem } from "../../../http/errors/errors.ts";
import { defineRoute, json, type Route } from "../../../http/route.ts";
import { DEFAULT_PLAN, PLANS } from "../../../platform/model/plans.ts";
import { brand, brandFaults, brandOrKept, toBrand } from "../../model/brand.ts";
import { disabledFlag, displayName, flagOrKept, identifier, secondFactorFlag, tenantId } from "../../model/fields.ts";
import type { MediaPort, MetricsPort, OAuthPort, ShardsPort } from "../../model/ports.ts";
import { holds, ownsTenant, tenantOperator } from "../shared/within-organization.ts";
import { builtInRefusal, refusal, type Fault, type RuleContext } from "../../model/rules.ts";
import { search } from "../shared/search.ts";
import { DEPENDENTS_LIMIT, refuseDependents, refuseFaults } from "../shared/refusals.ts";
import { toFlag, type Resource, type Row } from "../shared/resource.ts";

const maximum = z.optional(z.int().check(z.nonnegative()));

export const params = z.object({ id: tenantId });
export const schema = z.object({
  organization: identifier,
  name: displayName,
  disabled: disabledFlag,
  /** The limit of what the tenant stores. A missing part is unlimited. Without `quota`, the stored quota stays. */
  quota: z.optional(z.object({ files: maximum, bytes: maximum })),
  /** The plan sets the rate limits. Without it, the stored plan stays. */
  plan: z.optional(z.enum(PLANS)),
  brand,
  requireSecondFactor: secondFactorFlag,
});
export const isBuiltIn = (id: string, { builtIn }: Pick<RuleContext, "builtIn">): boolean => id === builtIn.tenant;
export const check = (_id: string | undefined, tenant: Partial<z.output<typeof schema>>): Fault[] =>
  brandFaults(tenant);

const FAULTS = `
  SELECT 'invalid_field' AS type, 'organization' AS field, 'There is no organization ' || ?1 || '.' AS message
  WHERE NOT EXISTS (SELECT 1 FROM organization WHERE id = ?1)`;
const UPSERT = `
  INSERT INTO tenant (id, organization, name, disabled, created_at, quota_files, quota_bytes, plan, brand,
    second_factor)
  VALUES (?1, ?2, ?3, coalesce(?4, 0), ?5, ?6, ?7, coalesce(?9, '${DEFAULT_PLAN}'), coalesce(?10, '{}'), coalesce(?11, 0))
  ON CONFLICT (id) DO UPDATE SET organization = excluded.organization, name = excluded.name,
    disabled = coalesce(?4, disabled), quota_files = iif(?8, ?6, quota_files), quota_bytes = iif(?8, ?7, quota_bytes),
    plan = coalesce(?9, plan), brand = coalesce(?10, brand), second_factor = coalesce(?11, second_factor)`;
const COLUMNS = `id, organization, name, disabled, created_at, quota_files, quota_bytes, plan, brand, second_factor`;
const SELECT = `SELECT ${COLUMNS} FROM tenant WHERE id = ?1`;
const PAGE = `
  SELECT ${COLUMNS}, id AS page_key FROM tenant
  WHERE id > ?1 AND id <> '~' ORDER BY id LIMIT ?2 OFFSET ?3`;
const OWN_PAGE = `
  SELECT ${COLUMNS}, id AS page_key FROM tenant
  WHERE organization = ?4 AND id > ?1 ORDER BY id LIMIT ?2 OFFSET ?3`;
const DEPENDENTS = `
  SELECT * FROM (SELECT 'client' AS kind, id FROM client WHERE tenant = ?1 LIMIT ?2)
  UNION ALL SELECT * FROM (SELECT 'service', name FROM service WHERE tenant = ?1 LIMIT ?2)
  UNION ALL SELECT * FROM (SELECT 'subscription', package FROM subscription WHERE tenant = ?1 LIMIT ?2)
  UNION ALL SELECT 'move', 'to shard ' || to_shard FROM tenant_move
    WHERE tenant = ?1 AND state NOT IN ('cleaning', 'done')`;
const DELETE = `DELETE FROM tenant WHERE id = ?1`;
const QUOTA = `SELECT quota_files, quota_bytes FROM tenant WHERE id = ?1`;

const SEARCHED = { table: "tenant", columns: COLUMNS, key: "id", smallKeys: true, names: ["name"] } as const;

interface Deps extends Pick<RuleContext, "builtIn"> {
  readonly db: D1Database;
  readonly oauth: Pick<OAuthPort, "revokeStatement" | "revokeClientsStatement">;
  readonly media: Pick<MediaPort, "filesOfTenant" | "ownerChanges">;
  readonly shards: ShardsPort;
}

/** Removing a tenant removes its memberships. */
export const tenants = ({ db, builtIn, oauth, media, shards }: Deps): Resource<z.output<typeof schema>> => ({
  noun: "tenant",
  collection: "/tenants",
  key: "id",
  params,
  schema,
  row: ({ id }) => ({ sql: SELECT, values: [id] }),
  searched: true,
  page: (_, page) => search(db, SEARCHED).page(PAGE, page),
  toJson: (row) => ({
    id: row["id"],
    organization: row["organization"],
    name: row["name"],
    disabled: toFlag(row["disabled"]),
    createdAt: row["created_at"],
    quota: toQuota(row),
    plan: row["plan"],
    brand: toBrand(row["brand"]),
    requireSecondFactor: toFlag(row["second_factor"]),
  }),
  logged: {
    organization: { value: "organization" },
    name: { value: "name" },
    disabled: { flag: "disabled" },
    quota: { json: "json_patch('{}', json_object('files', quota_files, 'bytes', quota_bytes))" },
    plan: { value: "plan" },
    brand: { json: "brand" },
    requireSecondFactor: { flag: "second_factor" },
  },
  async validate({ params: { id = "" }, body }) {
    if (isBuiltIn(id, { builtIn })) return builtInRefusal("tenant", id);
    return (await refuseFaults(db.prepare(FAULTS).bind(body.organization))) ?? refusal(check(id, body));
  },
  async put({ params: { id = "" }, body, nowMs }, write) {
    const { organization, name, disabled, quota, plan } = body;
    const quotas = [quota?.files ?? null, quota?.bytes ?? null, Number(quota !== undefined)];
    const values = [
      id,
      organization,
      name,
      flagOrKept(disabled),
      nowMs,
      ...quotas,
      plan ?? null,
      brandOrKept(body.brand),
      flagOrKept(body.requireSecondFactor),
    ];
    // Its clients may have tokens for other tenants, for organizations and for none.
    const revoked =
      disabled === true
        ? [oauth.revokeStatement("tenant", id, nowMs, "always"), oauth.revokeClientsStatement(id, nowMs)]
        : [];
    const written = await write([...shards.placeStatements(id, nowMs), db.prepare(UPSERT).bind(...values), ...revoked]);
    // If the shard does not answer, the operator gets an error, but the change is stored and the cron will copy it.
    await shards.copies.copy(id);
    return written;
  },
  async validateRemoval({ id = "" }) {
    if (isBuiltIn(id, { builtIn })) return builtInRefusal("tenant", id);
    const statement = db.prepare(DEPENDENTS).bind(id, DEPENDENTS_LIMIT);
    return refuseDependents(db, "tenant", [statement], media.filesOfTenant(id, DEPENDENTS_LIMIT));
  },
  remove: ({ params: { id = "" }, nowMs }, remove) =>
    media.ownerChanges.removeTenant(id, () =>
      remove(db.prepare(DELETE).bind(id), {
        before: shards.keepPlaceStatements(id),
        after: oauth.revokeStatement("tenant", id, nowMs, "if changed"),
      }),
    ),
  within: {
    owns: ({ id }, organization) => ownsTenant(id, organization),
    page: (organization, page) => search(db, SEARCHED).own(OWN_PAGE, "organization = ?8", [organization], page),
  },
});

const toQuota = (row: Row): { readonly files?: number; readonly bytes?: number } =>
  Object.fromEntries(
    [
      ["files", row["quota_files"]],
      ["bytes", row["quota_bytes"]],
    ].filter(([, limited]) => limited !== null),
  );

interface UsageDeps extends Pick<RuleContext, "names"> {
  readonly db: D1Database;
  readonly media: Pick<MediaPort, "usage">;
  readonly metrics: MetricsPort;
}

/** The numbers of a day are kept for two years. */
const MONTHS_KEPT = 24;
const month = z.string().check(z.regex(/^20\d\d-(0[1-9]|1[0-2])$/, "must be a month, such as 2026-11"));

/** Refuses a month without numbers. */
function refusedMonth(asked: string, nowMs: number): Problem | undefined {
  const number = (text: string): number => Number(text.slice(0, 4)) * 12 + Number(text.slice(5, 7));
  const ago = number(new Date(nowMs).toISOString()) - number(asked);
  if (ago < 0) return invalid("invalid_query_parameter", "month", `${asked} has not begun.`);
  if (ago <= MONTHS_KEPT) return undefined;
  return invalid("invalid_query_parameter", "month", `${asked} is too long ago: numbers are kept for two years.`);
}

/** A month adds the tenant's use in it, for a bill. This works even after the tenant was removed. */
export const tenantUsageRoute = ({ db, names, media, metrics }: UsageDeps): Route =>
  defineRoute({
    method: "GET",
    path: "/tenants/{id}/usage",
    summary: "Show what the tenant stores and its quota, and what it used in a month",
    operation: "readUsage",
    params,
    query: z.object({ month: z.optional(month) }),
    async handle({ params: { id }, query, nowMs, principal }) {
      const by = tenantOperator(principal, names, "see");
      if (by !== undefined && !(await holds(db, ownsTenant(id, by.organization)))) return noSuch("tenant");
      const refused = query.month === undefined ? undefined : refusedMonth(query.month, nowMs);
      if (refused !== undefined) return refused;
      const [row, stored, used] = await Promise.all([
        db.prepare(QUOTA).bind(id).first<Row>(),
        media.usage(id),
        query.month === undefined ? undefined : metrics.monthOfUse(id, query.month, nowMs),
      ]);
      if (row === null && (used === undefined || used.days.length === 0)) return noSuch("tenant");
      const quota = row === null ? {} : toQuota(row);
      return json(200, { tenant: id, ...stored, quota, ...(used === undefined ? {} : { used }) });
    },
  });
