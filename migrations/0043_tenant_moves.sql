-- A tenant moves to another shard while it works: docs/decisions/0081-a-tenant-moves-while-it-works.md.

-- In the directory: the latest move of each tenant. `state`: src/shards/moves.ts. `at_owner`, `at_file`: how far it is
-- copied. `turn` grows with each run, so that a run that was overtaken writes nothing.
CREATE TABLE tenant_move (
  tenant TEXT PRIMARY KEY,
  move TEXT NOT NULL,
  from_shard INTEGER NOT NULL,
  to_shard INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('copying', 'switching', 'opening', 'cleaning', 'done')),
  turn INTEGER NOT NULL DEFAULT 0,
  at_owner INTEGER NOT NULL DEFAULT 0,
  at_file TEXT NOT NULL DEFAULT '',
  files INTEGER NOT NULL DEFAULT 0,
  begun_at INTEGER NOT NULL,
  due_at INTEGER,
  done_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX tenant_move_due ON tenant_move (due_at) WHERE due_at IS NOT NULL;
CREATE TRIGGER tenant_that_moves_stays BEFORE DELETE ON tenant
WHEN EXISTS (SELECT 1 FROM tenant_move WHERE tenant = old.id AND state NOT IN ('cleaning', 'done')) BEGIN
  SELECT RAISE(ABORT, 'the tenant moves to another shard');
END;

