-- The operator's comparison of R2 with these tables. Who writes what, and when: the comment of src/media/consistency/run.ts.

-- One run. `step` counts its steps: each step writes under the condition that no other one was faster. `position` is the
-- last key of `stage` that was compared, `repaired_through` the last finding that was repaired. `due_at`: when a run
-- that is under way is taken for stalled; empty once it is not under way.
CREATE TABLE consistency_run (
  id TEXT PRIMARY KEY,
  state TEXT NOT NULL CHECK (state IN ('running', 'done', 'repairing', 'repaired')),
  started_at INTEGER NOT NULL,
  finished_at INTEGER,
  repair_started_at INTEGER,
  repaired_at INTEGER,
  due_at INTEGER,
  step INTEGER NOT NULL DEFAULT 0,
  stage TEXT NOT NULL CHECK (stage IN ('files', 'variants', 'incoming')),
  position TEXT NOT NULL DEFAULT '',
  repaired_through INTEGER NOT NULL DEFAULT 0,
  repair_actor TEXT NOT NULL DEFAULT '',
  repair_request_id TEXT NOT NULL DEFAULT '',
  checked_files INTEGER NOT NULL DEFAULT 0,
  checked_variants INTEGER NOT NULL DEFAULT 0,
  checked_objects INTEGER NOT NULL DEFAULT 0,
  found_orphan_object INTEGER NOT NULL DEFAULT 0,
  found_missing_bytes INTEGER NOT NULL DEFAULT 0,
  found_missing_variant INTEGER NOT NULL DEFAULT 0,
  found_size_differs INTEGER NOT NULL DEFAULT 0,
  found_etag_differs INTEGER NOT NULL DEFAULT 0,
  kept_findings INTEGER NOT NULL DEFAULT 0,
  repaired_orphan_object INTEGER NOT NULL DEFAULT 0,
  repaired_missing_bytes INTEGER NOT NULL DEFAULT 0,
  repaired_missing_variant INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX consistency_run_due ON consistency_run (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX consistency_run_by_time ON consistency_run (started_at, id);

-- The first findings of a run, in the order in which they were found. `key`: a place in R2. Of an object without an
-- owner nothing else is known. `outcome`: what the repair did; empty before it, and for what is never repaired.
CREATE TABLE consistency_finding (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  run_id TEXT NOT NULL REFERENCES consistency_run (id) ON DELETE CASCADE,
  kind TEXT NOT NULL
    CHECK (kind IN ('orphan_object', 'missing_bytes', 'missing_variant', 'size_differs', 'etag_differs')),
  key TEXT NOT NULL,
  outcome TEXT CHECK (outcome IN ('repaired', 'obsolete')),
  file_id TEXT,
  nonce TEXT,
  client TEXT,
  tenant TEXT,
  row_bytes INTEGER,
  row_etag TEXT,
  object_bytes INTEGER,
  object_etag TEXT
) STRICT;
CREATE INDEX consistency_finding_by_run ON consistency_finding (run_id);
