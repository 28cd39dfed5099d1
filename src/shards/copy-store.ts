import type { Shard } from "../platform/storage/shards.ts";
import { isTenantObject } from "../platform/storage/tenant-objects.ts";
import type { DueCopy } from "./placement-store.ts";

/** SQL: the organization of all tenants in a shard, which does not have their real ones. */
const ORGANIZATION = `INSERT INTO organization (id, name, created_at) VALUES ('', '', 0) ON CONFLICT DO NOTHING`;
/** SQL: `?1`: copies, as JSON. `?2`: 1 in a tenant object, which takes the copy of one tenant alone. */
const VERSIONS = `INSERT INTO tenant_copy (tenant, version)
  SELECT value ->> 'tenant', value ->> 'version' FROM json_each(?1)
  WHERE ?2 = 0 OR coalesce((SELECT min(tenant) FROM tenant_copy), ?1 ->> '$[0].tenant') = value ->> 'tenant'
  ON CONFLICT DO UPDATE SET version = excluded.version WHERE version < excluded.version`;
/** SQL: writes each copy unless a newer version came first. The copy of a removed tenant stays, disabled. */
const TENANTS = `INSERT INTO tenant (id, organization, name, created_at, disabled, quota_files, quota_bytes)
  SELECT tenant, '', '', 0, value ->> 'disabled', value ->> 'quotaFiles', value ->> 'quotaBytes'
  FROM json_each(?1) CROSS JOIN tenant_copy ON tenant = value ->> 'tenant' AND version = value ->> 'version' WHERE true
  ON CONFLICT (id) DO UPDATE SET disabled = excluded.disabled, quota_files = excluded.quota_files,
    quota_bytes = excluded.quota_bytes`;

const TAKEN = `SELECT 1 FROM json_each(?1) CROSS JOIN tenant_copy ON tenant = value ->> 'tenant' LIMIT 1`;

/**
 * The copies of tenants in a shard. A copy has the quotas, and whether the tenant is disabled. In a tenant object, the
 * first copy also says whose the object is, for ever: a directory that was restored to an earlier time may give its
 * number to another tenant.
 */
export function createCopyStore({ db, number }: Shard) {
  const isOwn = Number(isTenantObject(number));
  return {
    /** Writes copies, except those of which the shard has a newer one. False: the object is another tenant's. */
    async write(copies: readonly DueCopy[]): Promise<boolean> {
      const listed = JSON.stringify(copies);
      const results = await db.batch([
        db.prepare(ORGANIZATION),
        db.prepare(VERSIONS).bind(listed, isOwn),
        db.prepare(TENANTS).bind(listed),
        db.prepare(TAKEN).bind(listed),
      ]);
      return results.at(-1)!.results.length > 0;
    },
    /**
     * Makes an object the tenant's, before its first copy. False: it is another tenant's, or, with `isNew`, any one's.
     * After a restore of the directory, even a tenant's own old object has rows of a time that was undone.
     */
    async claim(tenant: string, isNew: boolean): Promise<boolean> {
      const listed = JSON.stringify([{ tenant, version: 0 }]);
      const [used, , taken] = await db.batch([
        db.prepare(`SELECT 1 FROM tenant_copy LIMIT 1`),
        db.prepare(VERSIONS).bind(listed, isOwn),
        db.prepare(TAKEN).bind(listed),
      ]);
      return taken!.results.length > 0 && !(isNew && used!.results.length > 0);
    },
  };
}
