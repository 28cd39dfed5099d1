-- What a client is registered for besides secrets (src/oauth/clients). Empty and 0: as before.
-- How it authenticates: by a secret, or by a signed assertion (`private_key_jwt`).
ALTER TABLE client ADD COLUMN auth_method TEXT NOT NULL DEFAULT '';
-- Its public keys as a JSON Web Key Set, or the address where they are.
ALTER TABLE client ADD COLUMN jwks TEXT NOT NULL DEFAULT '';
ALTER TABLE client ADD COLUMN jwks_uri TEXT NOT NULL DEFAULT '';
-- An assertion counts once: SHA-256 of the client and the assertion's `jti`, until the assertion has expired.
CREATE TABLE used_assertion (
  digest TEXT PRIMARY KEY,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX used_assertion_by_end ON used_assertion (expires_at);
