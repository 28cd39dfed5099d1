import * as z from "zod/mini";
import { conflict, noSuch, problem, type Problem } from "../http/errors/errors.ts";
import { pageOf, invalidCursor, type RowRange } from "../http/input/paging.ts";
import { defineRoute, json, jsonPage, optionalJsonBody, type Answer, type Call, type Route } from "../http/route.ts";
import { matching } from "../http/input/validate.ts";
import type { Principal } from "../http/callers/auth.ts";
import { actorOf, rowBy } from "../platform/ports/audit.ts";
import { randomId } from "../platform/runtime/random.ts";
import { BACKUP_ID, backupId, createManifestStore, type Manifest } from "./bucket/manifest-store.ts";
import type { JobKind, JobOptions, JobRecord } from "./model/job.ts";
import { LIMITS } from "./model/limits.ts";
import type { BackupDeps, MovingTenant } from "./model/ports.ts";

const params = z.object({ id: matching(BACKUP_ID, "must be the id of a backup, as the list shows it") });
const newBackup = z.strictObject({
  bytes: z._default(z.enum(["reference", "copy"]), "reference"),
  eventsSince: z._default(z.nullable(z.int().check(z.nonnegative())), null),
  keep: z._default(z.nullable(z.int().check(z.positive(), z.maximum(LIMITS.backupsKept))), null),
});
const NO_OPTIONS: JobOptions = { bytes: "reference", eventsSince: null, keep: null };

const COLLECTION = "/backups";
const JOB = "/backup-job";

type Operated = Call<unknown, unknown, unknown, Principal>;

