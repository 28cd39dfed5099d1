import { readConfig } from "./config.ts";
import type { Env } from "./env.ts";
import type { AuditLog } from "./admin/audit/audit-log.ts";
import { createAuditCopies, type AuditCopies } from "./admin/audit/copies.ts";
import type { Backups } from "./backup/service.ts";
import type { PushPorts } from "./events/push/types.ts";
import type { Gateway } from "./gateway/service.ts";
import type { Events } from "./events/service.ts";
import { createHeartbeatStore, type HeartbeatStore } from "./health/heartbeat-store.ts";
import type { HttpDeps } from "./http/service.ts";
import type { Route } from "./http/route.ts";
import type { Media } from "./media/service.ts";
import { createMetrics, type Metrics } from "./metrics/service.ts";
import type { OAuth } from "./oauth/service.ts";
import type { Outbox } from "./oauth/subscription-events/outbox.ts";
import { systemClock, type Clock } from "./platform/runtime/clock.ts";
import { createLog, type Log } from "./platform/runtime/log.ts";
import type { Meter } from "./platform/ports/metrics.ts";
import { createNames } from "./platform/model/names.ts";
import { systemRandom } from "./platform/runtime/random.ts";
import type { Restore } from "./restore/service.ts";
import type { Moves } from "./shards/moves.ts";
import { createShardRoom, type ShardRoom } from "./shards/service.ts";
import type { Tracing } from "./platform/ports/tracing.ts";
import { createTracing } from "./tracing/tracing.ts";
import type { ConsoleDeps } from "./ui/console.ts";
import type { SiteDeps } from "./ui/site.ts";
import { createBase } from "./wiring/base.ts";
import { wireAdmin, type CountSealed } from "./wiring/admin.ts";
import { wireBackups, wireRestore } from "./wiring/backup.ts";
import { wireEvents } from "./wiring/events.ts";
import { wireGateway } from "./wiring/gateway.ts";
import { wireHealth } from "./wiring/health.ts";
import { wireConsole, wireHttp, wireSite } from "./wiring/http.ts";
import { wireMedia } from "./wiring/media.ts";
import { wireMoves } from "./wiring/moves.ts";
import { wireOAuth } from "./wiring/oauth.ts";
import type { WaitUntil } from "./platform/runtime/wait-until.ts";

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

/** The tracing of an isolate, for the Worker and for each of its objects. */
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
 * Wires the services: turns bindings and variables into their dependencies, each in its file of `wiring/`. `waitUntil`
 * is the runtime's, for the request that is running; without it, work ends with its request.
 */
export function createDeps(env: Env, waitUntil?: WaitUntil): Deps {
  const base = createBase(env, tracingOf(env), waitUntil);
  const { clock, log, meter, audit, config, dbFor } = base;
  const oauth = wireOAuth(env, base, () => ({ gateway, events, shards }));
  const { push, events, outbox } = wireEvents(env, base, oauth.access);
  const shards = createShardRoom({
    ...base,
    shards: base.shardsFor("platform"),
    objects: base.objectsFor("platform"),
  });
  const media = wireMedia(env, base, oauth.access, shards);
  const moves = wireMoves(env.BACKUP_JOB, base, { media, shards });
  const gateway = wireGateway(base, oauth);
  const metrics = createMetrics({
    clock,
    isolate: base.isolate,
    log,
    meter,
    collectors: env.METRICS_COLLECTOR,
    stores: env.METRICS_STORE,
    storedByTenant: media.storedByTenant,
    countStored: (tenant) => (tenant === undefined ? media.stored() : media.usage(tenant)),
  });
  const auditCopies = createAuditCopies({ db: dbFor("platform"), bucket: env.MEDIA, log });
  const countSealed: CountSealed = async (most) => ({
    ...(await oauth.countSealed(most)),
    pushSubscriptions: await push.store.countSealed(most),
  });
  const operated = { oauth, gateway, outbox, events, push, media, shards, moves, metrics, auditCopies, countSealed };
  const adminRoutes = wireAdmin(base, operated);
  const kept = { events, shards, moves, metrics, adminRoutes, countSealed };
  const heartbeats = createHeartbeatStore(dbFor("platform"));
  const backups = wireBackups(env, base, kept);
  return {
    http: wireHttp(env, base, oauth.verifier),
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
    healthRoutes: wireHealth(env, base, { heartbeats, outbox, media, backups, shards }),
    metrics,
    backups,
    site: wireSite(env, base),
    console: wireConsole(env, base),
    restore: wireRestore(env, base, kept),
    mailbox: config.allowLoopback ? env.MAILBOX : undefined,
  };
}
