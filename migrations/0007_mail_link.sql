-- Links in mails, each good for one use. `browser_hash`: the browser that asked; `network_hash`: its network, keyed.
-- `request`: the authorization request to go on with, as a query; may be empty. Used ones stay for the limits.
CREATE TABLE mail_link (
  token_hash TEXT PRIMARY KEY,
  purpose TEXT NOT NULL,
  email TEXT NOT NULL REFERENCES user (email) ON DELETE CASCADE,
  browser_hash TEXT NOT NULL,
  network_hash TEXT NOT NULL,
  request TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  used_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX mail_link_by_email ON mail_link (email, purpose, created_at);
CREATE INDEX mail_link_by_network ON mail_link (network_hash, created_at);
CREATE INDEX mail_link_by_expiry ON mail_link (expires_at);

-- When the person proved to read mail at the address, by a link in one; empty: never.
ALTER TABLE user ADD COLUMN email_verified_at INTEGER;
