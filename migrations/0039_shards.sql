-- Files in several databases: docs/decisions/0076-a-tenants-files-lie-in-one-shard.md. Each shard has all tables, and
-- uses those of files, `moved_file`, `closing` and `tenant_copy`; the first one is the directory and has the rest too.

-- In the directory: the shard with the files of a tenant. A tenant without a row has the first one. A row outlives its
-- tenant: one of the same name gets the same shard, so that no isolate knows another one. `version` grows with each
-- change that the shard must know; `copied` is the version that it has.
CREATE TABLE tenant_shard (
  tenant TEXT PRIMARY KEY,
  shard INTEGER NOT NULL,
  version INTEGER NOT NULL DEFAULT 1,
  copied INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX tenant_shard_by_shard ON tenant_shard (shard);
CREATE INDEX tenant_shard_due ON tenant_shard (tenant) WHERE copied < version;

CREATE TRIGGER tenant_comes AFTER INSERT ON tenant BEGIN
  UPDATE tenant_shard SET version = version + 1 WHERE tenant = new.id;
END;
CREATE TRIGGER tenant_changes AFTER UPDATE OF disabled, quota_files, quota_bytes ON tenant
WHEN (new.disabled, new.quota_files, new.quota_bytes) IS NOT (old.disabled, old.quota_files, old.quota_bytes) BEGIN
  UPDATE tenant_shard SET version = version + 1 WHERE tenant = new.id;
END;
CREATE TRIGGER tenant_goes AFTER DELETE ON tenant BEGIN
  UPDATE tenant_shard SET version = version + 1 WHERE tenant = old.id;
END;

-- In a shard: the version of its copy of a tenant, so that an older one does not replace a newer one.
CREATE TABLE tenant_copy (
  tenant TEXT PRIMARY KEY,
  version INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- In a shard: clients (by name) and tenants that an operator is about to rename, move or delete in the directory. Until
-- that is decided, nothing of theirs is committed. `client`: the client's id.
CREATE TABLE closing (
  kind TEXT NOT NULL CHECK (kind IN ('client', 'tenant')),
  name TEXT NOT NULL,
  client TEXT,
  tenant TEXT,
  change TEXT NOT NULL,
  begun_at INTEGER NOT NULL,
  PRIMARY KEY (kind, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX closing_by_time ON closing (begun_at);
CREATE TRIGGER closing_takes_no_file BEFORE UPDATE OF state ON file
WHEN new.state = 'committed' AND old.state <> 'committed'
  AND EXISTS (SELECT 1 FROM closing CROSS JOIN owner ON owner.id = new.owner_id
    WHERE closing.name = iif(closing.kind = 'client', owner.client, owner.tenant)) BEGIN
  SELECT RAISE(ABORT, 'the owner of the file is being changed');
END;

-- In a shard: where a file is whose id names this shard, or that came here and left again. A pending file moves when it
-- is committed for a tenant of another shard. `shard` is the one where it is; `hop` counts its moves. `row`: the file as
-- it left, until it has arrived.
CREATE TABLE moved_file (
  id TEXT PRIMARY KEY,
  shard INTEGER NOT NULL,
  hop INTEGER NOT NULL,
  moved_at INTEGER NOT NULL,
  row TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX moved_file_under_way ON moved_file (moved_at) WHERE row IS NOT NULL;
