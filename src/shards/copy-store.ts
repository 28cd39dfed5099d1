import type { DueCopy } from "./placement-store.ts";

/** SQL: the organization of all tenants in a shard, which does not have their real ones. */
const ORGANIZATION = `INSERT INTO organization (id, name, created_at) VALUES ('', '', 0) ON CONFLICT DO NOTHING`;
/** SQL: `?1`: copies, as JSON. */
const VERSIONS = `INSERT INTO tenant_copy (tenant, version)
  SELECT value ->> 'tenant', value ->> 'version' FROM json_each(?1) WHERE true
  ON CONFLICT DO UPDATE SET version = excluded.version WHERE version < excluded.version`;
/** SQL: writes each copy unless a newer version came first. The copy of a removed tenant stays, disabled. */
const TENANTS = `INSERT INTO tenant (id, organization, name, created_at, disabled, quota_files, quota_bytes)
  SELECT tenant, '', '', 0, value ->> 'disabled', value ->> 'quotaFiles', value ->> 'quotaBytes'
  FROM json_each(?1) CROSS JOIN tenant_copy ON tenant = value ->> 'tenant' AND version = value ->> 'version' WHERE true
  ON CONFLICT (id) DO UPDATE SET disabled = excluded.disabled, quota_files = excluded.quota_files,
    quota_bytes = excluded.quota_bytes`;

/** The copies of tenants in a shard. A copy has the quotas, and whether the tenant is disabled. */
export const createCopyStore = (db: D1Database) => ({
  /** Writes copies, except those of which the shard has a newer one. */
  async write(copies: readonly DueCopy[]): Promise<void> {
    const listed = JSON.stringify(copies);
    await db.batch([db.prepare(ORGANIZATION), db.prepare(VERSIONS).bind(listed), db.prepare(TENANTS).bind(listed)]);
  },
});
