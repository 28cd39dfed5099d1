/** What tenants store: masters of committed files, as the owners' rows count them (triggers of the migration). */
export interface UsageStore {
  usageOf(tenant: string): Promise<Usage>;
  /**
   * What a client, by its name, has committed files of; of one tenant, if given. Rows `{kind, id}`, where the id tells of
   * tenant, visibility and number.
   */
  filesOfClient(client: string, limit: number, tenant?: string): D1PreparedStatement;
  /** The same of all clients that have files of a tenant. */
  filesOfTenant(tenant: string, limit: number): D1PreparedStatement;
}

export interface Usage {
  readonly files: number;
  readonly bytes: number;
}

/** Of the owners that live: what is deleted makes room at once. Read by index, a row for each client of the tenant. */
const sumOf = (column: "files" | "bytes", tenant: string): string =>
  `(SELECT coalesce(sum(${column}), 0) FROM owner WHERE owner.tenant = ${tenant} AND owner.erasure_id IS NULL)`;

/**
 * Whether one more file of so many bytes is more than the tenant may store (contract section 5). Takes the places of two
 * parameters of the statement that it becomes a part of. Without a quota nothing is summed up.
 */
export const overQuota = (tenant: string, sizeBytes: string): string => `EXISTS (
  SELECT 1 FROM tenant WHERE tenant.id = ${tenant} AND (
    (quota_files IS NOT NULL AND quota_files < 1 + ${sumOf("files", tenant)})
    OR (quota_bytes IS NOT NULL AND quota_bytes < ${sizeBytes} + ${sumOf("bytes", tenant)})))`;

const USAGE = `SELECT coalesce(sum(files), 0) AS files, coalesce(sum(bytes), 0) AS bytes FROM owner
  WHERE tenant = ?1 AND erasure_id IS NULL`;

const NAMED = `SELECT 'files' AS kind,
  'of the client ' || client || ' and the tenant ' || tenant || ' (' || files || ' ' || visibility || ')' AS id
  FROM owner WHERE erasure_id IS NULL AND files > 0`;
const FILES_OF_CLIENT = `${NAMED} AND client = ?1 AND (?3 IS NULL OR tenant = ?3) ORDER BY tenant, visibility LIMIT ?2`;
const FILES_OF_TENANT = `${NAMED} AND tenant = ?1 LIMIT ?2`;

export const createUsageStore = (db: D1Database): UsageStore => ({
  async usageOf(tenant) {
    const row = await db.prepare(USAGE).bind(tenant).first<Usage>();
    return row ?? { files: 0, bytes: 0 };
  },
  filesOfClient: (client, limit, tenant) => db.prepare(FILES_OF_CLIENT).bind(client, limit, tenant ?? null),
  filesOfTenant: (tenant, limit) => db.prepare(FILES_OF_TENANT).bind(tenant, limit),
});
