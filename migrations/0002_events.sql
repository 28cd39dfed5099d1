-- Topics. Their events, locks and cursors live in Durable Objects; this table says which topics exist and under which
-- incarnation their objects are found. `name` is what scopes and lists go by; an owner has exactly one dot, so it is unique.
CREATE TABLE topic (
  name TEXT PRIMARY KEY,
  owner TEXT NOT NULL,
  event_type TEXT NOT NULL,
  description TEXT NOT NULL,
  shards INTEGER NOT NULL CHECK (shards BETWEEN 1 AND 16),
  incarnation TEXT NOT NULL UNIQUE,
  state TEXT NOT NULL CHECK (state IN ('active', 'deleting')),
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
-- The sweep finishes what was begun.
CREATE INDEX topic_deleting ON topic (state, created_at) WHERE state = 'deleting';
