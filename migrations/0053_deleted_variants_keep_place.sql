-- src/media/lanes/lane-store.ts. A variant that is deleted while its message is in the queue keeps its place in the
-- lane until then. So the index has those too, and a removed file takes only those that wait out of their lane. A release
-- without lanes leaves the lane of the variants that it ends, so the index names the states.
DROP INDEX variant_lane;
CREATE INDEX variant_lane ON variant (lane, waits, created_at)
  WHERE lane IS NOT NULL AND state IN ('pending', 'removed');

DROP TRIGGER variant_leaves_lane;
CREATE TRIGGER variant_leaves_lane AFTER UPDATE OF state ON file WHEN new.state = 'removed' BEGIN
  UPDATE variant SET lane = NULL, waits = 0 WHERE file_id = new.id AND waits = 1;
END;
