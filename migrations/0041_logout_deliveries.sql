-- Logout tokens are delivered by the rules of push (src/platform/delivery).
-- `step`: failures that used up a step of the schedule; `named`: attempts that used up none. `dead_at`: every attempt
-- failed, and `next_at` is never. `resent_at`: the operator wished it to be sent again.
ALTER TABLE logout_notice ADD COLUMN step INTEGER NOT NULL DEFAULT 0;
ALTER TABLE logout_notice ADD COLUMN named INTEGER NOT NULL DEFAULT 0;
ALTER TABLE logout_notice ADD COLUMN dead_at INTEGER;
ALTER TABLE logout_notice ADD COLUMN resent_at INTEGER;
-- The last attempt that failed.
ALTER TABLE logout_notice ADD COLUMN last_at INTEGER;
ALTER TABLE logout_notice ADD COLUMN last_status INTEGER;
ALTER TABLE logout_notice ADD COLUMN last_error TEXT;
CREATE INDEX logout_notice_by_death ON logout_notice (dead_at) WHERE dead_at IS NOT NULL;

-- Endpoints that are not well: how long they have been silent (JSON), and until when nothing is sent.
CREATE TABLE logout_endpoint (
  client TEXT PRIMARY KEY REFERENCES client (id) ON DELETE CASCADE,
  address TEXT NOT NULL,
  health TEXT NOT NULL,
  paused_until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
