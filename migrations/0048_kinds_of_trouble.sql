-- `trouble` instead of `troubled`: what the subscription's object found at the end of its last run. `deliveries`: dead
-- letters or events that fail. `right`: its client may not have it. NULL: nothing. The list of what needs a person reads
-- these rows and those that are disabled. Each kind has an order of its own, so that many of one kind hide no other.
-- The table is made anew because 0047 had two forms: the first has `troubled`, the second these columns and indexes.
CREATE TABLE push_subscription_anew (
  id TEXT PRIMARY KEY,
  topic TEXT NOT NULL,
  incarnation TEXT NOT NULL,
  client TEXT NOT NULL,
  as_owner INTEGER NOT NULL CHECK (as_owner IN (0, 1)),
  name TEXT NOT NULL,
  endpoint TEXT NOT NULL,
  username TEXT NOT NULL,
  credentials TEXT NOT NULL,
  seal_key TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('active', 'disabled')),
  version INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  made_in_tenant TEXT,
  made_by_request TEXT,
  made_by_scope TEXT,
  verification TEXT CHECK (verification IN ('pending', 'done', 'failed')),
  trouble TEXT CHECK (trouble IN ('deliveries', 'right')),
  UNIQUE (incarnation, client, name)
) STRICT;
INSERT INTO push_subscription_anew (id, topic, incarnation, client, as_owner, name, endpoint, username, credentials,
    seal_key, state, version, created_at, updated_at, made_in_tenant, made_by_request, made_by_scope, verification)
  SELECT id, topic, incarnation, client, as_owner, name, endpoint, username, credentials,
    seal_key, state, version, created_at, updated_at, made_in_tenant, made_by_request, made_by_scope, verification
  FROM push_subscription;
DROP TABLE push_subscription;
ALTER TABLE push_subscription_anew RENAME TO push_subscription;
CREATE INDEX push_subscription_by_client ON push_subscription (client, id);
CREATE INDEX push_subscription_by_topic ON push_subscription (topic, id);
CREATE INDEX push_subscription_by_seal_key ON push_subscription (seal_key);
CREATE INDEX push_subscription_of_unknown ON push_subscription (id) WHERE made_by_request IS NULL;
CREATE INDEX push_subscription_in_trouble ON push_subscription (trouble, id)
  WHERE trouble IS NOT NULL AND state = 'active';
CREATE INDEX push_subscription_disabled ON push_subscription (id)
  WHERE state = 'disabled' AND verification IS NOT 'pending';
