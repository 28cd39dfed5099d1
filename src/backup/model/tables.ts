/** Tables of files. Every shard has rows in them, and every tenant object. */
const FILE_TABLES = [
  "owner",
  "file",
  "variant",
  "requester",
  "erasure",
  "moved_file",
  // Restored after reports: a shard takes no new reports of a tenant that left it.
  "departed_tenant",
  "departed_to",
  "past_place",
] as const;

/**
 * The tables that are backed up. `MADE_AGAIN` names the others, with the reason. A test compares both lists with the
 * schema.
 *
 * A restore writes tables in this order, so that a row comes after the rows that it refers to. A backup reads them in
 * the opposite order, while the platform works. So the rows that a row refers to are read after it: they are in the
 * backup, unless they were deleted meanwhile, and then the restore leaves the row out.
 */
export const TABLES = [
  // Read last, so that the backup has all revocations from while it ran.
  "revocation",
  "organization",
  "tenant",
  "tenant_shard",
  // Read after all tenant objects, so that the backup lists each of them, and each client that has rows in one.
  "tenant_object",
  "client_object",
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
  // Read before the audit log: a row of a shard may be in a backup twice, and is never missing.
  "carried_audit",
  "audit_copy",
  "topic",
  "push_subscription",
  ...FILE_TABLES,
  // Read first, before the logs of topics: each waiting event is in the outbox or in a log.
  "outbox",
] as const;
export type Table = (typeof TABLES)[number];

/**
 * The tables with rows in the shards other than the directory, in the same order. `organization`, `tenant`, `user` and
 * `client` have copies or anchors there, to which other rows refer. `carried_audit` has rows of the audit log that are
 * on their way to the directory, which is read later.
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

/**
 * The tables with rows in tenant objects, in the same order. There may be very many such objects, so a backup has one
 * table for all of them, `file@objects`, whose first column is the number of the object.
 */
export const OBJECT_TABLES = ["organization", "tenant", ...FILE_TABLES] as const satisfies readonly Table[];
const OF_OBJECTS = "objects";
export const OBJECT_COLUMN = "object number";
export const keyOfObjects = (table: Table): string => `${table}@${OF_OBJECTS}`;

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

/** The shard in the key of a table; 0 for a table of tenant objects, whose columns are those of the directory. */
export const shardOfKey = (key: string): number => Number(/@(\d+)$/.exec(key)?.[1] ?? 0);
export const tableOfKey = (key: string): Table => key.split("@")[0] as Table;

/** The tables of the shards other than the directory. `count`: all databases of the platform, with the directory. */
export const tablesOfShards = (count: number): readonly PlacedTable[] =>
  Array.from({ length: count - 1 }, (_, at) => SHARD_TABLES.map((table) => placed(table, at + 1))).flat();

export const MADE_AGAIN: Readonly<Record<string, string>> = {
  federation: "A sign-in under way at a provider, for ten minutes: the person begins again.",
  mail_link: "A link in a mail, good for half an hour: the person asks for another one.",
  pushed_request: "An authorization request under way, for a quarter of an hour: the person begins again.",
  device_code: "A device that waits for its person, for ten minutes: it begins again.",
  used_assertion: "Assertions of the last minutes: one that is repeated after a restore has expired.",
  tenant_invitation: "A link in a mail, good for a week: the person is invited again.",
  organization_invitation: "Likewise.",
  lease: "The holder of a running job.",
  audit: "The audit log of release 0.1.0: its rows are in `audit_entry` too.",
  audit_state: "A part of that log; empty outside of a transaction.",
  reservation: "The sums of pending files, counted again from them.",
  attribute: "The index of metadata: triggers make it again from the files' own columns.",
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
  moving_change: "Files that changed during such a move.",
  ended_move: "Stops late calls of ended moves; a restored platform gets none.",
  closing: "A change of a client or tenant under way, for a moment: the operator repeats it.",
  restore_point: "The last restore of this database, which a restore of a backup marks anew.",
  d1_migrations: "The schema: a deployment makes it.",
};

/** Each class of Durable Objects: backed up, or the reason why not. */
export const OBJECTS: Readonly<Record<string, string>> = {
  TopicLog: "backed up",
  TopicConsumer: "backed up",
  PushSubscription: "backed up",
  MetricsStore: "backed up",
  MetricsCollector: "Counts of the last seconds on their way to a store.",
  LoginAttempts: "Wrong passwords of a day: the count begins again.",
  GuessCounter: "Guesses of an hour or a day: the count begins again.",
  BackupJob: "The job itself.",
  ShardDatabase: "A shard or a tenant object: its tables are backed up.",
};

/** Tables with rows on an empty platform: the first token makes a key, and each change by an operator an audit row. */
export const TABLES_OF_AN_EMPTY_PLATFORM: ReadonlySet<string> = new Set<Table>(["signing_key", "audit_entry"]);
