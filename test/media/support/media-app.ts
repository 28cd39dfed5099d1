import { createExecutionContext, createMessageBatch, getQueueResult } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { createAuditLog } from "../../../src/admin/audit/audit-log.ts";
import type { Principal, TokenVerifier } from "../../../src/http/callers/auth.ts";
import { mountServices } from "../../../src/http/mount.ts";
import type { Service } from "../../../src/http/service.ts";
import type { LongJob, MediaJob, VariantJob } from "../../../src/media/model/job.ts";
import { createRestorePointStore } from "../../../src/restore/restore-point-store.ts";
import type { MediaDeps } from "../../../src/media/media-deps.ts";
import { createMedia, type Media } from "../../../src/media/service.ts";
import { createDirectoryOwners } from "../../../src/shards/directory-store.ts";
import { createTenantObjectStore } from "../../../src/shards/tenant-object-store.ts";
import { shardsOf, type Shards } from "../../../src/platform/storage/shards.ts";
import { noMeter } from "../../../src/platform/ports/metrics.ts";
import { noTracing } from "../../../src/platform/ports/tracing.ts";
import { fromBase64Url, fromUtf8, toBase64Url, utf8 } from "../../../src/platform/text/encoding.ts";
import { createNames } from "../../../src/platform/model/names.ts";
import { systemRandom } from "../../../src/platform/runtime/random.ts";
import { sealer } from "../../support/sealer.ts";
import { heardLog } from "../../support/runtime/heard-log.ts";
import { noteRequest } from "../../support/secrets.ts";
import { OBJECT_SWEEP } from "../../../src/platform/storage/tenant-objects.ts";
import { isOwn, testObjects, usedObjects } from "../../support/shards.ts";
import { OBJECTS, testPlacement } from "./placement.ts";
import { noRequestMeter } from "../../support/no-request-meter.ts";

/**
 * The media service alone, behind the real HTTP layer, on the real database, bucket and Images binding. Simulated are
 * the ports to OAuth (a token is its principal as JSON), the clock, and the queue, whose messages stay in `jobs` and
 * `longJobs` until the test consumes them.
 */
export interface MediaApp {
  call(path: string, init?: MediaCall): Promise<Response>;
  readonly media: Media;
  readonly clock: { nowMs: number };
  /** Messages that were sent. */
  readonly jobs: VariantJob[];
  /** Messages of long work. */
  readonly longJobs: LongJob[];
  /** `<client id> <tenant>` */
  readonly actsFor: Set<string>;
  /** The own tenants of clients, by id; a client that is not here belongs to every tenant. */
  readonly homes: Map<string, string>;
  /** Ids of clients that keep people's files apart. */
  readonly apart: Set<string>;
  /** Hands all messages to the consumer, and returns the fate of each. */
  consume(options?: { jobs?: readonly unknown[]; dead?: boolean; attempts?: number }): Promise<Settled>;
  /** Waits until the work after answers is done. */
  settle(): Promise<void>;
}

export interface Settled {
  readonly acked: number;
  readonly retried: number;
}

export interface MediaCall {
  readonly as?: Principal;
  /** An issued token, for an app with the real verifier. */
  readonly token?: string;
  readonly method?: string;
  readonly json?: unknown;
  readonly body?: BodyInit;
  readonly headers?: Record<string, string>;
}

export const ORIGIN = "https://media.test";

export const START_MS = Date.UTC(2026, 10, 20);

