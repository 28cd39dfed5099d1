import { readConfig, type Config } from "./config.ts";
import type { Env } from "./env.ts";
import { createAuditLog, type AuditLog } from "./admin/audit/audit-log.ts";
import { createAuditCopies, type AuditCopies } from "./admin/audit/copies.ts";
import { eraseBy } from "./admin/erase-by.ts";
import { createAdminRoutes } from "./admin/service.ts";
import { createBackups, type Backups } from "./backup/service.ts";
import { createPushStore } from "./events/push/record/push-store.ts";
import type { PushPorts } from "./events/push/types.ts";
import { createGateway, type Gateway } from "./gateway/service.ts";
import { createEvents, type Events } from "./events/service.ts";
import { createHealthRoutes } from "./health/service.ts";
import { NEWEST_MIGRATION } from "./platform/storage/schema.ts";
import { createHeartbeatStore, type HeartbeatStore } from "./health/heartbeat-store.ts";
import { createLimits } from "./http/callers/limits.ts";
import { createRateLimit, unlimited } from "./http/callers/rate-limit.ts";
import type { HttpDeps } from "./http/service.ts";
import type { Route } from "./http/route.ts";
import { createMedia, type Media } from "./media/service.ts";
import { createRequestMeter } from "./metrics/requests.ts";
import { createMetering, createMetrics, type Metrics } from "./metrics/service.ts";
import { onTripOf } from "./metrics/trips.ts";
import { createOAuth, type OAuth } from "./oauth/service.ts";
import { createOutbox, type Outbox } from "./oauth/subscription-events/outbox.ts";
import { subscriptionTopics } from "./oauth/subscription-events/events.ts";
import type { PingStub } from "./platform/storage/answering-ping.ts";
import { createBuiltIn } from "./platform/model/built-in.ts";
import { systemClock, type Clock } from "./platform/runtime/clock.ts";
import { createCommonPasswords } from "./platform/secrets/common-passwords.ts";
import { guardDatabase, type AroundTrip } from "./platform/storage/database.ts";
import { createIsolate } from "./platform/copies/isolate.ts";
import { createLocationCache, macAddresses, noLocationCache, textCacheOf } from "./platform/copies/location-cache.ts";
import { createLog, type Log } from "./platform/runtime/log.ts";
import type { Meter, MeteredService } from "./platform/ports/metrics.ts";
import { createNames } from "./platform/model/names.ts";
import { systemRandom } from "./platform/runtime/random.ts";
import { shardsOf, type Shard, type Shards } from "./platform/storage/shards.ts";
import { createRestorePointStore } from "./restore/restore-point-store.ts";
import { createRestore, type Restore } from "./restore/service.ts";
import { createDirectoryOwners } from "./shards/directory-store.ts";
import { createRestoreShard } from "./shards/restore.ts";
import { createMoves, type Moves } from "./shards/moves.ts";
import { createMoveStore } from "./shards/move-store.ts";
import { createPlacementStore } from "./shards/placement-store.ts";
import { createShardRoom, type ShardRoom } from "./shards/service.ts";
import { createSealer, keyProofs } from "./platform/secrets/seal.ts";
import { nothingHere } from "./ui/pages/landing-page.ts";
import { noTracing, type Tracing } from "./platform/ports/tracing.ts";
import { traceObjects } from "./traced-env.ts";
import { createTracing } from "./tracing/tracing.ts";
import { mailBy, type SendMail } from "./platform/ports/mail.ts";
import { createMails } from "./ui/mails.ts";
import { createPages } from "./ui/pages.ts";
import type { ConsoleDeps } from "./ui/console.ts";
import type { SiteDeps } from "./ui/site.ts";
import { LANGUAGES } from "./ui/texts/languages.ts";

/** Links in mails lead to the public address; a request's own may be anybody's. */
function senderOf({ MAIL }: Env, { mailFrom, publicUrl, allowLoopback }: Config, log: Log): SendMail | undefined {
  if (MAIL === undefined || mailFrom === undefined) return undefined;
  if (publicUrl !== "" || allowLoopback) return mailBy(MAIL, mailFrom);
  log.warn("no mail is sent: MAIL_FROM needs PUBLIC_URL", {});
  return undefined;
}

export interface Deps {
  readonly http: HttpDeps;
  readonly clock: Clock;
  readonly log: Log;
  readonly meter: Meter;
  readonly oauth: OAuth;
  readonly outbox: Outbox;
  readonly adminRoutes: readonly Route[];
  readonly audit: AuditLog;
  readonly auditCopies: AuditCopies;
  readonly events: Events;
  readonly push: PushPorts;
  readonly media: Media;
  readonly shards: ShardRoom;
  readonly moves: Moves;
  readonly gateway: Gateway;
  readonly heartbeats: HeartbeatStore;
  readonly healthRoutes: readonly Route[];
  readonly metrics: Metrics;
  readonly backups: Backups;
  readonly site: SiteDeps;
  readonly console: ConsoleDeps;
  readonly restore: Restore;
  /** The mails of a local platform. */
  readonly mailbox: Fetcher | undefined;
}

