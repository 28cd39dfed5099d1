-- Files and their variants. Who writes what, and under which condition: the comment of src/media/service.ts.
-- Times: `_at` in milliseconds since 1970. `due_at` is when the sweep has to look at a row; empty: never.

-- Whose a file is. `tenant` is the empty text until the commit names one. Every index over the files of somebody is
-- led by `id`, so that all of them can change hands by one write here. An id is never given twice.
CREATE TABLE owner (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  client TEXT NOT NULL,
  tenant TEXT NOT NULL,
  visibility TEXT NOT NULL CHECK (visibility IN ('private', 'public'))
) STRICT;
CREATE UNIQUE INDEX owner_by_name ON owner (client, tenant, visibility);

-- `etag` and `size_bytes` are what the commit found in R2 and do not change after it. `commit_digest` tells a repeated
-- commit from another one. `metadata` is the text that the client sent; it comes last, so that reading the other
-- columns does not read it.
CREATE TABLE file (
  id TEXT PRIMARY KEY,
  owner_id INTEGER NOT NULL REFERENCES owner (id),
  state TEXT NOT NULL CHECK (state IN ('pending', 'committed', 'removed')),
  content_type TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  due_at INTEGER,
  committed_at INTEGER,
  size_bytes INTEGER,
  etag TEXT,
  file_name TEXT,
  commit_digest TEXT,
  metadata TEXT
) STRICT;
CREATE INDEX file_due ON file (due_at) WHERE due_at IS NOT NULL;

-- `nonce` names one making of a variant: it stands here, in the queue's message and in the key of the bytes. At most
-- one making of a (file, type, size) lives; a removed one stays until its bytes are gone.
CREATE TABLE variant (
  file_id TEXT NOT NULL REFERENCES file (id),
  nonce TEXT NOT NULL,
  type TEXT NOT NULL CHECK (type IN ('clip', 'crop')),
  size TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('declared', 'pending', 'ready', 'failed', 'removed')),
  created_at INTEGER NOT NULL,
  due_at INTEGER,
  content_type TEXT,
  width INTEGER,
  height INTEGER,
  size_bytes INTEGER,
  etag TEXT,
  reason TEXT,
  PRIMARY KEY (file_id, nonce)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX variant_by_size ON variant (file_id, type, size) WHERE state <> 'removed';
CREATE INDEX variant_due ON variant (due_at) WHERE due_at IS NOT NULL;
