-- Passkeys (WebAuthn). `id`: the credential's id, in base64url. `user_handle`: what authenticators know the person by, the
-- same for all passkeys of a person. `public_key`: a JSON Web Key. `sign_count`: the authenticator's counter; 0: it has
-- none. `backup_eligible`, `backed_up`: the flags BE and BS. `transports`: JSON. `last_used_at`: empty until then.
CREATE TABLE passkey (
  id TEXT PRIMARY KEY,
  email TEXT NOT NULL REFERENCES user (email) ON DELETE CASCADE,
  user_handle TEXT NOT NULL,
  public_key TEXT NOT NULL,
  sign_count INTEGER NOT NULL,
  backup_eligible INTEGER NOT NULL,
  backed_up INTEGER NOT NULL,
  transports TEXT NOT NULL,
  name TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  last_used_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX passkey_by_person ON passkey (email);
-- Since when the person has a passkey; empty: has none. Read with the user, at no row more.
ALTER TABLE user ADD COLUMN passkey_at INTEGER;
