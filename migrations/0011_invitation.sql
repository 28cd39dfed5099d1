-- Invitations by mail into a tenant or an organization, each good for one use. `roles`: a JSON list, held from then on.
-- `name`, `language`: as the operator gave them; may be empty.
CREATE TABLE tenant_invitation (
  tenant TEXT NOT NULL REFERENCES tenant (id) ON DELETE CASCADE,
  email TEXT NOT NULL REFERENCES user (email) ON DELETE CASCADE,
  roles TEXT NOT NULL,
  name TEXT NOT NULL,
  language TEXT NOT NULL,
  token_hash TEXT NOT NULL UNIQUE,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (tenant, email)
) STRICT, WITHOUT ROWID;
CREATE INDEX tenant_invitation_by_email ON tenant_invitation (email);
CREATE INDEX tenant_invitation_by_expiry ON tenant_invitation (expires_at);

CREATE TABLE organization_invitation (
  organization TEXT NOT NULL REFERENCES organization (id) ON DELETE CASCADE,
  email TEXT NOT NULL REFERENCES user (email) ON DELETE CASCADE,
  roles TEXT NOT NULL,
  name TEXT NOT NULL,
  language TEXT NOT NULL,
  token_hash TEXT NOT NULL UNIQUE,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  PRIMARY KEY (organization, email)
) STRICT, WITHOUT ROWID;
CREATE INDEX organization_invitation_by_email ON organization_invitation (email);
CREATE INDEX organization_invitation_by_expiry ON organization_invitation (expires_at);