export function backupRoutes(
  deps: BackupDeps,
  stagesOf: (kind: JobKind, options: JobOptions) => readonly string[],
): readonly Route[] {
  const { bucket, random, audit, job } = deps;
  const manifests = bucket && createManifestStore(bucket);

  /** Begins a job, and answers with its record. */
  async function begin(call: Operated, kind: JobKind, backup: string, options: JobOptions): Promise<Answer> {
    const moving = async () => (kind === "backup" ? deps.movingTenant() : undefined);
    const before = await moving();
    if (before !== undefined) return tenantMoves(before);
    const asked = { id: randomId(random), kind, actor: actorOf(call.principal), backup, options };
    const { started, job: text } = await job().start(JSON.stringify(asked));
    const record = JSON.parse(text) as JobRecord;
    if (!started)
      return conflict(
        "job_under_way",
        "",
        `A job runs: ${record.kind} of ${record.backup}. Wait for it, or cancel it.`,
      );
    // A backup and a move each store their beginning, and only then look for the other. So they never both continue.
    const meanwhile = await moving();
    if (meanwhile !== undefined) {
      await job().cancel();
      return tenantMoves(meanwhile);
    }
    note(call, kind, backup);
    return json(202, toJob(record), { location: addressOf(call.url) });
  }

  const note = (call: Operated, action: string, backup: string): void =>
    call.waitUntil(audit.note({ ...rowBy(call, action, `backups/${backup}`), known: true }));

  const tenantMoves = ({ tenant, state }: MovingTenant) =>
    conflict(
      "tenant_moves",
      "",
      `Tenant ${tenant} moves to another shard (${state}). Start the backup when the state of the move is done.` +
        (deps.isMaintained ? " Moves rest in maintenance, so end that first." : ""),
    );
  const toJob = (record: JobRecord) => {
    const { facts: _, position: __, foundInAll, ...shown } = record;
    const stages = stagesOf(record.kind, record.options);
    const stagesDone = record.state === "done" ? stages.length : Math.max(stages.indexOf(record.stage), 0);
    return { ...shown, stagesDone, stages: stages.length, findingsInAll: foundInAll };
  };

  /** The manifests, if the deployment has a bucket for backups. */
  type Bound = NonNullable<typeof manifests>;
  const bound = async (use: (store: Bound) => Promise<Answer>): Promise<Answer> =>
    manifests === undefined ? unbound() : use(manifests);
  const known = (id: string, use: (manifest: Manifest) => Promise<Answer>): Promise<Answer> =>
    bound(async (store) => {
      const manifest = await store.read(id);
      return manifest === undefined ? noSuch("backup") : use(manifest);
    });

  return [
    defineRoute({
      method: "GET",
      path: COLLECTION,
      summary: "List the backups that are whole, the newest first",
      operation: "listBackups",
      paged: true,
      handle: ({ url, paging }) =>
        bound(async (store) => {
          const [before] = paging.cursor ?? [];
          if (before !== undefined && typeof before !== "string") return invalidCursor();
          const ids = await store.ids();
          const read = async (from: string | undefined, { limit, skip }: RowRange) => {
            const some = ids.filter((id) => from === undefined || id < from).slice(skip, skip + limit);
            const found = await Promise.all(some.map((id) => store.read(id)));
            return found.filter((manifest) => manifest !== undefined);
          };
          const found = await pageOf(paging, { after: before, beginning: undefined, read, keyOf: ({ id }) => [id] });
          return jsonPage({ url, paging }, found, toBackup);
        }),
    }),
    defineRoute({
      method: "POST",
      path: COLLECTION,
      summary: "Start a backup of everything that cannot be made again",
      operation: "startBackup",
      body: optionalJsonBody(newBackup),
      handle: (call) =>
        bound(() => begin(call, "backup", backupId(call.nowMs, randomId(random)), { ...NO_OPTIONS, ...call.body })),
    }),
    defineRoute({
      method: "GET",
      path: `${COLLECTION}/{id}`,
      summary: "A backup: what it holds",
      operation: "readBackup",
      params,
      handle: ({ params: { id } }) => known(id, async (manifest) => json(200, toBackup(manifest))),
    }),
    defineRoute({
      method: "DELETE",
      path: `${COLLECTION}/{id}`,
      summary: "Remove a backup, and what no other backup needs",
      operation: "deleteBackup",
      params,
      handle: (call) => known(call.params.id, () => begin(call, "remove", call.params.id, NO_OPTIONS)),
    }),
    defineRoute({
      method: "POST",
      path: `${COLLECTION}/{id}/verify`,
      summary: "Read a backup back and check digests, counts and references",
      operation: "verifyBackup",
      params,
      handle: (call) =>
        known(call.params.id, ({ bytes }) => begin(call, "verify", call.params.id, { ...NO_OPTIONS, bytes })),
    }),
    defineRoute({
      method: "POST",
      path: `${COLLECTION}/{id}/restore`,
      summary: "Put a backup into this deployment, which must be empty and in maintenance",
      operation: "restoreBackup",
      params,
      handle: (call) =>
        known(call.params.id, async ({ bytes }) =>
          deps.isMaintained
            ? begin(call, "restore", call.params.id, { ...NO_OPTIONS, bytes })
            : conflict("maintenance_off", "", "A restore needs MAINTENANCE to be on, so that nobody else writes."),
        ),
    }),
    defineRoute({
      method: "GET",
      path: JOB,
      summary: "The running job of the backup service, or the last one, and how far it is",
      operation: "readBackupJob",
      async handle() {
        const text = await job().read();
        return text === undefined ? noSuch("job") : json(200, toJob(JSON.parse(text) as JobRecord));
      },
    }),
    defineRoute({
      method: "DELETE",
      path: JOB,
      summary: "Cancel the running job",
      operation: "cancelBackupJob",
      async handle(call) {
        const before = await job().read();
        const text = await job().cancel();
        if (text === undefined) return noSuch("job");
        const record = JSON.parse(text) as JobRecord;
        // A job that had ended before stays as it is.
        if (text !== before && record.state === "cancelled") note(call, "cancel", record.backup);
        return json(200, toJob(record));
      },
    }),
  ];
}

const unbound = (): Problem => {
  const message =
    "This deployment has no bucket for backups. Bind an R2 bucket as BACKUP (docs/operate/backup-and-restore.md).";
  return problem("business_error", message, { details: [{ type: "backup_unbound", field: "", message }] });
};

/** The address of the job, made from the address of the request that began it. */
function addressOf(url: URL): string {
  const base = url.pathname.slice(0, url.pathname.lastIndexOf(COLLECTION));
  return new URL(`${base}${JOB}`, url).href;
}

const toBackup = (manifest: Manifest) => ({
  id: manifest.id,
  startedAt: manifest.startedAt,
  finishedAt: manifest.finishedAt,
  bytes: manifest.bytes,
  eventsSince: manifest.eventsSince,
  platform: manifest.platform,
  migration: manifest.migration,
  counts: manifest.counts,
  sealKeys: manifest.sealKeys.filter(({ isUsed }) => isUsed).map((key) => key.id),
});
