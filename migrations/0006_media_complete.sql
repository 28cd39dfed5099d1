-- Listing by metadata, deletion that can be proven, uploads by presigned links, usage and quota of tenants.

-- An owner is retired when all its files are deleted: `erasure_id` names the deletion, and a new owner takes its name.
-- `files` and `bytes` count its committed files (masters alone); the triggers below keep them.
ALTER TABLE owner ADD COLUMN erasure_id TEXT;
ALTER TABLE owner ADD COLUMN files INTEGER NOT NULL DEFAULT 0;
ALTER TABLE owner ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
DROP INDEX owner_by_name;
CREATE UNIQUE INDEX owner_by_name ON owner (client, tenant, visibility) WHERE erasure_id IS NULL;
CREATE INDEX owner_by_tenant ON owner (tenant) WHERE erasure_id IS NULL;
CREATE INDEX owner_retired ON owner (erasure_id) WHERE erasure_id IS NOT NULL;

-- The table made anew, so that the long texts still come last.
-- `blob_key`: where the master lies; empty: `blob/{id}`. `pinned_etag`: what a commit is about to copy from `incoming/`.
-- `removed_at`, `erasure_id`: since when and by which deletion the file is removed; `purged_at`: its bytes were deleted;
-- `late_keys`: bytes that were found after that, as JSON. `owner_id` has no foreign key: a retired owner goes before the
-- last of its removed files does, and to check that would walk over all files.
-- `attributes`: what the metadata index has of the file, as JSON: `rows`, those of the table `attribute`, and `more`,
-- digests of the pairs that found no place there. Empty for a committed file that is not indexed yet: the sweep does it.
-- `more` is there once again as a text of its own: a query searches it in each file that has it, and parses no JSON.
PRAGMA defer_foreign_keys = ON;
CREATE TABLE file_ordered (
  id TEXT PRIMARY KEY,
  owner_id INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('pending', 'committed', 'removed')),
  content_type TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  due_at INTEGER,
  committed_at INTEGER,
  size_bytes INTEGER,
  etag TEXT,
  file_name TEXT,
  commit_digest TEXT,
  blob_key TEXT,
  pinned_etag TEXT,
  removed_at INTEGER,
  erasure_id TEXT,
  purged_at INTEGER,
  late_keys TEXT,
  more TEXT GENERATED ALWAYS AS (nullif(attributes ->> '$.more', '')) STORED,
  metadata TEXT,
  attributes TEXT
) STRICT;
INSERT INTO file_ordered (id, owner_id, state, content_type, created_at, due_at, committed_at, size_bytes, etag, file_name,
  commit_digest, removed_at, metadata)
  SELECT id, owner_id, state, content_type, created_at, due_at, committed_at, size_bytes, etag, file_name, commit_digest,
    CASE WHEN state = 'removed' THEN coalesce(due_at, created_at) END, metadata FROM file;
DROP TABLE file;
ALTER TABLE file_ordered RENAME TO file;
-- The drop counted every variant as one without its file. They have it again; the transaction's end asks for that count.
PRAGMA defer_foreign_keys = OFF;
-- Each state has a sweep of its own.
CREATE INDEX file_due ON file (state, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX file_by_owner ON file (owner_id, id) WHERE state = 'committed';
CREATE INDEX file_by_erasure ON file (erasure_id, due_at) WHERE erasure_id IS NOT NULL;
CREATE INDEX file_unindexed ON file (id) WHERE attributes IS NULL AND state = 'committed';
UPDATE owner SET
  files = (SELECT count(*) FROM file WHERE file.owner_id = owner.id AND file.state = 'committed'),
  bytes = (SELECT coalesce(sum(size_bytes), 0) FROM file WHERE file.owner_id = owner.id AND file.state = 'committed');

CREATE TRIGGER file_enters AFTER UPDATE OF state ON file WHEN new.state = 'committed' AND old.state <> 'committed' BEGIN
  UPDATE owner SET files = files + 1, bytes = bytes + new.size_bytes WHERE id = new.owner_id;
END;
CREATE TRIGGER file_leaves AFTER UPDATE OF state ON file WHEN new.state <> 'committed' AND old.state = 'committed' BEGIN
  UPDATE owner SET files = files - 1, bytes = bytes - old.size_bytes WHERE id = old.owner_id;
END;

-- The metadata index: one row for each value of a key, so an array has several. Keys of the metadata start with a dot
-- (`.color`, `.a.b`), keys of our own with `#`. Numbers are numbers, booleans are `true` and `false`, a text of more than
-- 256 bytes is cut and goes on with its digest. `leads`: the row by which the file sorts under this key.
CREATE TABLE attribute (
  owner_id INTEGER NOT NULL,
  key TEXT NOT NULL,
  value ANY NOT NULL,
  file_id TEXT NOT NULL,
  leads INTEGER NOT NULL CHECK (leads IN (0, 1)),
  PRIMARY KEY (owner_id, key, value, file_id)
) STRICT, WITHOUT ROWID;

-- Which keys files have that they sort by: each file has a row `#keys` in `attribute` with the digest of its set, so that
-- the files without a key are found without a look at those with it. `keys` is a JSON array.
CREATE TABLE key_set (
  id INTEGER PRIMARY KEY,
  owner_id INTEGER NOT NULL,
  digest TEXT NOT NULL,
  keys TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX key_set_by_digest ON key_set (owner_id, digest);

-- One deletion (of a file, by query, of all) and its proof. Files go through three counts: asked for (`files`), bytes
-- deleted (`deleted_files`), and seen by a later listing to have left nothing (`verified_files`). Its id begins with its
-- time, as that of a file does. `due_at` is also when the report itself goes.
CREATE TABLE erasure (
  id TEXT PRIMARY KEY,
  client TEXT NOT NULL,
  tenant TEXT NOT NULL,
  visibility TEXT NOT NULL CHECK (visibility IN ('private', 'public')),
  kind TEXT NOT NULL CHECK (kind IN ('file', 'query', 'all')),
  requested_at INTEGER NOT NULL,
  due_at INTEGER,
  files INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  deleted_files INTEGER NOT NULL DEFAULT 0,
  deleted_bytes INTEGER NOT NULL DEFAULT 0,
  deleted_at INTEGER,
  verified_files INTEGER NOT NULL DEFAULT 0,
  verified_at INTEGER,
  late_objects INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX erasure_due ON erasure (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX erasure_by_client ON erasure (client, tenant, id);

-- What a tenant may store; empty: no limit.
ALTER TABLE tenant ADD COLUMN quota_files INTEGER;
ALTER TABLE tenant ADD COLUMN quota_bytes INTEGER;
