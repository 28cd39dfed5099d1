-- The network that a client registered itself from: SHA-256. NULL: a document describes the client.
ALTER TABLE unregistered_client ADD COLUMN network TEXT;
CREATE INDEX unregistered_client_by_network ON unregistered_client (network, read_at) WHERE network IS NOT NULL;