let known: { readonly key: string; readonly tracing: Tracing } | undefined;

/** The spans of an isolate, for the Worker and for each of its objects. */
export function tracingOf(env: Env): Tracing {
  const key = JSON.stringify([env.OTLP_ENDPOINT, env.OTLP_HEADERS, env.TRACE_SAMPLE, env.PLATFORM, env.LOG_LEVEL]);
  if (known?.key === key) return known.tracing;
  const { otlp, traceSample, platform, logLevel } = readConfig(env as unknown as Record<string, unknown>);
  const tracing = createTracing({
    endpoint: otlp,
    sample: traceSample,
    serviceName: createNames(platform).platform,
    clock: systemClock,
    random: systemRandom,
    log: createLog(logLevel),
  });
  known = { key, tracing };
  return tracing;
}

/**
 * Wires the services: bindings and variables become their dependencies. No other file does. `waitUntil`: the runtime's,
 * for the request that is running; without it, work ends with its request.
 */
export function createDeps(env: Env, waitUntil?: (work: Promise<unknown>) => void): Deps {
  const config = readConfig(env as unknown as Record<string, unknown>);
  const names = createNames(config.platform);
  const builtIn = createBuiltIn(names);
  const clock = systemClock;
  const random = systemRandom;
  const isolate = createIsolate(clock, random, waitUntil ?? (() => undefined));
  const log = createLog(config.logLevel);
  const sealer = createSealer(config.sealKeys, random);
  const meter = createMetering({
    clock,
    random,
    log,
    collectors: env.METRICS_COLLECTOR,
    // On one machine the isolate stays, so the last counts may wait for the next answer.
    wait: waitUntil === undefined || config.allowLoopback ? undefined : (ms) => scheduler.wait(ms),
  });
  const tracing = tracingOf(env);
  const objects = traceObjects(env, tracing);
  const spanOfTrip: AroundTrip = (what, call) => {
    const text = what.replaceAll(/\s+/g, " ").trim().slice(0, 1_000);
    return tracing.child("D1", { "db.system.name": "sqlite", "db.query.text": text }, call);
  };
  const aroundTrip = tracing === noTracing ? undefined : spanOfTrip;
  const guarded = ({ number, db }: Shard, service: MeteredService) =>
    guardDatabase(db, onTripOf(meter, service, number), aroundTrip);
  const dbFor = (service: MeteredService) => guarded({ number: 0, db: env.DB }, service);
  const shardsFor = (service: MeteredService): Shards => {
    const [directory, ...others] = shardsOf(env).map((shard) => ({ ...shard, db: guarded(shard, service) }));
    return [directory!, ...others];
  };

  const { pathPrefix, publicUrl, contentUrl, authUrl, operatorSecret, previousOperatorSecret } = config;
  // Without a public address there is one isolate, which has nobody to share copies with.
  const location =
    publicUrl === "" || typeof caches === "undefined"
      ? noLocationCache
      : createLocationCache({
          cache: textCacheOf(caches.default),
          origin: publicUrl,
          sealer,
          addressOf: macAddresses(sealer),
          isolate,
          log,
        });
  const audit = createAuditLog({
    db: dbFor("platform"),
    log,
    operatorClientId: builtIn.operatorClientId,
    wait: (ms) => scheduler.wait(ms),
    // On this machine and in tests, which have no public address, a row is there when its request is done.
    ...(config.allowLoopback || publicUrl === "" ? {} : { notePauseMs: 3_000 }),
  });
  const limited = (binding: RateLimit) => (config.allowLoopback ? unlimited : createRateLimit(binding, log));
  const limits = createLimits({
    anonymous: { requests: limited(env.ADDRESS_LIMIT), content: limited(env.CONTENT_LIMIT) },
    callers: {
      small: limited(env.CALLER_LIMIT_SMALL),
      standard: limited(env.CALLER_LIMIT),
      large: limited(env.CALLER_LIMIT_LARGE),
    },
    tenants: {
      small: limited(env.TENANT_LIMIT_SMALL),
      standard: limited(env.TENANT_LIMIT),
      large: limited(env.TENANT_LIMIT_LARGE),
    },
  });
  const commonPasswords = createCommonPasswords(env.ASSETS);
  const oauth = createOAuth({
    names,
    builtIn,
    shards: shardsFor("oauth"),
    loginAttempts: objects.LOGIN_ATTEMPTS,
    guessCounters: config.allowLoopback ? undefined : objects.GUESS_COUNTER,
    clientLimit: limited(env.CLIENT_LIMIT),
    sealer,
    isolate,
    location,
    random,
    log,
    meter,
    tracing,
    audit,
    pages: createPages(pathPrefix),
    mails: createMails(),
    sendMail: senderOf(env, config, log),
    mailNotices: config.mailNotices,
    sessionIdleMs: config.sessionIdleMs,
    usesPasskeys: config.passkeys,
    uiLocales: Object.keys(LANGUAGES),
    pathPrefix,
    publicUrl,
    authUrl,
    operatorSecrets: [operatorSecret, ...(previousOperatorSecret === "" ? [] : [previousOperatorSecret])],
    allowLoopback: config.allowLoopback,
    subject: config.subject,
    passwordGrant: config.passwordGrant,
    unregisteredClients: config.unregisteredClients,
    commonPasswords,
    async findResource(path, nowMs) {
      const below = path.slice(pathPrefix.length);
      if (!path.startsWith(`${pathPrefix}/`)) return undefined;
      const own = builtIn.services.find(({ proxyPath }) => below === proxyPath || below.startsWith(`${proxyPath}/`));
      if (own !== undefined) return { ...own, path: pathPrefix + own.proxyPath, isBuiltIn: true };
      const found = await gateway.find(below, nowMs);
      if (found?.access !== "token") return undefined;
      const { name, scopes, tenant, essential, proxyPath } = found;
      return { path: pathPrefix + proxyPath, name, scopes, tenant, essential, isBuiltIn: false };
    },
    onRestored() {
      log.warn("the database was restored: copies of it are forgotten", {});
      gateway.recordsChanged();
      events.recordsChanged();
      shards.forgetPlaces();
    },
  });
  const push: PushPorts = {
    names,
    log,
    meter,
    random,
    sealer,
    store: createPushStore({ shards: shardsFor("events"), audit, names, isolate, location, log }),
    clients: oauth.access,
    tracing,
    maintenance: config.maintenance,
    allowLoopback: config.allowLoopback,
  };
  const events = createEvents({
    push,
    db: dbFor("events"),
    shards: shardsOf(env).length,
    isolate,
    location,
    topicLogs: objects.TOPIC_LOG,
    topicConsumers: objects.TOPIC_CONSUMER,
    pushSubscriptions: objects.PUSH_SUBSCRIPTION,
    retention: { ageMs: config.eventRetentionMs, maxBytes: config.eventLogMaxBytes },
    platformTopics: subscriptionTopics(names),
  });
  const outbox = createOutbox({
    names,
    builtIn,
    db: dbFor("platform"),
    clock,
    random,
    log,
    publisher: events,
    deprecatedEvents: config.deprecatedSubscriptionEvents,
  });
  const shards = createShardRoom({ shards: shardsFor("platform"), isolate, clock, log });
  const media = createMedia({
    names,
    log,
    meter,
    tracing,
    clock,
    random,
    sealer,
    audit,
    heldFrom: createRestorePointStore(dbFor("media")).heldFrom,
    shards: shardsFor("media"),
    placement: shards.placement,
    owners: createDirectoryOwners(dbFor("media")),
    bucket: env.MEDIA,
    images: env.IMAGES,
    jobs: env.MEDIA_JOBS,
    access: oauth.access,
    contentUrl,
    maxUploadBytes: config.maxUploadBytes,
    queryRowBudget: config.queryRowBudget,
    edgeCache: edgeCacheAt(contentUrl || publicUrl),
    s3: config.s3 && {
      ...config.s3,
      fetch: (request) => tracing.child(`R2 ${request.method}`, {}, () => fetch(request)),
    },
  });
  const moves = createMoves({
    shards: shardsFor("platform"),
    store: createMoveStore(dbFor("platform")),
    places: createPlacementStore(dbFor("platform")),
    mover: media.mover,
    clock,
    random,
    log,
    async isBackupRunning() {
      const job = await env.BACKUP_JOB.getByName("backup").read();
      return job !== undefined && (JSON.parse(job) as { state: string }).state === "running";
    },
  });
  const gateway = createGateway({
    names,
    builtIn,
    db: dbFor("gateway"),
    isolate,
    location,
    clock,
    random,
    log,
    meter,
    verifier: oauth.verifier,
    access: oauth.access,
    limits,
    serviceToken: oauth.serviceToken,
    issuer: oauth.issuer,
    pathPrefix,
    allowLoopback: config.allowLoopback,
    timeoutMs: config.gatewayTimeoutMs,
    tracing,
  });
  const metrics = createMetrics({
    clock,
    log,
    meter,
    collectors: env.METRICS_COLLECTOR,
    stores: env.METRICS_STORE,
    storedByTenant: media.storedByTenant,
    countStored: (tenant) => (tenant === undefined ? media.stored() : media.usage(tenant)),
  });
  const auditCopies = createAuditCopies({ db: dbFor("platform"), bucket: env.MEDIA, log });
  const adminRoutes = createAdminRoutes({
    names,
    builtIn,
    db: dbFor("admin"),
    audit,
    random,
    commonPasswords,
    allowLoopback: config.allowLoopback,
    recordsChanged() {
      oauth.recordsChanged();
      gateway.recordsChanged();
    },
    oauth,
    outbox,
    events,
    media,
    shards: {
      ...shards,
      moves,
      status: (nowMs) =>
        shards.sizes.status(
          {
            stored: media.storedIn,
            countPushSubscriptions: push.store.countIn,
            roundTrips: metrics.roundTripsByShard,
          },
          nowMs,
        ),
    },
    metrics,
    auditCopies,
    sealKeys: {
      configured: sealer.keyIds,
      counts: async (most) => ({
        ...(await oauth.countSealed(most)),
        pushSubscriptions: await push.store.countSealed(most),
      }),
    },
  });

  const restore = createRestore({
    db: dbFor("platform"),
    bucket: env.MEDIA,
    random,
    log,
    audit,
    events: events.check,
    isMaintained: config.maintenance,
    restoreShard: createRestoreShard(env.SHARD_DATABASE, config.objectShards),
    copyTenants: shards.copies.copyAll,
    erase: eraseBy(adminRoutes),
  });

  const restorePoints = createRestorePointStore(dbFor("platform"));
  const backups = createBackups({
    shards: shardsFor("platform"),
    copyTenants: shards.copies.copyAll,
    isTenantMoving: async () => (await moves.underWay()).length > 0,
    media: env.MEDIA,
    bucket: env.BACKUP,
    objects: events.objects,
    metrics: metrics.objects,
    seals: {
      proofs: () => keyProofs(sealer),
      used: async () => {
        const sealed = { ...(await oauth.countSealed(1)), pushSubscriptions: await push.store.countSealed(1) };
        return new Set(Object.values(sealed).flatMap((byKey) => [...byKey.keys()]));
      },
    },
    reindexFiles: media.reindexFiles,
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
    audit,
    clock,
    random,
    log,
  });

  const http = {
    names,
    pathPrefix,
    publicUrl,
    contentUrl,
    authUrl,
    clock,
    random,
    log,
    verifier: oauth.verifier,
    limits,
    maintenance: config.maintenance ? { operatorClientId: builtIn.operatorClientId } : undefined,
    nothingHere: (request: Request, publicBase: string) => nothingHere(request, publicBase, pathPrefix),
    meter: createRequestMeter(meter, env.ANALYTICS),
    tracing,
  };
  const heartbeats = createHeartbeatStore(dbFor("platform"));
  const healthRoutes = createHealthRoutes({
    clock,
    shards: shardsFor("platform"),
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
    outbox: outbox.waiting,
    dueJobs: media.backlog.dueJobs,
    overdueErasures: media.backlog.overdueErasures,
    queue: stateOf(env.MEDIA_JOBS),
    deadLetters: stateOf(env.MEDIA_DEAD_JOBS),
  });
  return {
    http,
    clock,
    log,
    meter,
    oauth,
    outbox,
    adminRoutes,
    audit,
    auditCopies,
    events,
    push,
    media,
    shards,
    moves,
    gateway,
    heartbeats,
    healthRoutes,
    metrics,
    backups,
    site: {
      assets: env.ASSETS,
      pathPrefix,
      hosts: [contentUrl, authUrl].filter((url) => url !== ""),
      demo: config.allowLoopback ? env.LOCAL_DEMO : undefined,
    },
    console: {
      assets: env.ASSETS,
      pathPrefix,
      platform: names.platform,
      origins: [...new Set([contentUrl, authUrl, config.s3?.endpoint ?? ""].filter((url) => url !== ""))],
    },
    restore,
    mailbox: config.allowLoopback ? env.MAILBOX : undefined,
  };
}

/** Asks an object that has no other purpose. */
const pingOf = (namespace: { getByName(name: string): unknown }) => async (): Promise<void> => {
  try {
    await (namespace.getByName("health") as PingStub).ping();
  } catch (thrown) {
    // For minutes after a deployment, an object may run the release before it, which refuses the call, and so lives.
    if (!String(thrown).includes("does not implement")) throw thrown;
  }
};

const stateOf = (queue: Queue) => async () => {
  const { backlogCount, oldestMessageTimestamp } = await queue.metrics();
  return { messages: backlogCount, oldestMs: oldestMessageTimestamp?.getTime() ?? null };
};

/** One origin for all keys of the cache, however the platform is called. Without a public address it runs locally. */
const edgeCacheAt = (origin: string) =>
  typeof caches === "undefined" ? undefined : { cache: caches.default, origin: origin || "http://localhost" };
