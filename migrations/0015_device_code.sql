-- Sign-ins for devices without a browser (RFC 8628, src/oauth/grants/device-code.ts).
CREATE TABLE device_code (
  -- SHA-256 of the code that the device holds.
  device_hash TEXT PRIMARY KEY,
  -- The code that the person types.
  user_code TEXT NOT NULL UNIQUE,
  client TEXT NOT NULL REFERENCES client (id) ON DELETE CASCADE,
  scope TEXT NOT NULL,
  expires_at INTEGER NOT NULL,
  state TEXT NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'allowed', 'denied')),
  -- The authorization code of the allowed request, by which the device gets its tokens.
  code_hash TEXT,
  interval_ms INTEGER NOT NULL,
  polled_at INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX device_code_by_end ON device_code (expires_at);
CREATE INDEX device_code_by_client ON device_code (client);
