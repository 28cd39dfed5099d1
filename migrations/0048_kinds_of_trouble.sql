-- `trouble` instead of `troubled`: what the subscription's object found at the end of its last run. `deliveries`: dead
-- letters or events that fail. `right`: its client may not have it. NULL: nothing. The list of what needs a person reads
-- these rows and those that are disabled. Each kind has an order of its own, so that many of one kind hide no other.
DROP INDEX push_subscription_in_trouble;
ALTER TABLE push_subscription DROP COLUMN troubled;
ALTER TABLE push_subscription ADD COLUMN trouble TEXT CHECK (trouble IN ('deliveries', 'right'));
CREATE INDEX push_subscription_in_trouble ON push_subscription (trouble, id)
  WHERE trouble IS NOT NULL AND state = 'active';
CREATE INDEX push_subscription_disabled ON push_subscription (id)
  WHERE state = 'disabled' AND verification IS NOT 'pending';
