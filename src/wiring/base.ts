import { readConfig } from "../config.ts";
import type { Env } from "../env.ts";
import { createAuditLog } from "../admin/audit/audit-log.ts";
import { createLimits } from "../http/callers/limits.ts";
import { createRateLimit, unlimited } from "../http/callers/rate-limit.ts";
import { createMetering } from "../metrics/service.ts";
import { onTripOf } from "../metrics/trips.ts";
import { createBuiltIn } from "../platform/model/built-in.ts";
import { systemClock } from "../platform/runtime/clock.ts";
import { createCommonPasswords } from "../platform/secrets/common-passwords.ts";
import { guardDatabase, type AroundTrip } from "../platform/storage/database.ts";
import { createIsolate } from "../platform/copies/isolate.ts";
import { createLocationCache, macAddresses, noLocationCache, textCacheOf } from "../platform/copies/location-cache.ts";
import { createLog } from "../platform/runtime/log.ts";
import type { MeteredService } from "../platform/ports/metrics.ts";
import { createNames } from "../platform/model/names.ts";
import { systemRandom } from "../platform/runtime/random.ts";
import { shardsOf, type Shard, type Shards } from "../platform/storage/shards.ts";
import { tenantObjects } from "../platform/storage/tenant-objects.ts";
import type { OwnObjects } from "../shards/service.ts";
import { createSealer } from "../platform/secrets/seal.ts";
import { noTracing, type Tracing } from "../platform/ports/tracing.ts";
import { traceObjects } from "../traced-env.ts";
import type { WaitUntil } from "../platform/runtime/wait-until.ts";

/**
 * The dependencies that all services share: configuration, clock, random numbers, log, sealer, cached copies, meter,
 * spans, limits, the audit log, and databases that count and trace their round trips.
 */
export type Base = ReturnType<typeof createBase>;

/** `waitUntil` is the runtime's, for the current request. Without it, background work ends with its request. */
export function createBase(env: Env, tracing: Tracing, waitUntil?: WaitUntil) {
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
    // A local isolate stays alive, so the last counts may wait for the next answer.
    wait: waitUntil === undefined || config.allowLoopback ? undefined : (ms) => scheduler.wait(ms),
  });
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
  /** The tenant objects of a platform that has them. */
  const objectsFor = (service: MeteredService): OwnObjects | undefined => {
    const setting = config.tenantObjects;
    if (setting === undefined) return undefined;
    const all = tenantObjects(env.SHARD_DATABASE);
    const at = (number: number): Shard => ({ number, db: guarded(all.at(number), service) });
    return { ...all, at, setting };
  };

  const { publicUrl } = config;
  // Without a public address there is only one isolate, and nobody to share copies with.
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
    // On a local platform and in tests, a reader expects the row as soon as the request is done.
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
  return {
    config,
    names,
    builtIn,
    clock,
    random,
    isolate,
    log,
    sealer,
    meter,
    tracing,
    /** The bindings, with spans around the calls of objects. */
    objects,
    dbFor,
    shardsFor,
    objectsFor,
    location,
    audit,
    limited,
    limits,
    commonPasswords: createCommonPasswords(env.ASSETS),
  };
}
