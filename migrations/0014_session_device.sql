-- The browser of a session and the place of its sign-in, for the account page; empty: unknown. `seen_at`: the last use,
-- to the hour; 0: the sign-in.
ALTER TABLE session ADD COLUMN browser TEXT NOT NULL DEFAULT '';
ALTER TABLE session ADD COLUMN system TEXT NOT NULL DEFAULT '';
ALTER TABLE session ADD COLUMN country TEXT NOT NULL DEFAULT '';
ALTER TABLE session ADD COLUMN city TEXT NOT NULL DEFAULT '';
ALTER TABLE session ADD COLUMN seen_at INTEGER NOT NULL DEFAULT 0;
