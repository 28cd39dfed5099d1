import type { Env } from "../env.ts";
import type { Backups } from "../backup/service.ts";
import { createHealthRoutes } from "../health/service.ts";
import type { HeartbeatStore } from "../health/heartbeat-store.ts";
import type { Route } from "../http/route.ts";
import type { Media } from "../media/service.ts";
import type { Outbox } from "../oauth/subscription-events/outbox.ts";
import type { PingStub } from "../platform/storage/answering-ping.ts";
import type { ShardRoom } from "../shards/service.ts";
import type { Base } from "./base.ts";

/** The sources of the deep health check. */
interface Asked {
  readonly heartbeats: HeartbeatStore;
  readonly outbox: Outbox;
  readonly media: Media;
  readonly backups: Backups;
  readonly shards: Pick<ShardRoom, "objects">;
}

export const wireHealth = (
  env: Env,
  base: Base,
  { heartbeats, outbox, media, backups, shards }: Asked,
): readonly Route[] =>
  createHealthRoutes({
    clock: base.clock,
    isMaintained: base.config.maintenance,
    shards: base.shardsFor("platform"),
    heartbeats,
    bucket: env.MEDIA,
    objects: {
      TopicLog: pingOf(env.TOPIC_LOG),
      TopicConsumer: pingOf(env.TOPIC_CONSUMER),
      PushSubscription: pingOf(env.PUSH_SUBSCRIPTION),
      LoginAttempts: pingOf(env.LOGIN_ATTEMPTS),
      GuessCounter: pingOf(env.GUESS_COUNTER),
      MetricsCollector: pingOf(env.METRICS_COLLECTOR),
      MetricsStore: pingOf(env.METRICS_STORE),
      BackupJob: pingOf(env.BACKUP_JOB),
    },
    newestBackupMs: backups.newestMs,
    outbox: outbox.waiting,
    dueJobs: media.backlog.dueJobs,
    lastOutageMs: media.backlog.lastOutageMs,
    overdueErasures: media.backlog.overdueErasures,
    overdueObjects: shards.objects.overdue,
    queue: stateOf(env.MEDIA_JOBS),
    deadLetters: stateOf(env.MEDIA_DEAD_JOBS),
  });

/** Calls an object that exists only for this check. */
const pingOf = (namespace: { getByName(name: string): unknown }) => async (): Promise<void> => {
  try {
    await (namespace.getByName("health") as PingStub).ping();
  } catch (thrown) {
    // For minutes after a deployment, the object may run the previous release, which refuses the call. So it is alive.
    if (!String(thrown).includes("does not implement")) throw thrown;
  }
};

const stateOf = (queue: Queue) => async () => {
  const { backlogCount, oldestMessageTimestamp } = await queue.metrics();
  return { messages: backlogCount, oldestMs: oldestMessageTimestamp?.getTime() ?? null };
};
