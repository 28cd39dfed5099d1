-- Where the platform tells a client that a session of a person has ended. Empty: it is not told.
ALTER TABLE client ADD COLUMN backchannel_logout_uri TEXT NOT NULL DEFAULT '';
ALTER TABLE client ADD COLUMN backchannel_logout_session_required INTEGER NOT NULL DEFAULT 0;

CREATE INDEX client_told_of_logout ON client (backchannel_logout_uri) WHERE backchannel_logout_uri > '';

-- The clients to be told when a session ends. `session`: the `sid` of the session that lives; `sid`: the one that the
-- client knows. They differ after the person signed in again in the same browser.
CREATE TABLE session_client (
  sid TEXT NOT NULL,
  client TEXT NOT NULL REFERENCES client (id) ON DELETE CASCADE,
  session TEXT NOT NULL,
  email TEXT NOT NULL,
  subject TEXT NOT NULL,
  issuer TEXT NOT NULL,
  PRIMARY KEY (sid, client)
) STRICT, WITHOUT ROWID;
CREATE INDEX session_client_by_session ON session_client (session);
CREATE INDEX session_client_by_client ON session_client (client);
CREATE INDEX session_client_by_email ON session_client (email);

-- What clients have still to be told. A client that was told has no row.
CREATE TABLE logout_notice (
  id TEXT PRIMARY KEY,
  client TEXT NOT NULL REFERENCES client (id) ON DELETE CASCADE,
  subject TEXT NOT NULL,
  sid TEXT NOT NULL,
  issuer TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  next_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX logout_notice_by_time ON logout_notice (next_at);
CREATE INDEX logout_notice_by_client ON logout_notice (client);

-- However a session ends, its clients are to be told in the same transaction.
CREATE TRIGGER session_ended AFTER DELETE ON session
WHEN EXISTS (SELECT 1 FROM session_client WHERE session = old.sid)
BEGIN
  INSERT INTO logout_notice (id, client, subject, sid, issuer, created_at, next_at)
  SELECT lower(hex(randomblob(16))), client, subject, sid, issuer, CAST(unixepoch('subsec') * 1000 AS INTEGER), 0
  FROM session_client WHERE session = old.sid;
  DELETE FROM session_client WHERE session = old.sid;
END;

-- The sessions of a person who was disabled or signed out everywhere are not valid any more, though their rows stay.
CREATE TRIGGER user_signed_out AFTER UPDATE OF disabled, signed_out_at ON user
WHEN (new.signed_out_at > old.signed_out_at OR new.disabled > old.disabled)
  AND EXISTS (SELECT 1 FROM session_client WHERE email = new.email)
BEGIN
  INSERT INTO logout_notice (id, client, subject, sid, issuer, created_at, next_at)
  SELECT lower(hex(randomblob(16))), client, subject, sid, issuer, CAST(unixepoch('subsec') * 1000 AS INTEGER), 0
  FROM session_client WHERE email = new.email;
  DELETE FROM session_client WHERE email = new.email;
END;
