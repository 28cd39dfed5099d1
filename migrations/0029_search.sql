-- The operator service finds tenants, users and clients by the beginning of a name.
CREATE INDEX tenant_by_name ON tenant (name COLLATE NOCASE);
CREATE INDEX user_by_name ON user (name COLLATE NOCASE);
CREATE INDEX client_by_display_name ON client (display_name COLLATE NOCASE);
