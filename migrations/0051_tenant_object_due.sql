-- In the directory: when the next sweep of a tenant's object is due, by the last one. NULL: never, or it is not known.
ALTER TABLE tenant_object ADD COLUMN due_at INTEGER;
CREATE INDEX tenant_object_due ON tenant_object (due_at) WHERE due_at IS NOT NULL;
