-- Providers that are bound to domains, which a sign-in page finds by the address. Their lists sort before the empty one.
CREATE INDEX identity_provider_by_domains ON identity_provider (domains, id) WHERE domains < '[]';
