/** Tables of files, which every shard has rows in. */
const FILE_TABLES = [
  "owner",
  "file",
  "variant",
  "requester",
  "erasure",
  "moved_file",
  // After reports: where a tenant left, none is made.
  "departed_tenant",
  "departed_to",
  "past_place",
] as const;

/**
 * The tables of D1: each is backed up, or named here with the reason why it can be made again. A test compares both
 * lists with the schema.
 *
 * Restored in this order, so that a row comes after the rows that it refers to. Backed up in the opposite order while
 * the platform works: a row that is read refers to something that is read later, and so is there, or was deleted
 * meanwhile, and the row with it.
 */
export const TABLES = [
  // Read last: whatever was revoked while the backup ran is revoked in it.
  "revocation",
  "organization",
  "tenant",
  "tenant_shard",
  "user",
  "totp",
  "recovery_code",
  "passkey",
  "role",
  "tenant_member",
  "tenant_member_role",
  "organization_member",
  "organization_member_role",
  "service",
  "client",
  "client_secret",
  "package",
  "package_service",
  "subscription",
  "signing_key",
  "identity_provider",
  "user_identity",
  "session",
  "session_client",
  "logout_notice",
  "logout_endpoint",
  "authorization_code",
  "refresh_grant",
  "refresh_token",
  "consent",
  "unregistered_client",
  "audit_entry",
  // Read before the log: a row of a shard may be twice in a backup, and is never missing.
  "carried_audit",
  "audit_copy",
  "topic",
  "push_subscription",
  ...FILE_TABLES,
  // Read first, before the logs: an event is in one of them.
  "outbox",
] as const;
export type Table = (typeof TABLES)[number];

/**
 * The tables in which shards beside the directory have rows, in the same order. Sign-ins refer to copies or anchors of
 * rows of the directory. Rows of the audit log are on their way there: the directory's are read later.
 */
const SHARD_TABLES = [
  "organization",
  "tenant",
  "user",
  "client",
  "session",
  "session_client",
  "logout_notice",
  "authorization_code",
  "refresh_grant",
  "refresh_token",
  "carried_audit",
  "push_subscription",
  ...FILE_TABLES,
] as const satisfies readonly Table[];

/** A table of one of the databases. `key` names it in a backup: `file` of the directory, `file@1` of shard 1. */
export interface PlacedTable {
  readonly table: Table;
  readonly shard: number;
  readonly key: string;
}

export const placed = (table: Table, shard: number): PlacedTable => ({
  table,
  shard,
  key: shard === 0 ? table : `${table}@${shard}`,
});

/** The shard in the key of a table. */
export const shardOfKey = (key: string): number => Number(/@(\d+)$/.exec(key)?.[1] ?? 0);
export const isTable = (key: string, table: Table): boolean => key.replace(/@\d+$/, "") === table;

/** The tables of the shards beside the directory, of so many databases in all. A file may move meanwhile, once. */
export const tablesOfShards = (count: number): readonly PlacedTable[] =>
  Array.from({ length: count - 1 }, (_, at) => SHARD_TABLES.map((table) => placed(table, at + 1))).flat();

export const MADE_AGAIN: Readonly<Record<string, string>> = {
  federation: "A sign-in under way at a provider, for ten minutes: the person begins again.",
  mail_link: "A link in a mail, good for half an hour: the person asks for another one.",
  pushed_request: "An authorization request under way, for a quarter of an hour: the person begins again.",
  device_code: "A device that waits for its person, for ten minutes: it begins again.",
  used_assertion: "Assertions of the last minutes: one that is repeated after a restore has expired.",
  tenant_invitation: "A link in a mail, good for a week: the person is invited again.",
  organization_invitation: "The same.",
  lease: "The holder of a running job.",
  audit: "The audit log of the release before: its rows are in `audit_entry` too.",
  audit_state: "The same; empty outside of a transaction.",
  reservation: "The sums of pending files, counted again from them.",
  attribute: "The index of metadata, made again from the files' own columns.",
  key_set: "A part of that index.",
  consistency_run: "A comparison of the bucket with D1: it can be made again.",
  consistency_finding: "A part of such a comparison.",
  sweep_run: "The heartbeats of the sweeps: the next run writes them.",
  revocation_bound: "A count of revocations, made again when it is asked for.",
  dead_work: "Work of the queue that failed: it fails again, or not.",
  tenant_copy: "What a shard knows of its tenants, copied again from the directory.",
  shard_size: "How full each shard is: measured again.",
  tenant_move: "None is under way while a backup is made.",
  moving_tenant: "A tenant that moves: none does while a backup is made.",
  moving_change: "The same.",
  ended_move: "What keeps late calls of moves from beginning anything.",
  closing: "A change of a client or tenant under way, for a moment: the operator repeats it.",
  restore_point: "The last restore of this database, which a restore of a backup marks anew.",
  d1_migrations: "The schema: a deployment makes it.",
};

/** Each class of Durable Objects likewise. */
export const OBJECTS: Readonly<Record<string, string>> = {
  TopicLog: "backed up",
  TopicConsumer: "backed up",
  PushSubscription: "backed up",
  MetricsStore: "backed up",
  MetricsCollector: "Counts of the last seconds on their way to a store.",
  LoginAttempts: "Wrong passwords of a day: the count begins again.",
  GuessCounter: "Guesses of an hour or a day: the count begins again.",
  BackupJob: "The job itself.",
  ShardDatabase: "A shard: its tables are backed up like those of another one.",
};

/** An empty platform has these: the first token makes a key, and each change of the operator a row. */
export const TABLES_OF_AN_EMPTY_PLATFORM: ReadonlySet<string> = new Set<Table>(["signing_key", "audit_entry"]);
