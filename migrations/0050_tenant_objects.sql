-- Tenants with an object of their own: docs/decisions/0077-a-shard-may-be-an-object.md. In the directory: `number` is the
-- shard of the object, from 240 on, and is never used again. `near`: the location where the object was made. The rest is
-- what its last sweep found, for sums over all tenants: committed files and their bytes, and the size of its database.
CREATE TABLE tenant_object (
  number INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL UNIQUE,
  near TEXT,
  files INTEGER NOT NULL DEFAULT 0,
  bytes INTEGER NOT NULL DEFAULT 0,
  database_bytes INTEGER NOT NULL DEFAULT 0,
  reported_at INTEGER NOT NULL DEFAULT 0
) STRICT;

-- In the directory: the tenant objects in which a client may have files or reports of deletions.
CREATE TABLE client_object (
  client TEXT NOT NULL,
  number INTEGER NOT NULL,
  PRIMARY KEY (client, number)
) STRICT, WITHOUT ROWID;

-- The tenant objects through which a file came here, as JSON. Each has a note about it, which goes before its last row.
ALTER TABLE moved_file ADD COLUMN objects TEXT;
