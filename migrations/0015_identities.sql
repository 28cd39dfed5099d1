-- Whom other identity providers vouch for, and for what.

-- How tokens name the user for good, where the deployment wants no e-mail for it: random, made when it is first needed, gone
-- with the user, so that nobody who gets the address later has it.
ALTER TABLE user ADD COLUMN subject TEXT;

-- What a provider is bound to, as JSON lists: the tenants that a sign-in by it reaches, the domains of the addresses that it
-- vouches for. Empty: all of the platform. `linking`: who says that an account there is a user's here.
ALTER TABLE identity_provider ADD COLUMN tenants TEXT NOT NULL DEFAULT '[]';
ALTER TABLE identity_provider ADD COLUMN domains TEXT NOT NULL DEFAULT '[]';
ALTER TABLE identity_provider ADD COLUMN linking TEXT NOT NULL DEFAULT 'confirm'
  CHECK (linking IN ('confirm', 'operator', 'verified_email'));

-- An account at a provider (`subject`, the `sub` of its ID tokens) that signs in as a user: one of each provider for a user, and
-- one user for it. It goes with the user, with the provider, and when the provider gets another issuer. A session from before
-- `linked_at` is of another account.
CREATE TABLE user_identity (
  email TEXT NOT NULL REFERENCES user (email) ON DELETE CASCADE,
  provider TEXT NOT NULL REFERENCES identity_provider (id) ON DELETE CASCADE,
  subject TEXT NOT NULL,
  linked_by TEXT NOT NULL CHECK (linked_by IN ('password', 'operator', 'verified_email')),
  linked_at INTEGER NOT NULL,
  PRIMARY KEY (email, provider)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX user_identity_by_subject ON user_identity (provider, subject);
