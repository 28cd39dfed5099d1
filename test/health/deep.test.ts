import { env } from "cloudflare:workers";
import { beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { backupId } from "../../src/backup/bucket/manifest-store.ts";
import { CHECK_MS, runCheck } from "../../src/health/check.ts";
import { createHeartbeatStore } from "../../src/health/heartbeat-store.ts";
import { LIMITS } from "../../src/health/limits.ts";
import { createDeadWorkStore } from "../../src/media/dead/dead-work-store.ts";
import { NEWEST_MIGRATION } from "../../src/platform/storage/schema.ts";
import { SWEEPS } from "../../src/health/sweeps.ts";
import type { Env } from "../../src/env.ts";
import { HOUR_MS, systemClock } from "../../src/platform/runtime/clock.ts";
import { aroundMethods, aroundObjects, counting } from "../support/counting.ts";
import { isolate } from "../support/isolate.ts";
import { OPERATOR } from "../support/platform/operator.ts";
import { tokenFor } from "../support/platform/tokens.ts";
import { unique } from "../support/platform/unique.ts";

const PARTS = [
  "database",
  "schema",
  "sizes",
  "shard 1",
  "shard 2",
  "shard 3",
  "bucket",
  "object TopicLog",
  "object TopicConsumer",
  "object PushSubscription",
  "object LoginAttempts",
  "object GuessCounter",
  "object MetricsCollector",
  "object MetricsStore",
  "object BackupJob",
  "backups",
  "sweeps",
  "outbox",
  "queue",
  "erasures",
  "tenant objects",
];
const heartbeats = createHeartbeatStore(env.DB);
let token: string;

interface Seen {
  readonly httpStatus: number;
  readonly status: string;
  readonly checks: readonly { name: string; status: string; facts: Record<string, any>; next: string }[];
}

async function ask(bindings: Partial<Env> = {}): Promise<Seen> {
  const answer = await isolate(bindings).fetch("/health/deep", { headers: { authorization: `Bearer ${token}` } });
  return { httpStatus: answer.status, ...(await answer.json<Omit<Seen, "httpStatus">>()) };
}
const checkOf = ({ checks }: Seen, name: string) => checks.find((check) => check.name === name)!;
const notOk = ({ checks }: Seen) => checks.filter(({ status }) => status !== "ok").map(({ name }) => name);

const allRan = async (atMs = Date.now()): Promise<void> => {
  for (const name of SWEEPS) await heartbeats.beat({ name, atMs, durationMs: 5, error: undefined });
};

beforeAll(async () => void (token = await tokenFor(OPERATOR)));
beforeEach(async () => {
  for (const table of ["sweep_run", "outbox", "erasure", "variant", "file"]) await env.DB.exec(`DELETE FROM ${table}`);
  await allRan();
});

describe("deep health", () => {
  // shows: platform/addresses/health-deep
  it("is 200 and ok with every check where everything works", async () => {
    const seen = await ask();
    expect(seen).toMatchObject({ httpStatus: 200, status: "ok" });
    expect(seen.checks.map(({ name, status, next }) => [name, status, next])).toEqual(
      PARTS.map((name) => [name, "ok", ""]),
    );
    expect(checkOf(seen, "sizes").facts).toMatchObject({ databaseBytes: expect.any(Number) });
    expect(checkOf(seen, "sizes").facts["databaseBytes"]).toBeGreaterThan(100_000);
    expect(checkOf(seen, "queue").facts).toMatchObject({ messages: expect.any(Number), deadLetters: 0, dueRows: 0 });
  });

  it("counts the rows of revocations, whose numbers are times", async () => {
    await env.DB.exec("DELETE FROM revocation");
    for (const seq of [1, HOUR_MS])
      await env.DB.prepare(
        "INSERT INTO revocation (seq, kind, key, until_ms, expires_sec) VALUES (?1, 'token', ?2, 0, unixepoch() + 60)",
      )
        .bind(seq, unique("token"))
        .run();
    expect(checkOf(await ask(), "sizes").facts).toMatchObject({ revocationRows: 2 });
  });

  it("writes one row, however often it is asked", async () => {
    await ask();
    const first = (await heartbeats.all()).find(({ name }) => name === "health");
    await ask();
    const rows = (await heartbeats.all()).filter(({ name }) => name === "health");
    expect(rows).toHaveLength(1);
    expect(rows[0]!.triedAt).toBeGreaterThanOrEqual(first!.triedAt);
  });

  it("is 503 where a part gives no answer, and says which one and what to do", async () => {
    const bucket = aroundMethods(env.MEDIA, (method, call) =>
      method === "head" ? Promise.reject(new Error("R2 is away")) : call(),
    );
    const seen = await ask({ MEDIA: bucket });
    expect(seen).toMatchObject({ httpStatus: 503, status: "fail" });
    expect(notOk(seen)).toEqual(["bucket"]);
    expect(checkOf(seen, "bucket")).toMatchObject({
      facts: { error: "R2 is away" },
      next: expect.stringMatching(/^R2 does not answer: /),
    });
  });

  it("gives up a check that does not answer, and answers", async () => {
    const real = setTimeout;
    const spy = vi
      .spyOn(globalThis, "setTimeout")
      .mockImplementation(((run: () => void, ms: number) =>
        real(run, ms === CHECK_MS ? 0 : ms)) as unknown as typeof setTimeout);
    const hanging = { name: "x", unanswered: "Do this.", run: () => new Promise<never>(() => {}) };
    expect(await runCheck(hanging, systemClock)).toMatchObject({ name: "x", status: "fail", next: "Do this." });
    spy.mockRestore();
  });

  it("names the class of objects that do not answer", async () => {
    const failing = aroundObjects(env.TOPIC_LOG, (method, call) =>
      method === "ping" ? Promise.reject(new Error("overloaded")) : call(),
    );
    const seen = await ask({ TOPIC_LOG: failing });
    expect(notOk(seen)).toEqual(["object TopicLog"]);
    expect(checkOf(seen, "object TopicLog").facts).toEqual({ error: "overloaded" });
  });

  it("takes objects of the previous release, which know no ping, for living", async () => {
    const older = aroundObjects(env.TOPIC_LOG, (method, call) =>
      method === "ping" ? (env.TOPIC_LOG.getByName("health") as any).nosuch() : call(),
    );
    expect(await ask({ TOPIC_LOG: older })).toMatchObject({ status: "ok" });
  });

  it("warns if no whole backup began in 36 hours, of a new platform only after that", async () => {
    const backups = async () => checkOf(await ask(), "backups");
    const whole = (atMs: number) => env.BACKUP!.put(`manifest/${backupId(atMs, "00112233")}.json`, "{}");
    const late = { status: "warn", next: expect.stringContaining("plat platform backup") };
    expect(await backups()).toMatchObject({ status: "ok", facts: { newest: "none" } });
    const born = (at: string) => env.DB.prepare("UPDATE d1_migrations SET applied_at = ?").bind(at).run();
    await born("2026-01-01 00:00:00");
    expect(await backups()).toMatchObject({ ...late, facts: { newest: "none" } });
    const lateMs = Date.now() - LIMITS.backupWarnMs - 1_000;
    await whole(lateMs);
    expect(await backups()).toMatchObject({ ...late, facts: { newest: new Date(lateMs).toISOString() } });
    await whole(lateMs + HOUR_MS);
    expect(await backups()).toMatchObject({ status: "ok" });
    expect((await ask({ BACKUP: undefined as never })).checks.map(({ name }) => name)).not.toContain("backups");
  });

  it("warns before the cron has run, and where a sweep is late or fails; after an hour it fails", async () => {
    await env.DB.exec("DELETE FROM sweep_run");
    const sweeps = async () => checkOf(await ask(), "sweeps");
    for (const _ of ["first", "again, with a row of the check of the database"])
      expect(await sweeps()).toMatchObject({ status: "warn", next: expect.stringContaining("has not run yet") });
    const now = Date.now();
    await allRan(now - LIMITS.sweepWarnMs - 1000);
    expect(await sweeps()).toMatchObject({
      status: "warn",
      next: expect.stringContaining("No success for ten minutes"),
    });
    await allRan(now);
    await heartbeats.beat({ name: "media", atMs: now + 1, durationMs: 3, error: "the reason" });
    const failing = await sweeps();
    expect(failing).toMatchObject({ status: "warn", next: expect.stringContaining("media: the reason") });
    expect(failing.facts["sweeps"]).toContainEqual({
      name: "media",
      ageMs: expect.any(Number),
      triedAt: now + 1,
      durationMs: 3,
      error: "the reason",
    });
    await env.DB.exec("DELETE FROM sweep_run WHERE name = 'media'");
    expect(await sweeps()).toMatchObject({ status: "fail", next: expect.stringContaining("hour of media:") });
  });

  it("is no failure in maintenance, where sweeps, queue and pushes rest", async () => {
    await env.DB.exec("DELETE FROM sweep_run");
    await allRan(Date.now() - 2 * HOUR_MS);
    expect(await ask()).toMatchObject({ httpStatus: 503, status: "fail" });
    const resting = await ask({ MAINTENANCE: "true" });
    expect(resting).toMatchObject({ httpStatus: 200, status: "warn" });
    const { status, next } = checkOf(resting, "sweeps");
    expect([status, next]).toEqual(["warn", "This rests in maintenance, and goes on when MAINTENANCE is false."]);
    expect(notOk(await ask({ MAINTENANCE: "true", MEDIA: undefined as never }))).toContain("bucket");
  });

  it("tells how long events of subscriptions wait", async () => {
    const put = (ageMs: number) =>
      env.DB.prepare("INSERT INTO outbox (id, event_type, tenant, snapshot, created_at) VALUES (?, 'x', 't', '{}', ?)")
        .bind(unique("o"), Date.now() - ageMs)
        .run();
    await put(1000);
    expect(checkOf(await ask(), "outbox")).toMatchObject({ status: "ok", facts: { rows: 1 } });
    await put(LIMITS.outboxWarnMs + 1000);
    expect(checkOf(await ask(), "outbox")).toMatchObject({ status: "warn", facts: { rows: 2 } });
    await put(LIMITS.outboxFailMs + 1000);
    expect(await ask()).toMatchObject({ httpStatus: 503, status: "fail" });
  });

  it("tells overdue deletions, of files and of whole collections", async () => {
    const file = (id: string, dueAt: number) =>
      env.DB.prepare(
        "INSERT INTO file (id, owner_id, state, content_type, created_at, due_at) VALUES (?, 1, 'removed', 'a/b', 0, ?)",
      )
        .bind(id, dueAt)
        .run();
    const now = Date.now();
    await file("due", now - 1000);
    expect(checkOf(await ask(), "erasures").status).toBe("ok");
    await file("late", now - LIMITS.erasureWarnMs - 1000);
    expect(checkOf(await ask(), "erasures")).toMatchObject({ status: "warn", facts: { rows: 1 } });
    const erasure = (id: string, requestedAt: number, dueAt: number, verifiedAt: number | null) =>
      env.DB.prepare(
        "INSERT INTO erasure (id, tenant, visibility, kind, requested_at, due_at, files, bytes, verified_at) VALUES (?, 't', 'private', 'all', ?, ?, 1, 1, ?)",
      )
        .bind(id, requestedAt, dueAt, verifiedAt)
        .run();
    await erasure("proven", now - 72 * HOUR_MS, now + 300 * HOUR_MS, now - HOUR_MS);
    await erasure("young", now - HOUR_MS, now + HOUR_MS / 4, null);
    expect(checkOf(await ask(), "erasures")).toMatchObject({ status: "warn", facts: { rows: 1 } });
    // Its messages are sent again and again, so that it is never due for long.
    await erasure("stuck", now - 72 * HOUR_MS, now + HOUR_MS / 4, null);
    expect(checkOf(await ask(), "erasures")).toMatchObject({ status: "fail", facts: { rows: 2 } });
  });

  // shows: operator/shards/own-object-overdue
  it("tells sweeps of tenants' own objects that are overdue, and the object that waits the longest", async () => {
    const due = (number: number, ageMs: number | null) =>
      env.DB.prepare("INSERT INTO tenant_object (number, tenant, due_at) VALUES (?, ?, ?)")
        .bind(number, unique("t"), ageMs === null ? null : Date.now() - ageMs)
        .run();
    const seen = async () => checkOf(await ask(), "tenant objects");
    await due(100_000, null);
    await due(100_001, LIMITS.objectWarnMs - 60_000);
    expect(await seen()).toMatchObject({ status: "ok", facts: { rows: 0, number: null } });
    await due(100_002, LIMITS.objectWarnMs + 1_000);
    expect(await seen()).toMatchObject({ status: "warn", facts: { rows: 1, number: 100_002 } });
    await due(100_003, LIMITS.objectFailMs + 1_000);
    expect(await seen()).toMatchObject({
      status: "fail",
      facts: { rows: 2, number: 100_003, oldestMs: expect.any(Number) },
      next: expect.stringContaining('"shard":100003'),
    });
    await env.DB.exec("DELETE FROM tenant_object WHERE number >= 100000");
  });

  it("tells jobs that wait, in the queue and as rows, and dead letters", async () => {
    const queueOf = (backlogCount: number, ageMs: number) =>
      ({
        metrics: async () => ({ backlogCount, backlogBytes: 1, oldestMessageTimestamp: new Date(Date.now() - ageMs) }),
      }) as unknown as Queue;
    const queue = async (bindings: Partial<Env>) => checkOf(await ask(bindings), "queue");
    expect(await queue({ MEDIA_JOBS: queueOf(5, 1000) })).toMatchObject({
      status: "ok",
      facts: { messages: 5 },
    });
    expect((await queue({ MEDIA_JOBS: queueOf(5, LIMITS.jobWarnMs + 1000) })).status).toBe("warn");
    expect((await queue({ MEDIA_JOBS: queueOf(5, LIMITS.jobFailMs + 1000) })).status).toBe("fail");
    expect(await queue({ MEDIA_DEAD_JOBS: queueOf(2, 1000) })).toMatchObject({
      status: "warn",
      facts: { deadLetters: 2 },
      next: expect.stringContaining("Dead letters"),
    });
    await env.DB.prepare(
      "INSERT INTO file (id, owner_id, state, content_type, created_at) VALUES ('f', 1, 'committed', 'a/b', 0)",
    ).run();
    await env.DB.prepare(
      "INSERT INTO variant (file_id, nonce, type, size, state, created_at, due_at) VALUES ('f', 'n', 'clip', '1x1', 'pending', 0, ?)",
    )
      .bind(Date.now() - LIMITS.jobWarnMs - 1000)
      .run();
    expect(await queue({})).toMatchObject({ status: "warn", facts: { dueRows: 1 } });
  });

  it("tells for half an hour that a variant waits for the end of an outage", async () => {
    const tells = async () => checkOf(await ask(), "queue");
    const { noteOutage } = createDeadWorkStore(env.DB);
    expect(await tells()).toMatchObject({ status: "ok", facts: { outageMs: null } });
    for (const [ageMs, status] of [
      [LIMITS.outageMs + 60_000, "ok"],
      [LIMITS.outageMs - 60_000, "warn"],
      [1_000, "warn"],
    ] as const) {
      await noteOutage(Date.now() - ageMs);
      const { facts, ...seen } = await tells();
      expect([seen.status, Math.round(facts["outageMs"] / 60_000)]).toEqual([status, Math.round(ageMs / 60_000)]);
    }
    expect((await tells()).next).toContain("Images, the bucket or a database");
    await env.DB.exec("DELETE FROM dead_work");
  });

  it("tells a database that is nearly full, and one that lacks a migration", async () => {
    const sized = (bytes: number) =>
      aroundMethods(env.DB, (method, call) => {
        const made = call();
        return method === "prepare" ? aroundMethods(made as object, withSize(bytes)) : made;
      });
    const withSize = (bytes: number) => (method: string, call: () => unknown) =>
      method === "all"
        ? (call() as Promise<D1Result>).then((result) => ({ ...result, meta: { ...result.meta, size_after: bytes } }))
        : call();
    expect(checkOf(await ask({ DB: sized(7.1e9) }), "sizes").status).toBe("warn");
    expect(checkOf(await ask({ DB: sized(9.6e9) }), "sizes").status).toBe("fail");
    await env.DB.prepare("UPDATE d1_migrations SET name = 'gone' WHERE name = ?").bind(NEWEST_MIGRATION).run();
    expect(checkOf(await ask(), "schema")).toMatchObject({
      status: "fail",
      next: "The database lacks a migration of this release: run `npm run deploy`.",
    });
    await env.DB.prepare("UPDATE d1_migrations SET name = ? WHERE name = 'gone'").bind(NEWEST_MIGRATION).run();
  });
});

describe("health for load balancers", () => {
  it("asks nothing of the database, bucket or objects", async () => {
    const { env: counted, tally } = counting(env);
    const answer = await isolate(counted).fetch("/health");
    expect([answer.status, await answer.json()]).toEqual([200, { status: "ok" }]);
    expect(tally).toMatchObject({ d1RoundTrips: 0, objectCalls: {}, r2Operations: {} });
  });
});
