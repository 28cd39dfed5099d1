/** A sweep's last run, last success and last failure. */
export interface Heartbeat {
  readonly name: string;
  readonly triedAt: number;
  readonly succeededAt: number | null;
  readonly failedAt: number | null;
  /** The failure of `failedAt`. */
  readonly error: string | null;
  readonly durationMs: number;
}

export interface SweepRun {
  readonly name: string;
  readonly atMs: number;
  readonly durationMs: number;
  /** Undefined: it succeeded. */
  readonly error: string | undefined;
}

/** Runs may overlap, so an older run that ends later does not overwrite a newer one. */
const BEAT = `
  INSERT INTO sweep_run (name, tried_at, duration_ms, succeeded_at, failed_at, error)
  VALUES (?1, ?2, ?3, iif(?4 IS NULL, ?2, NULL), iif(?4 IS NULL, NULL, ?2), ?4)
  ON CONFLICT (name) DO UPDATE SET
    tried_at = max(tried_at, excluded.tried_at),
    duration_ms = iif(excluded.tried_at < tried_at, duration_ms, excluded.duration_ms),
    succeeded_at = coalesce(max(succeeded_at, excluded.succeeded_at), succeeded_at, excluded.succeeded_at),
    failed_at = coalesce(max(failed_at, excluded.failed_at), failed_at, excluded.failed_at),
    error = iif(excluded.failed_at IS NULL OR excluded.failed_at < failed_at, error, excluded.error)`;
const ALL = `
  SELECT name, tried_at AS triedAt, succeeded_at AS succeededAt, failed_at AS failedAt, error, duration_ms AS durationMs
  FROM sweep_run WHERE name > '' LIMIT 100`;

/** Heartbeats of the cron's sweeps, a row each. */
export function createHeartbeatStore(db: D1Database) {
  return {
    beat: async ({ name, atMs, durationMs, error }: SweepRun): Promise<void> =>
      void (await db
        .prepare(BEAT)
        .bind(name, atMs, durationMs, error ?? null)
        .run()),
    all: async (): Promise<readonly Heartbeat[]> => (await db.prepare(ALL).all<Heartbeat>()).results,
  };
}

export type HeartbeatStore = ReturnType<typeof createHeartbeatStore>;
