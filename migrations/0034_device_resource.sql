-- The services that a device wants a token for (RFC 8707): the values of `resource`, with spaces between them.
ALTER TABLE device_code ADD COLUMN resource TEXT NOT NULL DEFAULT '';
