-- How many tenants went that way: who looks for a file and walked it looks again where it was gone since.
ALTER TABLE departed_to ADD COLUMN departures INTEGER NOT NULL DEFAULT 1;
