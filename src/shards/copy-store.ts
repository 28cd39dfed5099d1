import type { DueCopy } from "./placement-store.ts";

/** SQL: the organization of all tenants in a shard, which does not have their real ones. */
const ORGANIZATION = `INSERT INTO organization (id, name, created_at) VALUES ('', '', 0) ON CONFLICT DO NOTHING`;
const VERSION = `INSERT INTO tenant_copy (tenant, version) VALUES (?1, ?2)
  ON CONFLICT DO UPDATE SET version = excluded.version WHERE version < excluded.version`;
/** SQL: writes the copy unless a newer version came first. The copy of a removed tenant stays, disabled. */
const TENANT = `INSERT INTO tenant (id, organization, name, created_at, disabled, quota_files, quota_bytes)
  SELECT ?1, '', '', 0, ?3, ?4, ?5 FROM tenant_copy WHERE tenant = ?1 AND version = ?2
  ON CONFLICT (id) DO UPDATE SET disabled = excluded.disabled, quota_files = excluded.quota_files,
    quota_bytes = excluded.quota_bytes`;

/** The copies of tenants in a shard. A copy has the quotas, and whether the tenant is disabled. */
export const createCopyStore = (db: D1Database) => ({
  /** Writes a copy, unless the shard has a newer one. */
  async write({ tenant, version, disabled, quotaFiles, quotaBytes }: DueCopy): Promise<void> {
    await db.batch([
      db.prepare(ORGANIZATION),
      db.prepare(VERSION).bind(tenant, version),
      db.prepare(TENANT).bind(tenant, version, disabled, quotaFiles, quotaBytes),
    ]);
  },
  /** Deletes the versions of all copies, so that the shard accepts the next copy of each tenant, even an older one. */
  forget: async (): Promise<void> => void (await db.prepare(`DELETE FROM tenant_copy`).run()),
});
