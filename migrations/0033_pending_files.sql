-- Files without a commit are counted and found by one entry of an index, where a row of sums changed twice for each and
-- `due_at` had an entry of its own. `reserved_bytes` is in it for quotas, `id` begins with the time.
CREATE INDEX file_pending ON file (reserved_for, owner_id, id, reserved_bytes) WHERE state = 'pending';

-- The sums go on for the files of the release before, which reads them. Those have no `known_places`.
DROP TRIGGER file_waits;
CREATE TRIGGER file_waits AFTER INSERT ON file
WHEN new.state = 'pending' AND new.reserved_for IS NOT NULL AND new.known_places IS NULL BEGIN
  INSERT INTO reservation (tenant, owner_id, files) VALUES (new.reserved_for, new.owner_id, 1)
    ON CONFLICT DO UPDATE SET files = files + 1;
END;
DROP TRIGGER file_reserves;
CREATE TRIGGER file_reserves AFTER UPDATE OF reserved_bytes ON file
WHEN new.state = 'pending' AND new.known_places IS NULL BEGIN
  UPDATE reservation SET bytes = bytes + coalesce(new.reserved_bytes, 0) - coalesce(old.reserved_bytes, 0)
    WHERE tenant = new.reserved_for AND owner_id = new.owner_id;
END;
DROP TRIGGER file_waits_no_more;
CREATE TRIGGER file_waits_no_more AFTER UPDATE OF state ON file
WHEN old.state = 'pending' AND new.state <> 'pending' AND old.known_places IS NULL BEGIN
  UPDATE reservation SET files = files - 1, bytes = bytes - coalesce(old.reserved_bytes, 0)
    WHERE tenant = old.reserved_for AND owner_id = old.owner_id;
END;
DROP TRIGGER file_that_waits_goes;
CREATE TRIGGER file_that_waits_goes AFTER DELETE ON file
WHEN old.state = 'pending' AND old.known_places IS NULL BEGIN
  UPDATE reservation SET files = files - 1, bytes = bytes - coalesce(old.reserved_bytes, 0)
    WHERE tenant = old.reserved_for AND owner_id = old.owner_id;
END;
