-- A sign-in pays for each index of each row that it writes. What these indexes found is found otherwise:
-- expired rows by a walk through a part of the key (src/oauth/model/slice.ts), codes of a client, a tenant or a
-- session by a walk through the codes of the last hours, which operators alone ask for.
DROP INDEX session_by_expiry;
DROP INDEX authorization_code_by_expiry;
DROP INDEX refresh_token_by_use;
DROP INDEX authorization_code_by_client;
DROP INDEX authorization_code_by_tenant;
DROP INDEX authorization_code_by_session;
-- A session's id is the beginning of its key, and the ids of its grants begin with it. These indexes hold the rows
-- from before.
DROP INDEX session_by_sid;
CREATE INDEX session_by_own_sid ON session (sid) WHERE sid <> substr(id_hash, 1, 32);
DROP INDEX refresh_grant_by_session;
CREATE INDEX refresh_grant_by_other_session ON refresh_grant (authorization ->> 'sessionId') WHERE instr(id, '.') = 0;
