import type { BytesMode, Counts, Facts } from "../model/job.ts";

/**
 * The manifest of a backup. It is written last: a backup without a manifest is not whole and does not count. The
 * manifest names the index parts by their digests, and these name all other parts by theirs.
 */
export interface Manifest extends Facts {
  readonly format: 1;
  readonly id: string;
  readonly platform: string;
  /** The newest migration that the release knew. */
  readonly migration: string;
  readonly bytes: BytesMode;
  readonly eventsSince: number | null;
  readonly finishedAt: number;
  readonly counts: Counts;
  readonly sealKeys: readonly SealKeyProof[];
}

/** Proof of a seal key: an HMAC made with it. It shows whether a deployment has the same key, and nothing else. */
interface SealKeyProof {
  readonly id: string;
  readonly proof: string;
  /** True if something in the backup is sealed with it. */
  readonly isUsed: boolean;
}

export const FORMAT = 1;
const PREFIX = "manifest/";
const keyOf = (id: string): string => `${PREFIX}${id}.json`;

export type ManifestStore = ReturnType<typeof createManifestStore>;

export function createManifestStore(bucket: R2Bucket) {
  return {
    async write(manifest: Manifest): Promise<void> {
      const httpMetadata = { contentType: "application/json" };
      await bucket.put(keyOf(manifest.id), JSON.stringify(manifest, null, 2), { httpMetadata });
    },
    async read(id: string): Promise<Manifest | undefined> {
      const object = await bucket.get(keyOf(id));
      return object === null ? undefined : object.json<Manifest>();
    },
    delete: (ids: readonly string[]): Promise<void> => bucket.delete(ids.map(keyOf)),
    /** The ids of all whole backups, the newest first. The bucket lists the oldest first, so every page is read. */
    async ids(): Promise<readonly string[]> {
      const ids: string[] = [];
      for (let cursor: string | undefined; ;) {
        const page: R2Objects = await bucket.list({ prefix: PREFIX, ...(cursor === undefined ? {} : { cursor }) });
        ids.push(...page.objects.map(({ key }) => key.slice(PREFIX.length, -".json".length)));
        if (!page.truncated) return ids.toSorted().toReversed();
        cursor = page.cursor;
      }
    },
  };
}

/** `20261123T062751123Z-` and 8 random hex digits, so that ids sort by time. */
export const backupId = (nowMs: number, random: string): string =>
  `${new Date(nowMs).toISOString().replaceAll(/[-:.]/g, "")}-${random.slice(0, 8)}`;
/** The time at which the backup began. */
export const backupTimeMs = (id: string): number =>
  Date.parse(id.replace(/^(\d{4})(\d\d)(\d\dT\d\d)(\d\d)(\d\d)(\d{3}Z)-.*$/, "$1-$2-$3:$4:$5.$6"));
export const BACKUP_ID = /^\d{8}T\d{9}Z-[0-9a-f]{8}$/;
