/**
 * The tables of a push subscription's object.
 *
 * - `subscription`: one row, see state.ts.
 * - `delivery`: see delivery-table.ts.
 */
export const SCHEMA_VERSION = 2;
export const SCHEMA = [
  `CREATE TABLE subscription (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    schema_version INTEGER NOT NULL,
    push_id TEXT NOT NULL,
    topic TEXT NOT NULL,
    opened_at INTEGER NOT NULL,
    cursor TEXT NOT NULL,
    events_lost INTEGER NOT NULL,
    health TEXT NOT NULL,
    handshake TEXT
  ) STRICT`,
  `CREATE TABLE delivery (
    place INTEGER PRIMARY KEY,
    event_id TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL CHECK (state IN ('pending', 'delivered', 'dead')),
    at INTEGER NOT NULL,
    step INTEGER NOT NULL,
    tries INTEGER NOT NULL,
    attempt_count INTEGER NOT NULL,
    attempts TEXT NOT NULL,
    text TEXT
  ) STRICT`,
  `CREATE INDEX delivery_by_time ON delivery (state, at)`,
  `CREATE INDEX delivery_by_state ON delivery (state)`,
];

/** What brings the tables of an older version to this one; the version itself is written by whoever runs it. */
export const upgradeFrom = (version: number): readonly string[] => UPGRADES.slice(version - 1).flat();

/** What each version since the second one added to the one before. */
const UPGRADES: readonly (readonly string[])[] = [[`ALTER TABLE subscription ADD COLUMN handshake TEXT`]];
