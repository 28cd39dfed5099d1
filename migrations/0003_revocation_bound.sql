-- The bound of revocations for the whole platform (src/oauth/tokens/revocation-collapse-store.ts).

-- The client that the revoked tokens were issued to, if one revocation of that client would include them.
ALTER TABLE revocation ADD COLUMN issued_to TEXT;

-- One row: when `seq` was the newest number, so many revocations were alive.
CREATE TABLE revocation_bound (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  seq INTEGER NOT NULL,
  living INTEGER NOT NULL
) STRICT;
INSERT INTO revocation_bound (id, seq, living) VALUES (1, 0, 0);
