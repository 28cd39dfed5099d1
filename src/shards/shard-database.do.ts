import { RestorableObject } from "../platform/storage/restorable-object.do.ts";
import { appliedMigrations, applyMigrations, executeAll } from "../platform/storage/object-execute.ts";
import type {
  Migration,
  ObjectAnswer,
  ObjectDatabase,
  SentStatement,
  WakingObject,
} from "../platform/storage/object-protocol.ts";
import { OBJECT_SWEEP } from "../platform/storage/tenant-objects.ts";
import { HOUR_MS, systemClock } from "../platform/runtime/clock.ts";
import { createLog, describeError } from "../platform/runtime/log.ts";
import type { ObjectSchema } from "../platform/storage/object-schema.ts";
import { createTenantObjectStore } from "./tenant-object-store.ts";

interface Env {
  readonly DB: D1Database;
  readonly MEDIA_JOBS: Queue<typeof OBJECT_SWEEP & { readonly shard: number }>;
}

/**
 * Our choices: a change has its sweep after `afterMs`, as by the cron. If an alarm comes within `againMs` anyway, that
 * one suffices. Until a sweep ends, the alarm comes again.
 */
export const WAKE = { afterMs: 300_000, againMs: HOUR_MS } as const;

/** The key of a tenant object's number. An object does not know its name when its alarm runs. */
const NUMBER = "number";

/**
 * A shard that is a Durable Object with SQLite instead of a D1 database. It has no table of its own: its callers send
 * statements and migrations (platform/storage/object-protocol.ts). Each call runs in one transaction without
 * interruption, and is answered when its writes are stored.
 *
 * A tenant object also has an alarm, so that nobody must look for its work:
 *
 *   no alarm ── rows change: in the same transaction ──▶ alarm in five minutes ──▶ a job to sweep it is sent
 *      ▲                                                     ▲                            │ the alarm comes again in an
 *      └────────────── nothing will be due ◀── rest ──▶ something will be due             ▼ hour: the job may be lost
 *
 * A change brings a late alarm forward: something may be due long after the change must be swept. The directory notes
 * that a sweep is due before its job is sent. Deep health then reports jobs that are lost, and sweeps that never end.
 */
export class ShardDatabase extends RestorableObject<Env> implements Local<ObjectDatabase & WakingObject> {
  /** Migrations that this instance has seen as applied. */
  #applied: ReadonlySet<string> = new Set();
  /** The time of the alarm; Infinity: there is none. Undefined: it is not known. */
  #alarmAt: number | undefined;

  async execute(newest: string, statements: readonly SentStatement[], wakes?: number): Promise<ObjectAnswer> {
    if (!this.#applied.has(newest)) this.#applied = appliedMigrations(this.ctx.storage.sql);
    if (!this.#applied.has(newest)) return { kind: "older" };
    // Before the statements, so that nothing awaits between their transaction and the alarm.
    if (wakes !== undefined) this.#alarmAt ??= (await this.ctx.storage.getAlarm()) ?? Infinity;
    const answer = executeAll(this.#storage, statements);
    const nowMs = systemClock.nowMs();
    if (wakes !== undefined && !this.#wakesAround(nowMs) && hasChanges(answer)) {
      this.ctx.storage.kv.put(NUMBER, wakes);
      this.#setAlarm(nowMs + WAKE.afterMs);
    }
    return answer;
  }

  migrate(migrations: readonly Migration[]): string | undefined {
    return applyMigrations(this.#storage, migrations);
  }

  /** Reads and sets the alarm without a pause, so that a change comes before both or after both. */
  rest(dueSql: string): void {
    const [row] = this.ctx.storage.sql.exec<{ dueAt: number | null }>(dueSql).toArray();
    const dueAt = row?.dueAt ?? null;
    if (dueAt !== null) return this.#setAlarm(Math.max(dueAt, systemClock.nowMs() + WAKE.afterMs));
    this.#alarmAt = Infinity;
    void this.ctx.storage.deleteAlarm();
  }

  /** Never throws, since the runtime gives up an alarm that fails some times. */
  override async alarm(): Promise<void> {
    this.#alarmAt = Infinity;
    const shard = this.ctx.storage.kv.get<number>(NUMBER);
    if (shard === undefined) return;
    const nowMs = systemClock.nowMs();
    // Before the job, whose sweep sets it anew.
    this.#setAlarm(nowMs + WAKE.againMs);
    const failed = (event: string) => (thrown: unknown) => {
      createLog("error").error(event, { shard, error: describeError(thrown) });
      this.#setAlarm(systemClock.nowMs() + WAKE.afterMs);
    };
    await createTenantObjectStore(this.env.DB).due(shard, nowMs).catch(failed("due sweep of an object not noted"));
    await this.env.MEDIA_JOBS.send({ ...OBJECT_SWEEP, shard }).catch(failed("sweep of an object not sent"));
  }

  /** False without an alarm, and with one that is late: it comes much later, or it was due and never came. */
  #wakesAround(nowMs: number): boolean {
    const { againMs, afterMs } = WAKE;
    return this.#alarmAt! <= nowMs + againMs && this.#alarmAt! >= nowMs - afterMs;
  }

  #setAlarm(atMs: number): void {
    this.#alarmAt = atMs;
    void this.ctx.storage.setAlarm(atMs);
  }

  get #storage() {
    const { storage } = this.ctx;
    return { sql: storage.sql, transactionSync: <T>(work: () => T): T => storage.transactionSync(work) };
  }
}

const hasChanges = (answer: ObjectAnswer): boolean =>
  answer.kind === "done" && answer.results.some(({ changes }) => changes > 0);

/** The object implements some of these methods synchronously; its callers get promises. */
type Local<T> = {
  [Name in keyof T]: T[Name] extends (...args: infer Args) => Promise<infer Answer>
    ? (...args: Args) => Answer | Promise<Answer>
    : never;
};

/** The version never changes: migrations change the tables, and each release works with the migrations of the next. */
export const SHARD_SCHEMA: ObjectSchema = { object: "ShardDatabase", table: "d1_migrations", version: 1 };
