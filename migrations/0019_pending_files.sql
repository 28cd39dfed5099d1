-- Files that wait for their commit count against the quota of the tenant whose token made them, and against a number for
-- their client. `reserved_for` is that tenant; `reserved_bytes` what their upload takes, where the tenant's bytes are
-- limited. The triggers keep the sums, so that no state change forgets them. What waited before this counts for nothing:
-- it is gone within a day.
ALTER TABLE file ADD COLUMN reserved_for TEXT;
ALTER TABLE file ADD COLUMN reserved_bytes INTEGER;

CREATE TABLE reservation (
  tenant TEXT NOT NULL,
  owner_id INTEGER NOT NULL,
  files INTEGER NOT NULL DEFAULT 0,
  bytes INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant, owner_id)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER file_waits AFTER INSERT ON file WHEN new.state = 'pending' AND new.reserved_for IS NOT NULL BEGIN
  INSERT INTO reservation (tenant, owner_id, files) VALUES (new.reserved_for, new.owner_id, 1)
    ON CONFLICT DO UPDATE SET files = files + 1;
END;
CREATE TRIGGER file_reserves AFTER UPDATE OF reserved_bytes ON file WHEN new.state = 'pending' BEGIN
  UPDATE reservation SET bytes = bytes + coalesce(new.reserved_bytes, 0) - coalesce(old.reserved_bytes, 0)
    WHERE tenant = new.reserved_for AND owner_id = new.owner_id;
END;
CREATE TRIGGER file_waits_no_more AFTER UPDATE OF state ON file WHEN old.state = 'pending' AND new.state <> 'pending' BEGIN
  UPDATE reservation SET files = files - 1, bytes = bytes - coalesce(old.reserved_bytes, 0)
    WHERE tenant = old.reserved_for AND owner_id = old.owner_id;
END;
CREATE TRIGGER file_that_waits_goes AFTER DELETE ON file WHEN old.state = 'pending' BEGIN
  UPDATE reservation SET files = files - 1, bytes = bytes - coalesce(old.reserved_bytes, 0)
    WHERE tenant = old.reserved_for AND owner_id = old.owner_id;
END;
