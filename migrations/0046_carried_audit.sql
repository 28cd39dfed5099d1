-- Rows of the audit log about changes in a shard, on their way to the log: written in the transaction of the change. In the
-- directory: the ids of those that arrived, without a row, for a day, so that none arrives twice. Ids begin with the time.
CREATE TABLE carried_audit (
  id TEXT PRIMARY KEY,
  at INTEGER NOT NULL,
  row TEXT
) STRICT, WITHOUT ROWID;
