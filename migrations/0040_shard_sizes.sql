-- In the directory: what is known of each shard, for new tenants, which go to the emptiest. `bytes`: the size of its
-- database, measured by the cron once an hour; `tenants`: those that have it, counted then, and each new one since.
CREATE TABLE shard_size (
  shard INTEGER PRIMARY KEY,
  bytes INTEGER NOT NULL,
  tenants INTEGER NOT NULL,
  measured_at INTEGER NOT NULL
) STRICT;
INSERT INTO shard_size (shard, bytes, tenants, measured_at)
  SELECT coalesce(shard, 0) AS number, 0, count(*), 0
  FROM tenant LEFT JOIN tenant_shard ON tenant_shard.tenant = tenant.id GROUP BY number;
