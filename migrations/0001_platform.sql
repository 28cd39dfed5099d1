-- Who exists on the platform and who may do what. Owned by the operator service, read by the OAuth service.
-- Times: `_at` in milliseconds, `_sec` in seconds, since 1970. Lists that are only read whole are JSON.

CREATE TABLE organization (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE tenant (
  id TEXT PRIMARY KEY,
  organization TEXT NOT NULL REFERENCES organization (id),
  name TEXT NOT NULL,
  disabled INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX tenant_by_organization ON tenant (organization);

-- `email` is the normalised address: trimmed, NFKC, lower case.
CREATE TABLE user (
  email TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  password_hash TEXT,
  disabled INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL
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

CREATE TABLE service (
  name TEXT PRIMARY KEY,
  source_url TEXT NOT NULL,
  proxy_path TEXT NOT NULL UNIQUE,
  scopes TEXT NOT NULL,
  essential INTEGER NOT NULL,
  tenant TEXT NOT NULL REFERENCES tenant (id),
  access TEXT NOT NULL CHECK (access IN ('token', 'public')),
  created_at INTEGER NOT NULL
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

-- Two secrets live during a rotation: the new one has no end, the old one works until `expires_at`.
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

-- The private key is sealed (AES-256-GCM) and bound to its kid.
CREATE TABLE signing_key (
  kid TEXT PRIMARY KEY,
  alg TEXT NOT NULL,
  public_jwk TEXT NOT NULL,
  sealed_private_jwk TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  signs_from INTEGER NOT NULL,
  published_until INTEGER
) STRICT, WITHOUT ROWID;

-- One row revokes a token (`kind` token, `key` its id), a grant or a session for good (`until_ms` is then the largest
-- number), or all that a client, tenant or user got by records read at `until_ms` or before. Both that time and the time
-- that a token carries are this database's own, so no clock of an isolate matters. `seq` only grows, so a copy is brought
-- up to date by what is new. A row goes when every token that it can concern has expired.
CREATE TABLE revocation (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  kind TEXT NOT NULL CHECK (kind IN ('token', 'grant', 'client', 'user', 'tenant', 'session')),
  key TEXT NOT NULL,
  until_ms INTEGER NOT NULL,
  expires_sec INTEGER NOT NULL,
  UNIQUE (kind, key)
) STRICT;
CREATE INDEX revocation_by_expiry ON revocation (expires_sec);

CREATE TABLE audit (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  at INTEGER NOT NULL,
  request_id TEXT NOT NULL,
  actor TEXT NOT NULL,
  action TEXT NOT NULL,
  subject TEXT NOT NULL,
  outcome TEXT NOT NULL,
  reason TEXT NOT NULL
) STRICT;
