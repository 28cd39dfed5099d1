-- Under which key each is sealed, so that what is under an old one is found and sealed anew.
CREATE INDEX identity_provider_by_seal_key
  ON identity_provider (substr(sealed_client_secret, 1, instr(sealed_client_secret, '.') - 1));
CREATE INDEX signing_key_by_seal_key
  ON signing_key (substr(sealed_private_jwk, 1, instr(sealed_private_jwk, '.') - 1));
