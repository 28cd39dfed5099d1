-- What a change changed, as JSON: [{field, from?, to?, added?, removed?}]. Empty where the row is about no fields.
ALTER TABLE audit ADD COLUMN changes TEXT NOT NULL DEFAULT '[]';
-- Whose noise may push the row out of the log (src/admin/audit.ts); empty for rows of an older version.
ALTER TABLE audit ADD COLUMN share TEXT NOT NULL DEFAULT '';
CREATE INDEX audit_by_share ON audit (share, at);

-- What a change is about to change, and what became of it, within its transaction alone: outside of one this is empty.
CREATE TABLE audit_state (
  moment TEXT PRIMARY KEY CHECK (moment IN ('before', 'after')),
  fields TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Copies of the log in the bucket, each with the hash of its last line. `written_at` is absent until the object is there.
CREATE TABLE audit_copy (
  number INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  first_seq INTEGER NOT NULL,
  last_seq INTEGER NOT NULL,
  rows INTEGER NOT NULL,
  previous TEXT NOT NULL,
  head TEXT NOT NULL,
  planned_at INTEGER NOT NULL,
  written_at INTEGER
) STRICT;
