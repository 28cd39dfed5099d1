-- The last restore of the database (src/restore/service.ts): one row.
CREATE TABLE restore_point (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  -- A random value that changes with each restore. Isolates begin anew when they read another one.
  generation TEXT NOT NULL,
  -- The database was restored to this time; the operator said so at `marked_at`.
  restored_to INTEGER,
  marked_at INTEGER,
  -- 1: repairs delete no object of the bucket that is younger than `restored_to`.
  held INTEGER NOT NULL DEFAULT 0,
  -- How far erasures were replayed: an object of the bucket that is a copy of the audit log, and its lines that are done.
  replayed_name TEXT NOT NULL DEFAULT '',
  replayed_lines INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO restore_point (id, generation) VALUES (1, '');
