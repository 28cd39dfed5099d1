import type { Env } from "../env.ts";
import { eraseBy } from "../admin/erase-by.ts";
import { createBackups, type Backups } from "../backup/service.ts";
import type { Events } from "../events/service.ts";
import { NEWEST_MIGRATION } from "../platform/storage/schema.ts";
import type { Route } from "../http/route.ts";
import type { Metrics } from "../metrics/service.ts";
import { createRestorePointStore } from "../restore/restore-point-store.ts";
import { createRestore, type Restore } from "../restore/service.ts";
import { createRestoreShard } from "../shards/restore.ts";
import type { Moves } from "../shards/moves.ts";
import type { ShardRoom } from "../shards/service.ts";
import { keyProofs } from "../platform/secrets/seal.ts";
import type { Base } from "./base.ts";
import type { CountSealed } from "./admin.ts";

/** The services that are backed up and restored. */
interface Kept {
  readonly events: Events;
  readonly shards: ShardRoom;
  readonly moves: Moves;
  readonly metrics: Metrics;
  readonly adminRoutes: readonly Route[];
  readonly countSealed: CountSealed;
}

/** Restores a platform to a point in time. */
export function wireRestore(env: Env, base: Base, { events, shards, moves, adminRoutes }: Kept): Restore {
  const { config, dbFor } = base;
  return createRestore({
    ...base,
    db: dbFor("platform"),
    bucket: env.MEDIA,
    events: events.check,
    isMaintained: config.maintenance,
    restoreShard: createRestoreShard(
      env.SHARD_DATABASE,
      config.objectShards,
      shards.placement.exists,
      moves.movedSince,
    ),
    copyTenants: shards.copies.copyAll,
    erase: eraseBy(adminRoutes),
  });
}

/** Copies a platform to another bucket, checks the copy and restores it. */
export function wireBackups(env: Env, base: Base, kept: Kept): Backups {
  const { events, shards, moves, metrics, countSealed } = kept;
  const { config, names, audit, sealer, dbFor, shardsFor } = base;
  const restorePoints = createRestorePointStore(dbFor("platform"));
  return createBackups({
    ...base,
    shards: shardsFor("platform"),
    tenantObjects: base.objectsFor("platform"),
    listObjects: shards.objects.page,
    copyTenants: { begin: shards.copies.copyAgain, more: shards.copies.more },
    movingTenant: async () => (await moves.underWay())[0],
    media: env.MEDIA,
    bucket: env.BACKUP,
    objects: events.objects,
    metrics: metrics.objects,
    seals: {
      proofs: () => keyProofs(sealer),
      used: async () => new Set(Object.values(await countSealed(1)).flatMap((byKey) => [...byKey.keys()])),
    },
    restorePoint: {
      generation: async () => (await restorePoints.read()).generation,
      async mark({ generation, toMs, atMs, actor }) {
        const record = { atMs, requestId: generation, actor, action: "restore", subject: "restore-point" } as const;
        const reason = `to ${new Date(toMs).toISOString()}`;
        const row = audit.statement("always", { ...record, outcome: "done", reason });
        await restorePoints.mark(generation, toMs, atMs, row);
      },
    },
    job: () => env.BACKUP_JOB.getByName("backup"),
    platform: names.platform,
    migration: NEWEST_MIGRATION,
    isMaintained: config.maintenance,
  });
}
