-- The audit log, in a table whose rows are in no index: a change pays for each. Its lists walk, newest first
-- (src/admin/audit/audit-store.ts). `outcome`: empty within the transaction of a change, while `changes` has what was
-- before it. Numbers go on behind those of `audit`.
CREATE TABLE audit_entry (
  seq INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  share TEXT NOT NULL DEFAULT '',
  outcome TEXT NOT NULL,
  action TEXT NOT NULL,
  actor TEXT NOT NULL,
  subject TEXT NOT NULL,
  request_id TEXT NOT NULL,
  reason TEXT NOT NULL,
  changes TEXT NOT NULL DEFAULT '[]'
) STRICT;
-- Every 64th row leads near a time.
CREATE INDEX audit_entry_by_time ON audit_entry (at) WHERE seq % 64 = 0;
INSERT INTO audit_entry (seq, at, share, outcome, action, actor, subject, request_id, reason, changes)
  SELECT seq, at, share, outcome, action, actor, subject, request_id, reason, changes FROM audit;

-- What the release before adds while it still runs. Its own lists show what it wrote, for a day.
CREATE TRIGGER audit_is_entered AFTER INSERT ON audit BEGIN
  INSERT INTO audit_entry (seq, at, share, outcome, action, actor, subject, request_id, reason, changes)
  SELECT 1 + max(coalesce((SELECT max(seq) FROM audit_entry), 0),
      coalesce((SELECT last_seq FROM audit_copy WHERE number > 0 ORDER BY number DESC LIMIT 1), 0)),
    new.at, new.share, new.outcome, new.action, new.actor, new.subject, new.request_id, new.reason, new.changes;
END;
-- The release before copies nothing more: it does not see every row.
ALTER TABLE audit_copy ADD COLUMN of_entries INTEGER NOT NULL DEFAULT 0;
CREATE TRIGGER audit_copy_is_of_entries BEFORE INSERT ON audit_copy WHEN new.of_entries = 0 BEGIN
  SELECT RAISE(IGNORE);
END;
