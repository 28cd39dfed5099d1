-- Applications and identity providers as the sign-in page shows them (src/oauth/pages). Empty: as before.
ALTER TABLE client ADD COLUMN display_name TEXT NOT NULL DEFAULT '';
ALTER TABLE client ADD COLUMN logo_uri TEXT NOT NULL DEFAULT '';
ALTER TABLE identity_provider ADD COLUMN button TEXT NOT NULL DEFAULT '';
-- 1: an address of which the provider does not say whether it is verified counts as verified.
ALTER TABLE identity_provider ADD COLUMN trusts_email INTEGER NOT NULL DEFAULT 0;
CREATE INDEX identity_provider_by_button ON identity_provider (button, id) WHERE button > '';
