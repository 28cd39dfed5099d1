import { judge, type Check } from "./check.ts";
import type { Heartbeat, HeartbeatStore } from "./heartbeat-store.ts";
import { LIMITS } from "./limits.ts";
import { SWEEPS } from "./sweeps.ts";

/** Waiting rows: their number, or a lower bound of it, and the time of the oldest one. */
interface Waiting {
  readonly rows: number;
  readonly sinceMs: number | null;
}

interface QueueState {
  readonly messages: number;
  readonly oldestMs: number | null;
}

export interface WorkCheckDeps {
  /** Then the cron, the queue and pushes rest, so whatever waits is no fault. */
  readonly isMaintained: boolean;
  readonly heartbeats: HeartbeatStore;
  readonly outbox: () => Promise<Waiting>;
  /** Jobs whose message counts as lost, and that no sweep sent again. */
  readonly dueJobs: (nowMs: number) => Promise<Waiting>;
  /** The last time that a variant began to wait, because what it needs did not work. Null: not lately. */
  readonly lastOutageMs: () => Promise<number | null>;
  readonly overdueErasures: (dueBeforeMs: number, nowMs: number) => Promise<Waiting>;
  /** Sweeps of tenant objects. `number`: the object that has waited the longest. */
  readonly overdueObjects: (dueBeforeMs: number) => Promise<Waiting & { readonly number: number | null }>;
  readonly queue: () => Promise<QueueState>;
  readonly deadLetters: () => Promise<QueueState>;
}

/** Checks of work in the background: sweeps, outbox, queue, deletions, tenant objects. */
export function workChecks(deps: WorkCheckDeps): readonly Check[] {
  const sweeps: Check = {
    name: "sweeps",
    unanswered: "The heartbeats of the cron cannot be read.",
    async run(nowMs) {
      const known = new Map((await deps.heartbeats.all()).map((row) => [row.name, row]));
      const rows = SWEEPS.map((name) => sweepRow(name, known.get(name), nowMs));
      const named = (which: readonly { name: string }[]): string => which.map(({ name }) => name).join(", ");
      const late = rows.filter(({ ageMs }) => ageMs === null || ageMs > LIMITS.sweepFailMs);
      const failing = rows.filter(({ error }) => error !== null);
      const old = rows.filter(({ ageMs }) => ageMs !== null && ageMs > LIMITS.sweepWarnMs);
      const why = failing.map(({ name, error }) => `${name}: ${error}`).join("; ");
      // The check of the database writes a row of its own, which is none of the cron's.
      const noneYet = rows.every(({ triedAt }) => triedAt === null);
      const hasRun = "runs every five minutes: see its events at Cloudflare and the log";
      return judge(
        { sweeps: rows },
        ["warn", noneYet, "The cron has not run yet: it does within five minutes of a deployment."],
        ["fail", late.length > 0, `No success for an hour of ${named(late)}: the cron ${hasRun}.`],
        ["warn", failing.length > 0, `Sweeps fail (${why}): the log says more under "sweep failed".`],
        ["warn", old.length > 0, `No success for ten minutes of ${named(old)}: the cron ${hasRun}.`],
      );
    },
  };
  const outbox: Check = {
    name: "outbox",
    unanswered: "The outbox cannot be read.",
    async run(nowMs) {
      const { rows, ageMs } = aged(await deps.outbox(), nowMs);
      const next = 'Events of subscriptions wait to be published: the log says why under "event not published".';
      return judge(
        { rows, oldestMs: ageMs },
        ["fail", ageMs > LIMITS.outboxFailMs, next],
        ["warn", ageMs > LIMITS.outboxWarnMs, next],
      );
    },
  };
  const queue: Check = {
    name: "queue",
    unanswered: "The queue does not say how long it is: see its metrics at Cloudflare.",
    async run(nowMs) {
      const [jobs, dead, due, outageAt] = await Promise.all([
        deps.queue(),
        deps.deadLetters(),
        deps.dueJobs(nowMs),
        deps.lastOutageMs(),
      ]);
      const outageMs = outageAt === null ? null : Math.max(nowMs - outageAt, 0);
      const oldestMs = jobs.oldestMs === null ? 0 : Math.max(nowMs - jobs.oldestMs, 0);
      const { rows, ageMs } = aged(due, nowMs);
      const waitMs = Math.max(oldestMs, ageMs);
      const slow = "Jobs for files wait long: look for failures in the log, and at the queue's consumers.";
      return judge(
        { messages: jobs.messages, oldestMs, dueRows: rows, dueMs: ageMs, deadLetters: dead.messages, outageMs },
        ["fail", waitMs > LIMITS.jobFailMs, slow],
        [
          "warn",
          outageMs !== null && outageMs < LIMITS.outageMs,
          'Variants wait for Images, the bucket or a database: the log says why under "a variant waits".',
        ],
        ["warn", dead.messages > 0, 'Dead letters wait: the log says why under "gave up a variant".'],
        ["warn", waitMs > LIMITS.jobWarnMs, slow],
      );
    },
  };
  const erasures: Check = {
    name: "erasures",
    unanswered: "Deletions cannot be read.",
    async run(nowMs) {
      const { rows, ageMs } = aged(await deps.overdueErasures(nowMs - LIMITS.erasureWarnMs, nowMs), nowMs);
      const next = 'Deletions are overdue: look for "could not sweep a page" in the log, and at the bucket.';
      return judge(
        { rows, oldestMs: ageMs },
        ["fail", rows > 0 && ageMs > LIMITS.erasureFailMs, next],
        ["warn", rows > 0, next],
      );
    },
  };
  const objects: Check = {
    name: "tenant objects",
    unanswered: "The list of tenants' own objects cannot be read.",
    async run(nowMs) {
      const { number, ...waiting } = await deps.overdueObjects(nowMs - LIMITS.objectWarnMs);
      const { rows, ageMs } = aged(waiting, nowMs);
      const next = `Sweeps of objects are overdue: look for "media job failed" with "shard":${number} in the log.`;
      return judge(
        { rows, oldestMs: ageMs, number },
        ["fail", ageMs > LIMITS.objectFailMs, next],
        ["warn", rows > 0, next],
      );
    },
  };
  const checks = [sweeps, outbox, queue, erasures, objects];
  return deps.isMaintained ? checks.map(resting) : checks;
}

const resting = (check: Check): Check => ({
  ...check,
  async run(nowMs) {
    const verdict = await check.run(nowMs);
    if (verdict.status === "ok") return verdict;
    return { ...verdict, status: "warn", next: "This rests in maintenance, and goes on when MAINTENANCE is false." };
  },
});

const aged = ({ rows, sinceMs }: Waiting, nowMs: number) => ({
  rows,
  ageMs: sinceMs === null ? 0 : Math.max(nowMs - sinceMs, 0),
});

/** `ageMs`: since the last success; null: there was none. `error`: of the last run; null: it succeeded. */
function sweepRow(name: string, row: Heartbeat | undefined, nowMs: number) {
  const succeededAt = row?.succeededAt ?? null;
  const isFailing = row !== undefined && row.failedAt !== null && row.failedAt > (succeededAt ?? 0);
  return {
    name,
    ageMs: succeededAt === null ? null : Math.max(nowMs - succeededAt, 0),
    triedAt: row?.triedAt ?? null,
    durationMs: row?.durationMs ?? null,
    error: isFailing ? (row.error ?? "") : null,
  };
}
