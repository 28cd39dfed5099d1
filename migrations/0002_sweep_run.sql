-- The heartbeat of each sweep of the cron (src/schedule.ts): one row a sweep. `error` is of the run at `failed_at`.
CREATE TABLE sweep_run (
  name TEXT PRIMARY KEY,
  tried_at INTEGER NOT NULL,
  succeeded_at INTEGER,
  failed_at INTEGER,
  error TEXT,
  duration_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
