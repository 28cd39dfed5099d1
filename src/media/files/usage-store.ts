/**
 * What tenants store: masters of committed files, as the owners' rows count them, and what waits for its commit, as the
 * reservations do (triggers of the migrations).
 */
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
  /** Of files that wait for their commit: how many, and what their uploads take where bytes are limited. */
  readonly pending: { readonly files: number; readonly bytes: number };
}

type Column = "files" | "bytes";

/** Of the owners that live: what is deleted makes room at once. Read by index, a row for each client of the tenant. */
const sumOf = (column: Column, tenant: string): string =>
  `(SELECT coalesce(sum(${column}), 0) FROM owner WHERE owner.tenant = ${tenant} AND owner.erasure_id IS NULL)`;

/** What waits for its commit with a reservation of the tenant. */
const waitingOf = (column: Column, tenant: string): string =>
  `(SELECT coalesce(sum(${column}), 0) FROM reservation WHERE reservation.tenant = ${tenant})`;

/**
 * Whether one more file of so many bytes is more than the tenant may store (contract section 5). Takes the places of
 * parameters of the statement that it becomes a part of. Without a quota nothing is summed up. A file that has a
 * reservation of this very tenant takes its own place; one of another tenant takes none that others reserved.
 */
export const overQuota = (tenant: string, sizeBytes: string, reservedFor: string): string => {
  const stored = (column: Column): string =>
    `${sumOf(column, tenant)} + iif(${reservedFor} IS ${tenant}, 0, ${waitingOf(column, tenant)})`;
  return `EXISTS (
  SELECT 1 FROM tenant WHERE tenant.id = ${tenant} AND (
    (quota_files IS NOT NULL AND quota_files < 1 + ${stored("files")})
    OR (quota_bytes IS NOT NULL AND quota_bytes < ${sizeBytes} + ${stored("bytes")})))`;
};

/** Whether the tenant may not begin one more file: what is stored and what waits fill its quota of files. */
export const noPlaceLeft = (tenant: string): string => `EXISTS (
  SELECT 1 FROM tenant WHERE tenant.id = ${tenant} AND quota_files IS NOT NULL
  AND quota_files < 1 + ${sumOf("files", tenant)} + ${waitingOf("files", tenant)})`;

/** The bytes that the tenant may store still beside what is stored and what waits; for one with a quota of bytes. */
export const bytesLeft = (tenant: string): string =>
  `tenant.quota_bytes - ${sumOf("bytes", tenant)} - ${waitingOf("bytes", tenant)}`;

const USAGE = `SELECT ${sumOf("files", "?1")} AS files, ${sumOf("bytes", "?1")} AS bytes,
  ${waitingOf("files", "?1")} AS waiting_files, ${waitingOf("bytes", "?1")} AS waiting_bytes`;

const NAMED = `SELECT 'files' AS kind,
  'of the client ' || client || ' and the tenant ' || tenant || ' (' || files || ' ' || visibility || ')' AS id
  FROM owner WHERE erasure_id IS NULL AND files > 0`;
const FILES_OF_CLIENT = `${NAMED} AND client = ?1 AND (?3 IS NULL OR tenant = ?3) ORDER BY tenant, visibility LIMIT ?2`;
const FILES_OF_TENANT = `${NAMED} AND tenant = ?1 LIMIT ?2`;

export const createUsageStore = (db: D1Database): UsageStore => ({
  async usageOf(tenant) {
    const row = (await db.prepare(USAGE).bind(tenant).first<Record<string, number>>()) ?? {};
    const pending = { files: row["waiting_files"] ?? 0, bytes: row["waiting_bytes"] ?? 0 };
    return { files: row["files"] ?? 0, bytes: row["bytes"] ?? 0, pending };
  },
  filesOfClient: (client, limit, tenant) => db.prepare(FILES_OF_CLIENT).bind(client, limit, tenant ?? null),
  filesOfTenant: (tenant, limit) => db.prepare(FILES_OF_TENANT).bind(tenant, limit),
});
