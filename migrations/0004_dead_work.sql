-- Long work of the media queue that failed in every attempt of a message (src/media/dead/dead-work-store.ts).
CREATE TABLE dead_work (
  work TEXT NOT NULL,
  id TEXT NOT NULL,
  failures INTEGER NOT NULL,
  failed_at INTEGER NOT NULL,
  next_at INTEGER NOT NULL,
  PRIMARY KEY (work, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX dead_work_by_time ON dead_work (failed_at);
