-- src/media/lanes/lane-store.ts. `lane`: the tenant of a pending variant whose message is counted; NULL: not counted.
-- `waits`: 1 until its message is sent.
ALTER TABLE variant ADD COLUMN lane TEXT;
ALTER TABLE variant ADD COLUMN waits INTEGER NOT NULL DEFAULT 0;
CREATE INDEX variant_lane ON variant (lane, waits, created_at) WHERE state = 'pending' AND lane IS NOT NULL;

-- The variants of a removed file are not made, so they take no place from others.
CREATE TRIGGER variant_leaves_lane AFTER UPDATE OF state ON file WHEN new.state = 'removed' BEGIN
  UPDATE variant SET lane = NULL, waits = 0 WHERE file_id = new.id AND lane IS NOT NULL;
END;
