-- What was authorized names its session by the platform's own id. Where a caller had named it, nobody knows which browser's it
-- was: it gets an id of its own, so that nothing is revoked, or kept from it, by a name that a caller chose.
UPDATE refresh_grant SET authorization = json_set(authorization, '$.sessionId', lower(hex(randomblob(16))))
WHERE length(authorization ->> 'sessionId') <> 32 OR authorization ->> 'sessionId' GLOB '*[^0-9a-f]*';
UPDATE authorization_code SET authorization = json_set(authorization, '$.sessionId', lower(hex(randomblob(16))))
WHERE length(authorization ->> 'sessionId') <> 32 OR authorization ->> 'sessionId' GLOB '*[^0-9a-f]*';

-- What a person allowed a client of a tenant that they are no member of: for an organization, or outside of any (`org` is
-- empty then). `tenant` is the client's when it was allowed. `scopes`: JSON, a list, with `openid` where it was among them.
CREATE TABLE consent (
  email TEXT NOT NULL REFERENCES user (email) ON DELETE CASCADE,
  client TEXT NOT NULL REFERENCES client (id) ON DELETE CASCADE,
  org TEXT NOT NULL,
  tenant TEXT NOT NULL,
  scopes TEXT NOT NULL,
  given_at INTEGER NOT NULL,
  PRIMARY KEY (email, client, org)
) STRICT, WITHOUT ROWID;
CREATE INDEX consent_by_client ON consent (client);
