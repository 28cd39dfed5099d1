-- 1: the client's access tokens are bound to keys (RFC 9449).
ALTER TABLE client ADD COLUMN binds_tokens INTEGER NOT NULL DEFAULT 0;
