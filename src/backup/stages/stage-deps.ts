import type { ManifestStore } from "../bucket/manifest-store.ts";
import type { PartStore } from "../bucket/part-store.ts";
import type { FileCopies } from "../files/file-copies.ts";
import type { BackupDeps } from "../model/ports.ts";

/** The ports of a deployment that has a bucket for backups. */
export interface StageDeps extends BackupDeps {
  readonly parts: PartStore;
  readonly manifests: ManifestStore;
  readonly copies: FileCopies;
}
