-- Push subscriptions: what was asked for. How far each one is, and what it tries again, is kept by its Durable Object,
-- whose name ends in `id`. `id` is random, so a subscription that is made again under the same name has an object of its own.
CREATE TABLE push_subscription (
  id TEXT PRIMARY KEY,
  -- The topic, and which topic of that name.
  topic TEXT NOT NULL,
  incarnation TEXT NOT NULL,
  client TEXT NOT NULL,
  -- Whether the client owns the topic: it needs no scope then, now and at each delivery.
  as_owner INTEGER NOT NULL CHECK (as_owner IN (0, 1)),
  name TEXT NOT NULL,
  endpoint TEXT NOT NULL,
  username TEXT NOT NULL,
  -- Password and signing secret, sealed and bound to `id`; `seal_key` is the id of the key.
  credentials TEXT NOT NULL,
  seal_key TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('active', 'disabled')),
  -- Grows with every change: who acts upon what was read says which version that was.
  version INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE (incarnation, client, name)
) STRICT;
-- A client that is removed takes its subscriptions along.
CREATE INDEX push_subscription_by_client ON push_subscription (client);
-- The re-seal job looks for what is sealed under another key than the current one.
CREATE INDEX push_subscription_by_seal_key ON push_subscription (seal_key);
