-- 1: people are asked before the client gets access. A consent for a tenant has `tenant=` and its id in `consent.org`.
ALTER TABLE client ADD COLUMN third_party INTEGER;
-- The words for the scopes of a service that the page of consent shows: JSON, by scope.
ALTER TABLE service ADD COLUMN scope_descriptions TEXT NOT NULL DEFAULT '{}';