-- In a shard: tenants that leave it (`leaving`: changes are noted; `closed`: nothing changes) or come (`coming`: nobody
-- sees their files; `arrived`: nothing changes yet). Empty, unless a tenant moves.
CREATE TABLE moving_tenant (
  tenant TEXT PRIMARY KEY,
  move TEXT NOT NULL,
  turn INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('leaving', 'closed', 'coming', 'arrived'))
) STRICT, WITHOUT ROWID;
-- In a shard: tenants that left it; where tenants went that did; where a tenant was before, whose reports stay there.
CREATE TABLE departed_tenant (
  tenant TEXT PRIMARY KEY,
  shard INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE departed_to (
  shard INTEGER PRIMARY KEY
) STRICT;
CREATE TABLE past_place (
  tenant TEXT NOT NULL,
  shard INTEGER NOT NULL,
  PRIMARY KEY (tenant, shard)
) STRICT, WITHOUT ROWID;
-- In a shard: the latest move that ended here, so that a call of it that comes late begins nothing.
CREATE TABLE ended_move (
  tenant TEXT PRIMARY KEY,
  move TEXT NOT NULL
) STRICT, WITHOUT ROWID;
-- In a shard: files of leaving tenants that changed since they were copied.
CREATE TABLE moving_change (
  tenant TEXT NOT NULL,
  file_id TEXT NOT NULL,
  version INTEGER NOT NULL,
  PRIMARY KEY (tenant, file_id)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER move_notes_file AFTER UPDATE OF state, metadata, attributes, shared_in, blob_key ON file
WHEN new.state <> 'pending' AND EXISTS (SELECT 1 FROM moving_tenant CROSS JOIN owner ON owner.id = new.owner_id
  WHERE moving_tenant.tenant = owner.tenant AND moving_tenant.state = 'leaving') BEGIN
  INSERT INTO moving_change (tenant, file_id, version)
    SELECT tenant, new.id, 1 FROM owner WHERE id = new.owner_id
    ON CONFLICT DO UPDATE SET version = version + 1;
END;
CREATE TRIGGER move_notes_variant AFTER INSERT ON variant
WHEN EXISTS (SELECT 1 FROM moving_tenant WHERE state = 'leaving') BEGIN
  INSERT INTO moving_change (tenant, file_id, version)
    SELECT owner.tenant, file.id, 1 FROM file JOIN owner ON owner.id = file.owner_id
      JOIN moving_tenant ON moving_tenant.tenant = owner.tenant AND moving_tenant.state = 'leaving'
    WHERE file.id = new.file_id
    ON CONFLICT DO UPDATE SET version = version + 1;
END;
CREATE TRIGGER move_notes_changed_variant AFTER UPDATE OF state, nonce ON variant
WHEN EXISTS (SELECT 1 FROM moving_tenant WHERE state = 'leaving') BEGIN
  INSERT INTO moving_change (tenant, file_id, version)
    SELECT owner.tenant, file.id, 1 FROM file JOIN owner ON owner.id = file.owner_id
      JOIN moving_tenant ON moving_tenant.tenant = owner.tenant AND moving_tenant.state = 'leaving'
    WHERE file.id = new.file_id
    ON CONFLICT DO UPDATE SET version = version + 1;
END;
CREATE TRIGGER move_notes_deleted_variant AFTER DELETE ON variant
WHEN EXISTS (SELECT 1 FROM moving_tenant WHERE state = 'leaving') BEGIN
  INSERT INTO moving_change (tenant, file_id, version)
    SELECT owner.tenant, file.id, 1 FROM file JOIN owner ON owner.id = file.owner_id
      JOIN moving_tenant ON moving_tenant.tenant = owner.tenant AND moving_tenant.state = 'leaving'
    WHERE file.id = old.file_id
    ON CONFLICT DO UPDATE SET version = version + 1;
END;

-- Nothing of a tenant changes while its place does, and nothing of it is made where it is not.
CREATE TRIGGER move_holds_owner BEFORE INSERT ON owner
WHEN new.erasure_id IS NULL AND (EXISTS (SELECT 1 FROM departed_tenant WHERE tenant = new.tenant)
  OR EXISTS (SELECT 1 FROM moving_tenant WHERE tenant = new.tenant AND state <> 'leaving')) BEGIN
  SELECT RAISE(ABORT, 'the tenant moves to another shard');
END;
CREATE TRIGGER move_holds_deletion BEFORE INSERT ON erasure
WHEN EXISTS (SELECT 1 FROM departed_tenant WHERE tenant = new.tenant)
  OR EXISTS (SELECT 1 FROM moving_tenant WHERE tenant = new.tenant AND state <> 'leaving') BEGIN
  SELECT RAISE(ABORT, 'the tenant moves to another shard');
END;
CREATE TRIGGER move_holds_file BEFORE UPDATE OF state, metadata, attributes, shared_in, blob_key ON file
WHEN EXISTS (SELECT 1 FROM moving_tenant CROSS JOIN owner ON owner.id IN (old.owner_id, new.owner_id)
  WHERE moving_tenant.tenant = owner.tenant AND owner.erasure_id IS NULL
    AND moving_tenant.state IN ('closed', 'arrived')) BEGIN
  SELECT RAISE(ABORT, 'the tenant moves to another shard');
END;
CREATE TRIGGER move_holds_variant BEFORE INSERT ON variant
WHEN EXISTS (SELECT 1 FROM moving_tenant WHERE state IN ('closed', 'arrived')) AND EXISTS (
  SELECT 1 FROM file JOIN owner ON owner.id = file.owner_id AND owner.erasure_id IS NULL
    JOIN moving_tenant ON moving_tenant.tenant = owner.tenant AND moving_tenant.state IN ('closed', 'arrived')
  WHERE file.id = new.file_id) BEGIN
  SELECT RAISE(ABORT, 'the tenant moves to another shard');
END;
CREATE TRIGGER move_holds_changed_variant BEFORE UPDATE OF state, nonce ON variant
WHEN EXISTS (SELECT 1 FROM moving_tenant WHERE state IN ('closed', 'arrived')) AND EXISTS (
  SELECT 1 FROM file JOIN owner ON owner.id = file.owner_id AND owner.erasure_id IS NULL
    JOIN moving_tenant ON moving_tenant.tenant = owner.tenant AND moving_tenant.state IN ('closed', 'arrived')
  WHERE file.id = new.file_id) BEGIN
  SELECT RAISE(ABORT, 'the tenant moves to another shard');
END;
