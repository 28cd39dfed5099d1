-- The platform's database. Times: `_at` and `_ms` in milliseconds, `_sec` in seconds, since 1970. Lists that are only
-- read whole are JSON. docs/storage.md says who writes and reads each table.
--
-- Migrations only add: while a release goes out, the version before it runs on the new schema.

-- ---------------------------------------------------------------------------------------------------------------------
-- Who exists and who may do what. The operator service writes, the OAuth service reads.

CREATE TABLE organization (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- `quota_…`: what the tenant may store; empty: no limit. `plan`: how many requests it may make a minute.
CREATE TABLE tenant (
  id TEXT PRIMARY KEY,
  organization TEXT NOT NULL REFERENCES organization (id),
  name TEXT NOT NULL,
  disabled INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  quota_files INTEGER,
  quota_bytes INTEGER,
  plan TEXT NOT NULL DEFAULT 'standard' CHECK (plan IN ('small', 'standard', 'large'))
) STRICT, WITHOUT ROWID;
CREATE INDEX tenant_by_organization ON tenant (organization);

-- `email`: the normalised address (trimmed, NFKC, lower case). `subject`: the random name of the user in tokens where
-- the deployment wants no address; made when it is first needed, so nobody who gets the address later has it.
-- `signed_out_at`: sign-ins of this moment or before no longer count.
CREATE TABLE user (
  email TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  password_hash TEXT,
  disabled INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  signed_out_at INTEGER NOT NULL DEFAULT 0,
  subject TEXT
) STRICT, WITHOUT ROWID;

CREATE TABLE role (
  name TEXT PRIMARY KEY,
  scopes TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE tenant_member (
  tenant TEXT NOT NULL REFERENCES tenant (id) ON DELETE CASCADE,
  email TEXT NOT NULL REFERENCES user (email) ON DELETE CASCADE,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, email)
) STRICT, WITHOUT ROWID;
CREATE INDEX tenant_member_by_email ON tenant_member (email);

CREATE TABLE tenant_member_role (
  tenant TEXT NOT NULL,
  email TEXT NOT NULL,
  role TEXT NOT NULL REFERENCES role (name),
  PRIMARY KEY (tenant, email, role),
  FOREIGN KEY (tenant, email) REFERENCES tenant_member (tenant, email) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX tenant_member_role_by_role ON tenant_member_role (role);

CREATE TABLE organization_member (
  organization TEXT NOT NULL REFERENCES organization (id) ON DELETE CASCADE,
  email TEXT NOT NULL REFERENCES user (email) ON DELETE CASCADE,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (organization, email)
) STRICT, WITHOUT ROWID;
CREATE INDEX organization_member_by_email ON organization_member (email);

CREATE TABLE organization_member_role (
  organization TEXT NOT NULL,
  email TEXT NOT NULL,
  role TEXT NOT NULL REFERENCES role (name),
  PRIMARY KEY (organization, email, role),
  FOREIGN KEY (organization, email) REFERENCES organization_member (organization, email) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX organization_member_role_by_role ON organization_member_role (role);

-- `forward_authorization`: the service gets the whole token of a caller of another tenant. `trusted`: its pages may
-- run beside those of all other services.
CREATE TABLE service (
  name TEXT PRIMARY KEY,
  source_url TEXT NOT NULL,
  proxy_path TEXT NOT NULL UNIQUE,
  scopes TEXT NOT NULL,
  essential INTEGER NOT NULL,
  tenant TEXT NOT NULL REFERENCES tenant (id),
  access TEXT NOT NULL CHECK (access IN ('token', 'public')),
  created_at INTEGER NOT NULL,
  forward_authorization INTEGER NOT NULL DEFAULT 0,
  trusted INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX service_by_tenant ON service (tenant);
CREATE INDEX service_essential ON service (essential) WHERE essential = 1;

CREATE TABLE client (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  tenant TEXT NOT NULL REFERENCES tenant (id),
  confidential INTEGER NOT NULL,
  service TEXT REFERENCES service (name),
  redirect_uris TEXT NOT NULL,
  post_logout_redirect_uris TEXT NOT NULL,
  grant_types TEXT NOT NULL,
  scopes TEXT NOT NULL,
  require_pkce INTEGER NOT NULL,
  disabled INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX client_by_tenant ON client (tenant);
CREATE INDEX client_by_service ON client (service) WHERE service IS NOT NULL;

-- Two secrets are valid during a rotation: the new one has no end, the old one works until `expires_at`.
CREATE TABLE client_secret (
  client TEXT NOT NULL REFERENCES client (id) ON DELETE CASCADE,
  digest TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  PRIMARY KEY (client, digest)
) STRICT, WITHOUT ROWID;

CREATE TABLE package (
  id TEXT PRIMARY KEY,
  version TEXT NOT NULL,
  organization TEXT NOT NULL REFERENCES organization (id),
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX package_by_organization ON package (organization);

-- No foreign key on `service`: the platform's built-in services have no row.
CREATE TABLE package_service (
  package TEXT NOT NULL REFERENCES package (id) ON DELETE CASCADE,
  service TEXT NOT NULL,
  PRIMARY KEY (package, service)
) STRICT, WITHOUT ROWID;
CREATE INDEX package_service_by_service ON package_service (service);

-- No foreign key on `package`: the built-in package has no row.
CREATE TABLE subscription (
  tenant TEXT NOT NULL REFERENCES tenant (id),
  package TEXT NOT NULL,
  id TEXT NOT NULL UNIQUE,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, package)
) STRICT, WITHOUT ROWID;
CREATE INDEX subscription_by_package ON subscription (package);

-- ---------------------------------------------------------------------------------------------------------------------
-- Tokens and sign-ins. Nothing here opens anything by itself: codes, refresh tokens and session cookies are stored as
-- SHA-256 in hex, and what must be read back is sealed (AES-256-GCM).

-- The private key is bound to its kid. The index finds records under an old key.
CREATE TABLE signing_key (
  kid TEXT PRIMARY KEY,
  alg TEXT NOT NULL,
  public_jwk TEXT NOT NULL,
  sealed_private_jwk TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  signs_from INTEGER NOT NULL,
  published_until INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX signing_key_by_seal_key
  ON signing_key (substr(sealed_private_jwk, 1, instr(sealed_private_jwk, '.') - 1));

-- A row revokes a token (`key`: its id), a grant or a session for good (`until_ms`: the largest number), or
-- everything that a client, tenant or user got by records read at `until_ms` or before. That time and the time in a
-- token both come from this database, so no clock of an isolate matters. `seq` only grows: a copy asks for what is
-- new. A row goes when every token that it can concern has expired.
-- `client`: whose token was revoked by itself. Isolates hold all revocations, so each client has a limited number of
-- them; beyond it one row revokes everything that the client got until then.
CREATE TABLE revocation (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  kind TEXT NOT NULL CHECK (kind IN ('token', 'grant', 'client', 'user', 'tenant', 'session')),
  key TEXT NOT NULL,
  until_ms INTEGER NOT NULL,
  expires_sec INTEGER NOT NULL,
  client TEXT,
  UNIQUE (kind, key)
) STRICT;
CREATE INDEX revocation_by_expiry ON revocation (expires_sec);
CREATE INDEX revocation_by_client ON revocation (client) WHERE client IS NOT NULL;

-- A signed-in browser. `sid`: the session id of its tokens unless a request names one. `proven_at`: when the identity
-- provider asked the user (its `auth_time`); empty: it did not say, or the user was asked here, at
-- `authenticated_at`.
CREATE TABLE session (
  id_hash TEXT PRIMARY KEY,
  email TEXT NOT NULL REFERENCES user (email) ON DELETE CASCADE,
  sid TEXT NOT NULL,
  provider TEXT NOT NULL,
  authenticated_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  proven_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX session_by_email ON session (email);
CREATE INDEX session_by_expiry ON session (expires_at);
CREATE INDEX session_by_sid ON session (sid);

-- A code lives 60 s and is redeemed once. The row stays until the tokens that came of it have expired, so that a
-- second redemption is detected. `redemption` names who redeemed it: a write whose answer was lost may be tried
-- again.
-- `authorization`: what the user agreed to, as JSON (src/oauth/model/authorization.ts).
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
-- An operator ends everything that belongs to a tenant or to a session.
CREATE INDEX authorization_code_by_tenant ON authorization_code (authorization ->> 'tenant');
CREATE INDEX authorization_code_by_session ON authorization_code (authorization ->> 'sessionId');

-- A grant is what `/refreshtokens` lists. It lives until it is revoked or deleted, whichever token stands for it now.
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
CREATE INDEX refresh_grant_by_tenant ON refresh_grant (authorization ->> 'tenant');
CREATE INDEX refresh_grant_by_session ON refresh_grant (authorization ->> 'sessionId');

-- The tokens of a grant: the valid one, and the used ones, so that a stolen one is detected. The successor is sealed
-- under a key derived from the used token, so the row alone yields nothing.
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

-- The scopes that a person allowed a client of a tenant that they are no member of: for an organization, or outside
-- of any (`org` is empty then). `tenant`: the client's at that time. `scopes`: JSON, with `openid` if it was among
-- them.
CREATE TABLE consent (
  email TEXT NOT NULL REFERENCES user (email) ON DELETE CASCADE,
  client TEXT NOT NULL REFERENCES client (id) ON DELETE CASCADE,
  org TEXT NOT NULL,
  tenant TEXT NOT NULL,
  scopes TEXT NOT NULL,
  given_at INTEGER NOT NULL,
  PRIMARY KEY (email, client, org)
) STRICT, WITHOUT ROWID;
CREATE INDEX consent_by_client ON consent (client);

-- OpenID Connect providers that users may sign in with besides the platform's own directory. A session from before
-- `trusted_since` belongs to an earlier provider of that id, or to an earlier issuer. `tenants` and `domains` (JSON):
-- the tenants that a sign-in reaches, the domains of addresses that it vouches for; empty: all. `linking`: who says
-- that an account there is a user here.
CREATE TABLE identity_provider (
  id TEXT PRIMARY KEY,
  issuer TEXT NOT NULL,
  client_id TEXT NOT NULL,
  sealed_client_secret TEXT NOT NULL,
  scopes TEXT NOT NULL,
  trusted_since INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  tenants TEXT NOT NULL DEFAULT '[]',
  domains TEXT NOT NULL DEFAULT '[]',
  linking TEXT NOT NULL DEFAULT 'confirm' CHECK (linking IN ('confirm', 'operator', 'verified_email'))
) STRICT, WITHOUT ROWID;
CREATE INDEX identity_provider_by_seal_key
  ON identity_provider (substr(sealed_client_secret, 1, instr(sealed_client_secret, '.') - 1));

-- A sign-in that is under way at a provider, for ten minutes. `state_hash` is bound to the browser's cookie.
-- `sealed`: the authorization request, and what the provider's answer must fit.
CREATE TABLE federation (
  state_hash TEXT PRIMARY KEY,
  browser_hash TEXT NOT NULL,
  provider TEXT NOT NULL REFERENCES identity_provider (id) ON DELETE CASCADE,
  sealed TEXT NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX federation_by_expiry ON federation (expires_at);
CREATE INDEX federation_by_provider ON federation (provider);

-- An account at a provider (`subject`: the `sub` of its ID tokens) that signs in as a user. A user has at most one at
-- each provider, and an account belongs to one user. A session from before `linked_at` belongs to another account.
CREATE TABLE user_identity (
  email TEXT NOT NULL REFERENCES user (email) ON DELETE CASCADE,
  provider TEXT NOT NULL REFERENCES identity_provider (id) ON DELETE CASCADE,
  subject TEXT NOT NULL,
  linked_by TEXT NOT NULL CHECK (linked_by IN ('password', 'operator', 'verified_email')),
  linked_at INTEGER NOT NULL,
  PRIMARY KEY (email, provider)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX user_identity_by_subject ON user_identity (provider, subject);

-- Events that a transaction decided and that are yet to be published, in order. A snapshot is never longer than what
-- an event may carry: one that cannot be published would hold back its tenant's later ones for ever.
CREATE TABLE outbox (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  event_type TEXT NOT NULL,
  tenant TEXT NOT NULL,
  snapshot TEXT NOT NULL CHECK (length(snapshot) <= 200000),
  created_at INTEGER NOT NULL
) STRICT;

-- The holder of a job that runs once at a time, and until when.
CREATE TABLE lease (
  name TEXT PRIMARY KEY,
  holder TEXT NOT NULL,
  until_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- ---------------------------------------------------------------------------------------------------------------------
-- The audit log.

-- `changes`: JSON, [{field, from?, to?, added?, removed?}]. `share`: whose noise may push the row out of the log
-- (src/admin). The log is read by any of the indexed columns, newest first.
CREATE TABLE audit (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  at INTEGER NOT NULL,
  request_id TEXT NOT NULL,
  actor TEXT NOT NULL,
  action TEXT NOT NULL,
  subject TEXT NOT NULL,
  outcome TEXT NOT NULL,
  reason TEXT NOT NULL,
  changes TEXT NOT NULL DEFAULT '[]',
  share TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX audit_by_time ON audit (at);
CREATE INDEX audit_by_request ON audit (request_id, at);
CREATE INDEX audit_by_actor ON audit (actor, at);
CREATE INDEX audit_by_action ON audit (action, at);
CREATE INDEX audit_by_outcome ON audit (outcome, at);
CREATE INDEX audit_by_subject ON audit (subject);
CREATE INDEX audit_by_share ON audit (share, at);

-- The fields of a record before and after a change, within the change's transaction alone. Outside of one it is
-- empty.
CREATE TABLE audit_state (
  moment TEXT PRIMARY KEY CHECK (moment IN ('before', 'after')),
  fields TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Copies of the log in the bucket, each with the hash of its last line. `written_at`: empty until the object is
-- there.
CREATE TABLE audit_copy (
  number INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  first_seq INTEGER NOT NULL,
  last_seq INTEGER NOT NULL,
  rows INTEGER NOT NULL,
  previous TEXT NOT NULL,
  head TEXT NOT NULL,
  planned_at INTEGER NOT NULL,
  written_at INTEGER
) STRICT;

-- ---------------------------------------------------------------------------------------------------------------------
-- Events. Logs, locks and cursors live in Durable Objects.

-- The topics, and the incarnation under which their objects are found. `name` is what scopes and lists use; an owner
-- has exactly one dot, so it is unique.
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
-- The sweep finishes deletions that broke off.
CREATE INDEX topic_deleting ON topic (state, created_at) WHERE state = 'deleting';

-- The settings of a push subscription. Its Durable Object, whose name ends in `id`, keeps its cursor and its retries.
-- `id` is random, so a subscription that is made again under the same name has an object of its own.
-- `incarnation`: which topic of that name. `as_owner`: the client owns the topic, so it needs no scope.
-- `credentials`: password and signing secret, sealed and bound to `id`; `seal_key`: the id of the key. `version`
-- grows with every change. `made_…`: the tenant of the maker's token, the request, and the scope that gave the right;
-- empty: unknown.
-- `verification`: whether the endpoint has to prove that it wants the events; empty: it need not. Until it is `done`,
-- `state` is `disabled`.
CREATE TABLE push_subscription (
  id TEXT PRIMARY KEY,
  topic TEXT NOT NULL,
  incarnation TEXT NOT NULL,
  client TEXT NOT NULL,
  as_owner INTEGER NOT NULL CHECK (as_owner IN (0, 1)),
  name TEXT NOT NULL,
  endpoint TEXT NOT NULL,
  username TEXT NOT NULL,
  credentials TEXT NOT NULL,
  seal_key TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('active', 'disabled')),
  version INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  made_in_tenant TEXT,
  made_by_request TEXT,
  made_by_scope TEXT,
  verification TEXT CHECK (verification IN ('pending', 'done', 'failed')),
  UNIQUE (incarnation, client, name)
) STRICT;
CREATE INDEX push_subscription_by_client ON push_subscription (client, id);
CREATE INDEX push_subscription_by_topic ON push_subscription (topic, id);
-- The job that reseals finds records under other keys than the current one.
CREATE INDEX push_subscription_by_seal_key ON push_subscription (seal_key);
CREATE INDEX push_subscription_of_unknown ON push_subscription (id) WHERE made_by_request IS NULL;

-- ---------------------------------------------------------------------------------------------------------------------
-- Media. src/media/service.ts describes the states and who changes them. `due_at`: when the sweep looks at the row;
-- NULL: never.

-- The owner of files. `tenant` is empty until the commit names one. Files refer to `id`, so one write can hand all of
-- them over; ids are never reused. Deleting all files retires their owner: `erasure_id` names the deletion, and a new
-- owner takes the name. `files` and `bytes` count committed files (masters only); triggers keep them.
CREATE TABLE owner (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  client TEXT NOT NULL,
  tenant TEXT NOT NULL,
  visibility TEXT NOT NULL CHECK (visibility IN ('private', 'public')),
  erasure_id TEXT,
  files INTEGER NOT NULL DEFAULT 0,
  bytes INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX owner_by_name ON owner (client, tenant, visibility) WHERE erasure_id IS NULL;
CREATE INDEX owner_by_tenant ON owner (tenant) WHERE erasure_id IS NULL;
CREATE INDEX owner_retired ON owner (erasure_id) WHERE erasure_id IS NOT NULL;

-- `etag` and `size_bytes`: of the object that the commit found in R2; they never change. `commit_digest` identifies a
-- repeated commit. `blob_key`: the master's key; NULL: `blob/{id}`. `pinned_etag`: the upload that a commit is about
-- to copy from `incoming/`. `removed_at`, `erasure_id`: when and by which deletion the file was removed. `purged_at`:
-- when its bytes were deleted. `late_keys`: objects found after that, as JSON. `owner_id` has no foreign key: a
-- retired owner is deleted before its last removed files, and the check would read all files.
-- `reserved_for`: the tenant whose token created a pending file; `reserved_bytes`: its uploads' part of the quota.
-- `attributes`: the file's part of the metadata index, as JSON: `rows` of the table `attribute`, and which of them
-- lead.
-- `unindexed_pairs`: digests of the pairs beyond the index, separated by spaces. Long texts come last: reading the
-- other columns does not read them.
CREATE TABLE file (
  id TEXT PRIMARY KEY,
  owner_id INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('pending', 'committed', 'removed')),
  content_type TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  due_at INTEGER,
  committed_at INTEGER,
  size_bytes INTEGER,
  etag TEXT,
  file_name TEXT,
  commit_digest TEXT,
  blob_key TEXT,
  pinned_etag TEXT,
  removed_at INTEGER,
  erasure_id TEXT,
  purged_at INTEGER,
  late_keys TEXT,
  reserved_for TEXT,
  reserved_bytes INTEGER,
  unindexed_pairs TEXT,
  metadata TEXT,
  attributes TEXT
) STRICT;
-- The sweep reads each state by itself.
CREATE INDEX file_due ON file (state, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX file_by_owner ON file (owner_id, id) WHERE state = 'committed';
CREATE INDEX file_by_erasure ON file (erasure_id, due_at) WHERE erasure_id IS NOT NULL;

CREATE TRIGGER file_enters AFTER UPDATE OF state ON file WHEN new.state = 'committed' AND old.state <> 'committed' BEGIN
  UPDATE owner SET files = files + 1, bytes = bytes + new.size_bytes WHERE id = new.owner_id;
END;
CREATE TRIGGER file_leaves AFTER UPDATE OF state ON file WHEN new.state <> 'committed' AND old.state = 'committed' BEGIN
  UPDATE owner SET files = files - 1, bytes = bytes - old.size_bytes WHERE id = old.owner_id;
END;

-- Pending files and their bytes, for the quota of a tenant and the limit of a client. Triggers keep the sums.
CREATE TABLE reservation (
  tenant TEXT NOT NULL,
  owner_id INTEGER NOT NULL,
  files INTEGER NOT NULL DEFAULT 0,
  bytes INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant, owner_id)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER file_waits AFTER INSERT ON file WHEN new.state = 'pending' AND new.reserved_for IS NOT NULL BEGIN
  INSERT INTO reservation (tenant, owner_id, files) VALUES (new.reserved_for, new.owner_id, 1)
    ON CONFLICT DO UPDATE SET files = files + 1;
END;
CREATE TRIGGER file_reserves AFTER UPDATE OF reserved_bytes ON file WHEN new.state = 'pending' BEGIN
  UPDATE reservation SET bytes = bytes + coalesce(new.reserved_bytes, 0) - coalesce(old.reserved_bytes, 0)
    WHERE tenant = new.reserved_for AND owner_id = new.owner_id;
END;
CREATE TRIGGER file_waits_no_more AFTER UPDATE OF state ON file WHEN old.state = 'pending' AND new.state <> 'pending' BEGIN
  UPDATE reservation SET files = files - 1, bytes = bytes - coalesce(old.reserved_bytes, 0)
    WHERE tenant = old.reserved_for AND owner_id = old.owner_id;
END;
CREATE TRIGGER file_that_waits_goes AFTER DELETE ON file WHEN old.state = 'pending' BEGIN
  UPDATE reservation SET files = files - 1, bytes = bytes - coalesce(old.reserved_bytes, 0)
    WHERE tenant = old.reserved_for AND owner_id = old.owner_id;
END;

-- `nonce` names one rendition of a variant: here, in the queue's message and in the object's key. At most one
-- rendition of a (file, type, size) is alive; a removed one stays until its bytes are deleted.
CREATE TABLE variant (
  file_id TEXT NOT NULL REFERENCES file (id),
  nonce TEXT NOT NULL,
  type TEXT NOT NULL CHECK (type IN ('clip', 'crop')),
  size TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('declared', 'pending', 'ready', 'failed', 'removed')),
  created_at INTEGER NOT NULL,
  due_at INTEGER,
  content_type TEXT,
  width INTEGER,
  height INTEGER,
  size_bytes INTEGER,
  etag TEXT,
  reason TEXT,
  PRIMARY KEY (file_id, nonce)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX variant_by_size ON variant (file_id, type, size) WHERE state <> 'removed';
CREATE INDEX variant_due ON variant (due_at) WHERE due_at IS NOT NULL;

-- The metadata index: a row for each value of a key, so an array has several. Keys of the metadata start with a dot
-- (`.color`, `.a.b`), keys of our own with `#`. Numbers are numbers, booleans are `true` and `false`; a text of more
-- than 256 bytes is cut and followed by its digest. `leads`: the file sorts by this row under this key.
CREATE TABLE attribute (
  owner_id INTEGER NOT NULL,
  key TEXT NOT NULL,
  value ANY NOT NULL,
  file_id TEXT NOT NULL,
  leads INTEGER NOT NULL CHECK (leads IN (0, 1)),
  PRIMARY KEY (owner_id, key, value, file_id)
) STRICT, WITHOUT ROWID;

-- Sets of keys that files sort by. Each file has a row `#keys` in `attribute` with the digest of its set, so files
-- without a key are found without reading those that have it. `keys`: JSON.
CREATE TABLE key_set (
  id INTEGER PRIMARY KEY,
  owner_id INTEGER NOT NULL,
  digest TEXT NOT NULL,
  keys TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX key_set_by_digest ON key_set (owner_id, digest);

-- Clients that requested deletions, by their present name. The row is deleted with the client; ids are never reused.
CREATE TABLE requester (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  client TEXT NOT NULL UNIQUE
) STRICT;

-- A deletion (of a file, by query, of all) and its report. It counts its files three times: requested (`files`),
-- bytes deleted (`deleted_files`), proven gone by a listing (`verified_files`). `due_at` is also when the report
-- expires. `requester_id` has no foreign key: a report outlives its requester, and nobody can read it then.
CREATE TABLE erasure (
  id TEXT PRIMARY KEY,
  tenant TEXT NOT NULL,
  visibility TEXT NOT NULL CHECK (visibility IN ('private', 'public')),
  kind TEXT NOT NULL CHECK (kind IN ('file', 'query', 'all')),
  requested_at INTEGER NOT NULL,
  due_at INTEGER,
  files INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  deleted_files INTEGER NOT NULL DEFAULT 0,
  deleted_bytes INTEGER NOT NULL DEFAULT 0,
  deleted_at INTEGER,
  verified_files INTEGER NOT NULL DEFAULT 0,
  verified_at INTEGER,
  late_objects INTEGER NOT NULL DEFAULT 0,
  requester_id INTEGER
) STRICT;
CREATE INDEX erasure_due ON erasure (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX erasure_by_requester ON erasure (requester_id, tenant, id);

-- Files belong to a client and a tenant by name. The operator service checks for files before it deletes or renames
-- either; these triggers refuse it if a file was committed in between.
CREATE TRIGGER client_with_files_stays BEFORE DELETE ON client
WHEN EXISTS (SELECT 1 FROM owner WHERE owner.client = old.name AND owner.erasure_id IS NULL AND owner.files > 0) BEGIN
  SELECT RAISE(ABORT, 'the client has files');
END;
CREATE TRIGGER client_with_files_keeps_name BEFORE UPDATE OF name ON client
WHEN new.name <> old.name
  AND EXISTS (SELECT 1 FROM owner WHERE owner.client = old.name AND owner.erasure_id IS NULL AND owner.files > 0) BEGIN
  SELECT RAISE(ABORT, 'the client has files');
END;
CREATE TRIGGER client_with_files_keeps_tenant BEFORE UPDATE OF tenant ON client
WHEN new.tenant <> old.tenant
  AND EXISTS (SELECT 1 FROM owner WHERE owner.client = old.name AND owner.tenant = old.tenant
    AND owner.erasure_id IS NULL AND owner.files > 0) BEGIN
  SELECT RAISE(ABORT, 'the client has files');
END;
CREATE TRIGGER tenant_with_files_stays BEFORE DELETE ON tenant
WHEN EXISTS (SELECT 1 FROM owner WHERE owner.tenant = old.id AND owner.erasure_id IS NULL AND owner.files > 0) BEGIN
  SELECT RAISE(ABORT, 'the tenant has files');
END;

-- Pending files (whose owner has no tenant) and reports of deletions belong to a client by name, too. A rename moves
-- both in one write, and nobody inherits them with the old name. A file whose owner was deleted belongs to nobody:
-- its link takes no bytes, and the sweep removes it within a day. Rows that already stand under a new client's name
-- come from tokens of an earlier client, which stay valid for seconds; they are deleted.
CREATE TRIGGER client_takes_name AFTER INSERT ON client BEGIN
  DELETE FROM owner WHERE client = new.name AND tenant = '' AND erasure_id IS NULL;
  DELETE FROM requester WHERE client = new.name;
END;
CREATE TRIGGER client_changes_name AFTER UPDATE OF name ON client WHEN new.name <> old.name BEGIN
  DELETE FROM owner WHERE client = new.name AND tenant = '' AND erasure_id IS NULL;
  UPDATE owner SET client = new.name WHERE client = old.name AND tenant = '' AND erasure_id IS NULL;
  DELETE FROM requester WHERE client = new.name;
  UPDATE requester SET client = new.name WHERE client = old.name;
END;
CREATE TRIGGER client_changes_tenant AFTER UPDATE OF tenant ON client WHEN new.tenant <> old.tenant BEGIN
  DELETE FROM owner WHERE client IN (old.name, new.name) AND tenant = '' AND erasure_id IS NULL;
END;
CREATE TRIGGER client_goes AFTER DELETE ON client BEGIN
  DELETE FROM owner WHERE client = old.name AND tenant = '' AND erasure_id IS NULL;
  DELETE FROM requester WHERE client = old.name;
END;

-- The operator's comparison of R2 with these tables; see src/media/consistency/run.ts.

-- `step` counts the steps of a run: a step writes only if no other did it first. `position`: the last key of the
-- keyspace `stage` that was compared. `repaired_through`: the last finding that was repaired. `due_at`: when a run
-- under way counts as stalled.
CREATE TABLE consistency_run (
  id TEXT PRIMARY KEY,
  state TEXT NOT NULL CHECK (state IN ('running', 'done', 'repairing', 'repaired')),
  started_at INTEGER NOT NULL,
  finished_at INTEGER,
  repair_started_at INTEGER,
  repaired_at INTEGER,
  due_at INTEGER,
  step INTEGER NOT NULL DEFAULT 0,
  stage TEXT NOT NULL CHECK (stage IN ('files', 'variants', 'incoming')),
  position TEXT NOT NULL DEFAULT '',
  repaired_through INTEGER NOT NULL DEFAULT 0,
  repair_actor TEXT NOT NULL DEFAULT '',
  repair_request_id TEXT NOT NULL DEFAULT '',
  checked_files INTEGER NOT NULL DEFAULT 0,
  checked_variants INTEGER NOT NULL DEFAULT 0,
  checked_objects INTEGER NOT NULL DEFAULT 0,
  found_orphan_object INTEGER NOT NULL DEFAULT 0,
  found_missing_bytes INTEGER NOT NULL DEFAULT 0,
  found_missing_variant INTEGER NOT NULL DEFAULT 0,
  found_size_differs INTEGER NOT NULL DEFAULT 0,
  found_etag_differs INTEGER NOT NULL DEFAULT 0,
  kept_findings INTEGER NOT NULL DEFAULT 0,
  repaired_orphan_object INTEGER NOT NULL DEFAULT 0,
  repaired_missing_bytes INTEGER NOT NULL DEFAULT 0,
  repaired_missing_variant INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX consistency_run_due ON consistency_run (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX consistency_run_by_time ON consistency_run (started_at, id);

-- The first findings of a run, in order. `key`: the object in R2. An object without a row has only that. `outcome`:
-- the result of the repair; NULL before it, and for findings that cannot be repaired.
CREATE TABLE consistency_finding (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  run_id TEXT NOT NULL REFERENCES consistency_run (id) ON DELETE CASCADE,
  kind TEXT NOT NULL
    CHECK (kind IN ('orphan_object', 'missing_bytes', 'missing_variant', 'size_differs', 'etag_differs')),
  key TEXT NOT NULL,
  outcome TEXT CHECK (outcome IN ('repaired', 'obsolete')),
  file_id TEXT,
  nonce TEXT,
  client TEXT,
  tenant TEXT,
  row_bytes INTEGER,
  row_etag TEXT,
  object_bytes INTEGER,
  object_etag TEXT
) STRICT;
CREATE INDEX consistency_finding_by_run ON consistency_finding (run_id);
