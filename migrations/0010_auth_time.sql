-- When an identity provider had asked the user whom it vouched for: its `auth_time`, in milliseconds since 1970. NULL: it
-- did not say, or the user was asked here, at `authenticated_at`.
ALTER TABLE session ADD COLUMN proven_at INTEGER;
