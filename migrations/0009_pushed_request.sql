-- 1: the client's authorization requests come through /par (RFC 9126) alone.
ALTER TABLE client ADD COLUMN require_pushed INTEGER NOT NULL DEFAULT 0;
-- Authorization requests that clients pushed (src/oauth/authorize/pushed/pushed.ts).
CREATE TABLE pushed_request (
  -- SHA-256 of the reference in `request_uri`.
  request_hash TEXT PRIMARY KEY,
  client TEXT NOT NULL REFERENCES client (id) ON DELETE CASCADE,
  -- The parameters, sealed.
  sealed TEXT NOT NULL,
  expires_at INTEGER NOT NULL,
  -- 1: a browser came with it, and its person is on the way.
  begun INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX pushed_request_by_end ON pushed_request (expires_at);
CREATE INDEX pushed_request_by_client ON pushed_request (client);
