-- Secrets of clients that sign assertions by them (`client_secret_jwt`, src/oauth/clients/mac-secret.ts): sealed, since
-- a MAC needs the secret itself. Empty: a plain secret, of which the digest is enough.
ALTER TABLE client_secret ADD COLUMN sealed TEXT;
-- Both for the cron that seals anew.
CREATE INDEX client_secret_by_seal_key ON client_secret (substr(sealed, 1, instr(sealed, '.') - 1));
CREATE INDEX client_secret_by_digest ON client_secret (digest);
