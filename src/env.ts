import type { BackupJob } from "./backup/job/backup-job.do.ts";
import type { PushSubscriptionObject } from "./events/push/push-subscription.do.ts";
import type { TopicConsumer } from "./events/consume/topic-consumer.do.ts";
import type { TopicLog } from "./events/log/topic-log.do.ts";
import type { GuessCounter } from "./oauth/sign-in/guess-counter.do.ts";
import type { MetricsCollector } from "./metrics/collector.do.ts";
import type { MetricsStore } from "./metrics/store.do.ts";
import type { LoginAttempts } from "./oauth/sign-in/login-attempts.do.ts";
import type { ShardDatabase } from "./shards/shard-database.do.ts";
import type { MediaJob } from "./media/model/job.ts";

/** The bindings of wrangler.toml and the secrets. */
export interface Env {
  readonly DB: D1Database;
  /** Optional: more shards, from `SHARD_01` on (platform/storage/shards.ts). */
  readonly SHARD_01?: D1Database;
  readonly SHARD_02?: D1Database;
  readonly SHARD_03?: D1Database;
  /** The documentation. */
  readonly ASSETS: Fetcher;
  readonly MEDIA: R2Bucket;
  /** Optional: backups. */
  readonly BACKUP?: R2Bucket;
  readonly IMAGES: ImagesBinding;
  readonly MEDIA_JOBS: Queue<MediaJob>;
  /** Only its length is read. */
  readonly MEDIA_DEAD_JOBS: Queue;
  readonly TOPIC_LOG: DurableObjectNamespace<TopicLog>;
  readonly TOPIC_CONSUMER: DurableObjectNamespace<TopicConsumer>;
  readonly PUSH_SUBSCRIPTION: DurableObjectNamespace<PushSubscriptionObject>;
  readonly ADDRESS_LIMIT: RateLimit;
  readonly CLIENT_LIMIT: RateLimit;
  readonly KEPT_LIMIT: RateLimit;
  readonly CONTENT_LIMIT: RateLimit;
  readonly CALLER_LIMIT_SMALL: RateLimit;
  readonly CALLER_LIMIT: RateLimit;
  readonly CALLER_LIMIT_LARGE: RateLimit;
  readonly TENANT_LIMIT_SMALL: RateLimit;
  readonly TENANT_LIMIT: RateLimit;
  readonly TENANT_LIMIT_LARGE: RateLimit;
  readonly LOGIN_ATTEMPTS: DurableObjectNamespace<LoginAttempts>;
  readonly GUESS_COUNTER: DurableObjectNamespace<GuessCounter>;
  readonly METRICS_COLLECTOR: DurableObjectNamespace<MetricsCollector>;
  readonly METRICS_STORE: DurableObjectNamespace<MetricsStore>;
  readonly BACKUP_JOB: DurableObjectNamespace<BackupJob>;
  /** Shards that are objects. */
  readonly SHARD_DATABASE: DurableObjectNamespace<ShardDatabase>;
  /** Set only by `npm start`: keys of its demo, as JSON. */
  readonly LOCAL_DEMO?: string;
  /** Optional: sends mails. */
  readonly MAIL?: SendEmail;
  /** Optional, locally: shows the mails that were sent. */
  readonly MAILBOX?: Fetcher;
  /** Optional: gets a point for each request. */
  readonly ANALYTICS?: AnalyticsEngineDataset;

  readonly PLATFORM: string;
  readonly PATH_PREFIX: string;
  readonly PUBLIC_URL: string;
  readonly CONTENT_URL: string;
  readonly AUTH_URL: string;
  readonly ALLOW_LOOPBACK: string;
  readonly MAIL_FROM: string;
  readonly MAIL_NOTICES: string;
  readonly SESSION_IDLE_MINUTES: string;
  readonly PASSKEYS: string;
  readonly LOG_LEVEL: string;
  readonly MAINTENANCE: string;
  readonly EVENT_RETENTION_DAYS: string;
  readonly EVENT_LOG_MAX_BYTES: string;
  readonly MAX_UPLOAD_BYTES: string;
  readonly MEDIA_QUERY_ROW_BUDGET: string;
  readonly GATEWAY_TIMEOUT_MS: string;
  readonly R2_S3_ENDPOINT: string;
  readonly R2_BUCKET: string;
  readonly DEPRECATED_SUBSCRIPTION_EVENTS: string;
  readonly OTLP_ENDPOINT: string;
  readonly TRACE_SAMPLE: string;
  readonly SUBJECT: string;
  readonly PASSWORD_GRANT: string;
  readonly PASSWORD_GRANT_WITHOUT_CLIENT: string;
  readonly UNREGISTERED_CLIENTS: string;
  readonly JURISDICTION: string;
  readonly LOCATION_HINT: string;
  readonly OBJECT_SHARDS: string;
  readonly TENANT_OBJECTS: string;

  readonly OPERATOR_CLIENT_SECRET: string;
  readonly OPERATOR_CLIENT_SECRET_PREVIOUS?: string;
  readonly SEAL_KEYS: string;
  readonly OTLP_HEADERS?: string;
  readonly R2_ACCESS_KEY_ID?: string;
  readonly R2_SECRET_ACCESS_KEY?: string;
}
