-- Clients that nobody registered (src/oauth/unregistered). `metadata`: what the client says about itself, JSON.
-- `read_at`: when that was read. `used_at`: when a person came with it, or it used a refresh token.
CREATE TABLE unregistered_client (
  -- The address of the document that describes it, or the id that its registration gave.
  id TEXT PRIMARY KEY,
  metadata TEXT NOT NULL,
  read_at INTEGER NOT NULL,
  used_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX unregistered_client_by_use ON unregistered_client (used_at);
