-- Signing in, and what comes of it. Times: `_at` in milliseconds since 1970. Nothing here opens anything by itself:
-- codes, refresh tokens and session cookies stand as SHA-256 in hex, what must be read back is sealed.

-- What a user did by signing in at this moment or before counts no more: the password changed, the user was disabled,
-- or is another user under an address that was used before.
ALTER TABLE user ADD COLUMN signed_out_at INTEGER NOT NULL DEFAULT 0;

-- Whose token was revoked by itself. Isolates hold all revocations that live, so a client has so many of them and no more:
-- beyond, all that it got until then is void by one row, and its tokens' own rows go.
ALTER TABLE revocation ADD COLUMN client TEXT;
CREATE INDEX revocation_by_client ON revocation (client) WHERE client IS NOT NULL;

-- A signed-in browser. `sid` is the session id of the tokens that it gets unless the request names one.
CREATE TABLE session (
  id_hash TEXT PRIMARY KEY,
  email TEXT NOT NULL REFERENCES user (email) ON DELETE CASCADE,
  sid TEXT NOT NULL,
  provider TEXT NOT NULL,
  authenticated_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX session_by_email ON session (email);
CREATE INDEX session_by_expiry ON session (expires_at);

-- A code lives 60 s and is redeemed once; the row stays until a second redemption, or until the tokens that came of it
-- have expired, so that a second one is known. `redemption` names who redeemed it: a write whose answer was lost may be tried again.
-- `authorization` is what the user agreed to, as JSON (oauth/model/authorization.ts).
CREATE TABLE authorization_code (
  code_hash TEXT PRIMARY KEY,
  grant_id TEXT NOT NULL,
  client TEXT NOT NULL REFERENCES client (id) ON DELETE CASCADE,
  email TEXT NOT NULL REFERENCES user (email) ON DELETE CASCADE,
  redirect_uri TEXT,
  code_challenge TEXT,
  code_challenge_method TEXT CHECK (code_challenge_method IN ('plain', 'S256')),
  nonce TEXT,
  authorization TEXT NOT NULL,
  expires_at INTEGER NOT NULL,
  redemption TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX authorization_code_by_client ON authorization_code (client);
CREATE INDEX authorization_code_by_email ON authorization_code (email);
CREATE INDEX authorization_code_by_expiry ON authorization_code (expires_at);

-- A grant is what `/refreshtokens` lists: it lives until it is revoked or deleted, whatever token stands for it now.
CREATE TABLE refresh_grant (
  id TEXT PRIMARY KEY,
  client TEXT NOT NULL REFERENCES client (id) ON DELETE CASCADE,
  email TEXT NOT NULL REFERENCES user (email) ON DELETE CASCADE,
  authorization TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  last_used_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX refresh_grant_by_email ON refresh_grant (email, created_at, id);
CREATE INDEX refresh_grant_by_client ON refresh_grant (client);

-- The tokens of a grant: the living one, and the used ones, so that a stolen one betrays itself. The successor is sealed
-- under a key derived from the used token itself, so the row alone yields nothing.
CREATE TABLE refresh_token (
  token_hash TEXT PRIMARY KEY,
  grant_id TEXT NOT NULL REFERENCES refresh_grant (id) ON DELETE CASCADE,
  created_at INTEGER NOT NULL,
  used_at INTEGER,
  successor_hash TEXT,
  sealed_successor TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX refresh_token_by_grant ON refresh_token (grant_id);
CREATE INDEX refresh_token_by_use ON refresh_token (used_at) WHERE used_at IS NOT NULL;

-- OIDC providers that users may sign in with besides the platform's own directory. `scopes`: JSON, a list. A session from
-- before `trusted_since` is of another provider that had the id, or of another issuer.
CREATE TABLE identity_provider (
  id TEXT PRIMARY KEY,
  issuer TEXT NOT NULL,
  client_id TEXT NOT NULL,
  sealed_client_secret TEXT NOT NULL,
  scopes TEXT NOT NULL,
  trusted_since INTEGER NOT NULL,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- A sign-in that is under way at such a provider, for ten minutes: `state` as its hash, bound to the browser's cookie.
-- `sealed` holds the authorization request that it is for and what the provider's answer must fit.
CREATE TABLE federation (
  state_hash TEXT PRIMARY KEY,
  browser_hash TEXT NOT NULL,
  provider TEXT NOT NULL REFERENCES identity_provider (id) ON DELETE CASCADE,
  sealed TEXT NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX federation_by_expiry ON federation (expires_at);
CREATE INDEX federation_by_provider ON federation (provider);

-- Events that were decided by a transaction and are yet to be published, in their order. No snapshot is longer than what
-- an event may carry: one that cannot be published would keep its tenant's later ones back for ever.
CREATE TABLE outbox (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  event_type TEXT NOT NULL,
  tenant TEXT NOT NULL,
  snapshot TEXT NOT NULL CHECK (length(snapshot) <= 200000),
  created_at INTEGER NOT NULL
) STRICT;

-- Who does a work that one does at a time, until when.
CREATE TABLE lease (
  name TEXT PRIMARY KEY,
  holder TEXT NOT NULL,
  until_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The audit log is read by any of these, newest first, and swept by its time and by what came of it.
CREATE INDEX audit_by_time ON audit (at);
CREATE INDEX audit_by_request ON audit (request_id, at);
CREATE INDEX audit_by_actor ON audit (actor, at);
CREATE INDEX audit_by_action ON audit (action, at);
CREATE INDEX audit_by_outcome ON audit (outcome, at);
CREATE INDEX audit_by_subject ON audit (subject);
