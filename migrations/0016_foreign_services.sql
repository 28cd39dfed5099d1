-- What an operator says of a service by hand: that it gets the whole token of a caller of another tenant, and that its pages
-- may run beside those of all other services. Neither unless it is said.
ALTER TABLE service ADD COLUMN forward_authorization INTEGER NOT NULL DEFAULT 0;
ALTER TABLE service ADD COLUMN trusted INTEGER NOT NULL DEFAULT 0;
