import * as z from "zod/mini";
import type { Principal } from "../../http/callers/auth.ts";
import { randomId, type Random } from "../../platform/runtime/random.ts";
import { err, ok, type Result } from "../../platform/model/result.ts";
import { personOf, type TenantAccess } from "../model/access.ts";
import { isContentType, isMasterType, isMultipartForm } from "../model/content-type.ts";
import type { MediaFailure } from "../model/failure.ts";
import { newFileId, type Visibility } from "../model/file.ts";
import { LIMITS } from "../model/limits.ts";
import type { VariantName } from "../model/sizes.ts";
import type { PendingStore } from "./pending-store.ts";

export interface PendingDeps extends TenantAccess {
  readonly random: Random;
  readonly shard: number;
  readonly pending: PendingStore;
}

export const contentType = z.string().check(
  z.maxLength(LIMITS.contentTypeMaxChars),
  z.refine(isContentType, "must be a media type such as image/png"),
  z.refine(
    (type) => !isMultipartForm(type),
    "must not be multipart/form-data, which is not supported: send the file itself",
  ),
);

export interface NewPending {
  /** The tenant whose quota the file counts against until its commit. The file is created in its shard. */
  readonly tenant: string;
  readonly type: string;
  readonly variants: readonly VariantName[];
  /** The size of the file if its bytes come in the same request; they are reserved in the quota. */
  readonly bytes?: number | undefined;
}

/** Creates a pending file and returns its id. */
export async function createPending(
  deps: PendingDeps,
  visibility: Visibility,
  principal: Principal,
  { tenant, type, variants, bytes }: NewPending,
  nowMs: number,
): Promise<Result<string, MediaFailure>> {
  if (variants.length > 0 && !isMasterType(type)) return err({ kind: "unsupported_content_type", contentType: type });
  const id = newFileId(nowMs, deps.random, deps.shard);
  const creating = deps.pending.create({
    id,
    reservedFor: tenant,
    client: principal.clientName,
    person: await personOf(deps, principal, nowMs),
    visibility,
    contentType: type,
    variants: variants.map((name) => ({ ...name, nonce: randomId(deps.random) })),
    createdAt: nowMs,
    bytes,
  });
  const created = await creating.catch(async (thrown: unknown) => {
    // The answer may be lost, and nobody else knows the id: the row would hold its place and its bytes for a day.
    await deps.pending.abandon(id, nowMs).catch(() => undefined);
    throw thrown;
  });
  if (created.ok) return ok(id);
  switch (created.error) {
    case "over_quota":
      return err({ kind: "quota_full", tenant });
    case "no_space":
      return err({ kind: "upload_over_quota" });
    case "too_many_pending":
      return err({ kind: "too_many_pending", count: LIMITS.pendingFilesPerClient });
  }
}
