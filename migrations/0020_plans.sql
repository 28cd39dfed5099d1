-- How many requests a tenant may make a minute: the name of a plan (src/platform/plans.ts).
ALTER TABLE tenant ADD COLUMN plan TEXT NOT NULL DEFAULT 'standard' CHECK (plan IN ('small', 'standard', 'large'));
