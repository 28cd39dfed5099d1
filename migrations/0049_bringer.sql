-- The person who brought a client that nobody registered: SHA-256. NULL: nobody yet, or before this column was there.
ALTER TABLE unregistered_client ADD COLUMN brought_by TEXT;
CREATE INDEX unregistered_client_by_bringer ON unregistered_client (brought_by) WHERE brought_by IS NOT NULL;
