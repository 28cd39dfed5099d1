-- An operator ends all that belongs to a tenant or to a session: what was authorized is found by either.
CREATE INDEX refresh_grant_by_tenant ON refresh_grant (authorization ->> 'tenant');
CREATE INDEX refresh_grant_by_session ON refresh_grant (authorization ->> 'sessionId');
CREATE INDEX authorization_code_by_tenant ON authorization_code (authorization ->> 'tenant');
CREATE INDEX authorization_code_by_session ON authorization_code (authorization ->> 'sessionId');
CREATE INDEX session_by_sid ON session (sid);
