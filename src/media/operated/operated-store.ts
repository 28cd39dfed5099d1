import type { Visibility } from "../model/file.ts";

/** Look-ups across all clients, for operators. */
export type OperatedStore = ReturnType<typeof createOperatedStore>;

export interface FileOwner {
  readonly tenant: string;
  /** The client's name. */
  readonly client: string;
  readonly visibility: Visibility;
}

/** The number of a client's files in a tenant, and their bytes. */
export interface StoredFiles {
  readonly client: string;
  readonly visibility: Visibility;
  readonly files: number;
  readonly bytes: number;
}

export interface WaitingVariants {
  readonly waiting: number;
  /** True if there may be more, because the count reads only the first pending variants of the shard. */
  readonly more: boolean;
}

/** Our choice: a tenant has few clients, and nobody needs the exact size of a backlog of thousands. */
const OPERATED_LIMITS = { owners: 200, waiting: 5_000 } as const;

const OPERATED_SQL = {
  ownerOf: `SELECT iif(owner.tenant = '', file.reserved_for, owner.tenant) AS tenant, owner.client, owner.visibility
    FROM file JOIN owner ON owner.id = file.owner_id
    WHERE file.id = ?1 AND file.state <> 'removed' AND owner.erasure_id IS NULL`,
  requesterOf: `SELECT erasure.tenant, requester.client, erasure.visibility
    FROM erasure JOIN requester ON requester.id = erasure.requester_id WHERE erasure.id = ?1`,
  owners: `SELECT client, visibility, files, bytes FROM owner
    WHERE tenant = ?1 AND erasure_id IS NULL ORDER BY client, visibility LIMIT ${OPERATED_LIMITS.owners}`,
  waiting: `SELECT count(*) AS looked, coalesce(sum(EXISTS (SELECT 1 FROM file JOIN owner ON owner.id = file.owner_id
      WHERE file.id = due.file_id AND owner.client = ?1 AND owner.tenant = ?2 AND owner.visibility = ?3
      AND owner.erasure_id IS NULL)), 0) AS waiting
    FROM (SELECT file_id FROM variant WHERE due_at IS NOT NULL AND state = 'pending' LIMIT ${OPERATED_LIMITS.waiting})
      AS due`,
} as const;

export function createOperatedStore(db: D1Database) {
  return {
    async ownerOf(fileId: string): Promise<FileOwner | undefined> {
      return (await db.prepare(OPERATED_SQL.ownerOf).bind(fileId).first<FileOwner>()) ?? undefined;
    },

    async requesterOf(erasureId: string): Promise<FileOwner | undefined> {
      return (await db.prepare(OPERATED_SQL.requesterOf).bind(erasureId).first<FileOwner>()) ?? undefined;
    },

    async owners(tenant: string): Promise<readonly StoredFiles[]> {
      return (await db.prepare(OPERATED_SQL.owners).bind(tenant).all<StoredFiles>()).results;
    },

    async waiting({ client, tenant, visibility }: FileOwner): Promise<WaitingVariants> {
      const counting = db.prepare(OPERATED_SQL.waiting).bind(client, tenant, visibility);
      const { looked, waiting } = (await counting.first<{ looked: number; waiting: number }>())!;
      return { waiting, more: looked === OPERATED_LIMITS.waiting };
    },
  };
}
