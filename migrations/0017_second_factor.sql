-- Second factors. `second_factor_at`: since when the person shows one at every sign-in; empty: none.
ALTER TABLE user ADD COLUMN second_factor_at INTEGER;
-- How the person signed in (RFC 8176), separated by spaces; empty: not known.
ALTER TABLE session ADD COLUMN amr TEXT;
-- 1: tokens are given only after two factors; of the tenant, to holders of the role, of the client.
ALTER TABLE tenant ADD COLUMN second_factor INTEGER;
ALTER TABLE role ADD COLUMN second_factor INTEGER;
ALTER TABLE client ADD COLUMN second_factor INTEGER;

-- One-time codes (RFC 6238). `last_step`: the newest 30 s whose code was used; no code of it or before is good again.
CREATE TABLE totp (
  email TEXT PRIMARY KEY REFERENCES user (email) ON DELETE CASCADE,
  sealed_secret TEXT NOT NULL,
  last_step INTEGER NOT NULL,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX totp_by_seal_key ON totp (substr(sealed_secret, 1, instr(sealed_secret, '.') - 1));

-- Recovery codes that are not used yet. `code_hash`: SHA-256 of address and code, in hex.
CREATE TABLE recovery_code (
  email TEXT NOT NULL REFERENCES user (email) ON DELETE CASCADE,
  code_hash TEXT NOT NULL,
  PRIMARY KEY (email, code_hash)
) STRICT, WITHOUT ROWID;