export function mediaApp(
  overrides: Partial<MediaDeps> & { pathPrefix?: string; verifier?: TokenVerifier; db?: D1Database } = {},
): MediaApp {
  // A test that wraps the database means one, the directory.
  const shards: Shards =
    overrides.shards ?? (overrides.db === undefined ? shardsOf(env) : [{ number: 0, db: overrides.db }]);
  const names = createNames("plat");
  const jobs: VariantJob[] = [];
  const longJobs: LongJob[] = [];
  const actsFor = new Set<string>();
  const homes = new Map<string, string>();
  const apart = new Set<string>();
  const clock = { nowMs: START_MS };
  const hasObjects = isOwn && shards.length > 1;
  const reports = createTenantObjectStore(env.DB);
  const inOrder = async (after: number, limit: number) =>
    OBJECTS.filter((number) => number > after)
      .slice(0, limit)
      .map((number) => ({ number }));
  const restores = createRestorePointStore(env.DB);
  const made = createMedia({
    names,
    log: heardLog,
    meter: noMeter,
    tracing: noTracing,
    clock: { nowMs: () => clock.nowMs },
    random: systemRandom,
    sealer,
    audit: createAuditLog({ db: env.DB, log: heardLog, operatorClientId: "plat.operator", wait: async () => {} }),
    heldFrom: restores.heldFrom,
    lastRestoreAt: restores.lastRestoreAt,
    shards,
    objects: hasObjects ? testObjects : undefined,
    objectReports: hasObjects ? { ...reports, page: inOrder } : reports,
    placement:
      shards.length === 1
        ? { shardOf: async () => 0, exists: async (shard) => shard === 0, forget() {} }
        : testPlacement,
    owners: createDirectoryOwners(env.DB),
    bucket: env.MEDIA,
    images: env.IMAGES,
    jobs: keepingQueue(jobs, longJobs),
    access: {
      servesOthers: async (clientId) => [...actsFor].some((entry) => entry.startsWith(`${clientId} `)),
      mayActFor: async ({ clientId }, tenant) => actsFor.has(`${clientId} ${tenant}`),
      listsScope: async () => false,
      tenantUses: async () => true,
      belongsTo: async (clientId, tenant) => (homes.get(clientId) ?? tenant) === tenant,
      keepsUsersApart: async (clientId) => apart.has(clientId),
      isLive: async () => true,
    },
    contentUrl: "",
    maxUploadBytes: 100 * 1024 * 1024,
    queryRowBudget: 100_000,
    edgeCache: { cache: caches.default, origin: ORIGIN },
    s3: undefined,
    ...overrides,
  });
  const objects = overrides.objects ?? (hasObjects ? testObjects : undefined);
  /** A sweep of the cron, and the sweeps that the alarms of tenant objects ask for. */
  const media: Media = {
    ...made,
    async sweep(nowMs) {
      await made.sweep(nowMs);
      if (objects === undefined) return;
      const messages = [...usedObjects].map((shard) => ({
        id: String(shard),
        timestamp: new Date(nowMs),
        attempts: 1,
        body: { ...OBJECT_SWEEP, shard },
      }));
      const batch = createMessageBatch("plinth-media-jobs", messages);
      const before = clock.nowMs;
      clock.nowMs = nowMs;
      await made.consume(batch, () => {});
      clock.nowMs = before;
    },
  };
  const services: readonly Service[] = [
    { name: "media", base: "/media/v2", routes: media.routes, crossOrigin: true },
    { name: "media", base: "/media/v2", routes: media.contentRoutes, crossOrigin: true, host: "content" },
  ];
  const app = mountServices(services, {
    names,
    pathPrefix: overrides.pathPrefix ?? "",
    publicUrl: "",
    contentUrl: overrides.contentUrl ?? "",
    authUrl: "",
    limits: { anonymous: async () => undefined, caller: async () => undefined },
    meter: noRequestMeter,
    tracing: noTracing,
    clock: { nowMs: () => clock.nowMs },
    random: systemRandom,
    log: heardLog,
    verifier: overrides.verifier ?? {
      proofs: { check: () => Promise.reject(new Error("no token here is bound")) },
      begin: () => {},
      verify: async (token) => ({ ok: true, value: principalOf(token) }),
    },
  });
  const pending = new Set<Promise<unknown>>();
  return {
    media,
    clock,
    jobs,
    longJobs,
    actsFor,
    homes,
    apart,
    async call(path, init = {}) {
      const headers = new Headers(init.headers);
      let body = init.body;
      if (init.as !== undefined) headers.set("authorization", `Bearer ${tokenOf(init.as)}`);
      if (init.token !== undefined) headers.set("authorization", `Bearer ${init.token}`);
      if (init.json !== undefined) {
        headers.set("content-type", "application/json");
        body = JSON.stringify(init.json);
      }
      const context = createExecutionContext();
      context.waitUntil = (work) => {
        pending.add(Promise.resolve(work).finally(() => pending.delete(work)));
      };
      const method = init.method ?? (body === undefined ? "GET" : "POST");
      const url = new URL(path, ORIGIN);
      noteRequest(url.href, headers, undefined);
      return app.fetch(new Request(url, { method, headers, body }), env, context);
    },
    async settle() {
      await Promise.all(pending);
    },
    async consume(options = {}) {
      await Promise.all(pending);
      const bodies = options.jobs ?? [...jobs.splice(0), ...longJobs.splice(0)];
      const queue = `plinth-media-jobs${options.dead === true ? "-dead" : ""}`;
      const timestamp = new Date(clock.nowMs);
      const messages = bodies.map((body, index) => ({
        id: String(index),
        timestamp,
        attempts: options.attempts ?? 1,
        body,
      }));
      const batch = createMessageBatch(queue, messages);
      await media.consume(batch, () => {});
      const result = await getQueueResult(batch, createExecutionContext());
      return { acked: result.explicitAcks.length, retried: result.retryMessages.length };
    },
  };
}

const keepingQueue = (jobs: VariantJob[], longJobs: LongJob[]): Queue<MediaJob> =>
  ({
    async sendBatch(messages: readonly { body: MediaJob }[]) {
      for (const { body } of messages)
        if ("nonce" in body) jobs.push(body);
        else longJobs.push(body);
    },
  }) as unknown as Queue<MediaJob>;

const tokenOf = (caller: Principal): string => toBase64Url(utf8(JSON.stringify(caller)));

const principalOf = (token: string): Principal =>
  JSON.parse(fromUtf8(fromBase64Url(token) ?? new Uint8Array(0)) ?? "") as Principal;
