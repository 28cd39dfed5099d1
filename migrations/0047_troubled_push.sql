-- `troubled`: at the end of its last run, the subscription's object had dead letters or events that fail, or no right. The
-- list of what needs a person reads these rows and those that are disabled.
ALTER TABLE push_subscription ADD COLUMN troubled INTEGER NOT NULL DEFAULT 0 CHECK (troubled IN (0, 1));
CREATE INDEX push_subscription_in_trouble ON push_subscription (id)
  WHERE troubled = 1 OR (state = 'disabled' AND verification IS NOT 'pending');
