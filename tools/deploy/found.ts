import { SEALED_COLUMNS } from "../../src/oauth/federation/seal-store.ts";
import { mapInParallel } from "../../src/platform/runtime/parallel.ts";
import type { Cloudflare } from "./cloudflare.ts";
import type { Deployment } from "./deployment.ts";

/** The state of a deployment in the account before anything is changed. */
export interface Found {
  /** The directory. */
  readonly database: FoundDatabase | undefined;
  /**
   * The databases of the other shards, from 1 on. Undefined for one that is not there, and for an object: only the
   * Worker knows what that has (sealed.ts).
   */
  readonly shards: readonly (FoundDatabase | undefined)[];
  readonly bucket: FoundBucket | undefined;
  readonly backupBucket: FoundBucket | undefined;
  /** The deployment's queues that exist. */
  readonly queues: ReadonlyMap<string, FoundPlace>;
  /** As its settings tell it: perhaps not the version that runs, but one that was uploaded later. */
  readonly worker: FoundWorker | undefined;
  /** One for each host of the deployment, then hosts of the Worker that the file does not name. */
  readonly hosts: readonly FoundHost[];
}

/** The place of a resource. Undefined: the API does not tell it. */
export interface FoundPlace {
  readonly jurisdiction?: string | null | undefined;
}

export interface FoundDatabase extends FoundPlace {
  readonly id: string;
  /** Names of applied migrations; undefined: the table of migrations is not there. */
  readonly applied: readonly string[] | undefined;
  /** Tables that are not SQLite's, D1's or the list of migrations. */
  readonly tables: number;
  /** True if a record is sealed with one of SEAL_KEYS. */
  readonly hasRecords: boolean;
  /** True of the directory, if a tenant has an object of its own, or had one. */
  readonly hasTenantObjects: boolean;
  /** Ids of the keys that something stored is sealed with. */
  readonly sealKeyIds: readonly string[];
}

export interface FoundBucket {
  readonly isEmpty: boolean;
}

export interface FoundWorker {
  /** Its plain variables. */
  readonly vars: Readonly<Record<string, string>>;
  /** Names of its secrets. */
  readonly secrets: ReadonlySet<string>;
  /** Ids of the databases that it is bound to, by name: `DB`, `SHARD_01`. */
  readonly databases: ReadonlyMap<string, string | undefined>;
  /** Classes of its objects. */
  readonly classes: ReadonlySet<string>;
}

export interface FoundHost {
  readonly host: string;
  /** The zone of the account that the host lies in. */
  readonly zoneId: string | undefined;
  /** The Worker that has it as a custom domain. */
  readonly service: string | undefined;
  /** Id of the custom domain, to detach it. */
  readonly domainId: string | undefined;
  /** DNS records of the host that no custom domain made, as `A 192.0.2.1`. */
  readonly records: readonly string[];
}

export interface Binding {
  readonly type: string;
  readonly name: string;
  readonly text?: string;
  readonly id?: string;
  readonly class_name?: string;
}

interface FoundQueue extends FoundPlace {
  readonly queue_name: string;
}

interface Domain {
  readonly id: string;
  readonly hostname: string;
  readonly service: string;
  readonly zone_id: string;
}

/** Our choice: the API allows some four requests a second, for minutes. */
const DATABASES_AT_ONCE = 4;

/** SQL: the ids of the keys that sealed something. The database of an older release has fewer of the columns. */
function usedSealKeys(tables: ReadonlyMap<string, string>): string {
  const isThere = ({ table, column }: { readonly table: string; readonly column: string }): boolean =>
    new RegExp(String.raw`\b${column}\b`).test(tables.get(table) ?? "");
  const keys = SEALED_COLUMNS.filter(isThere).map(
    ({ table, column }) =>
      `SELECT substr(${column}, 1, instr(${column}, '.') - 1) AS id FROM ${table} WHERE ${column} IS NOT NULL`,
  );
  return [...keys, "SELECT seal_key AS id FROM push_subscription"].join(" UNION ");
}

export async function inspect(cloudflare: Cloudflare, deployment: Deployment): Promise<Found> {
  const [directory, ...others] = deployment.databases;
  const [database, shards, bucket, backupBucket, queues, worker, hosts] = await Promise.all([
    findDatabase(cloudflare, directory, true),
    mapInParallel(others, DATABASES_AT_ONCE, async (name) =>
      name === undefined ? undefined : findDatabase(cloudflare, name),
    ),
    findBucket(cloudflare, deployment, deployment.bucket),
    findBucket(cloudflare, deployment, deployment.backupBucket),
    cloudflare.account.list<FoundQueue>("/queues"),
    findWorker(cloudflare, deployment.worker),
    findHosts(cloudflare, deployment),
  ]);
  const named = queues.filter(({ queue_name: name }) => deployment.queues.includes(name));
  return {
    database,
    shards,
    bucket,
    backupBucket,
    queues: new Map(named.map(({ queue_name: name, jurisdiction }) => [name, { jurisdiction }])),
    worker,
    hosts,
  };
}

async function findDatabase(
  cloudflare: Cloudflare,
  name: string,
  isDirectory = false,
): Promise<FoundDatabase | undefined> {
  const id = await findDatabaseId(cloudflare, name);
  if (id === undefined) return undefined;
  const { jurisdiction } = (await cloudflare.account.find<FoundPlace>(`/d1/database/${id}`)) ?? {};
  const found = await query<{ name: string; sql: string }>(
    cloudflare,
    id,
    "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE '\\_cf\\_%' ESCAPE '\\'",
  );
  const tables = new Map(found.map(({ name: table, sql }) => [table, sql]));
  const isOurs = ["signing_key", "push_subscription", "identity_provider"].every((table) => tables.has(table));
  const sealed = isOurs ? await query<{ id: string }>(cloudflare, id, usedSealKeys(tables)) : [];
  const objects =
    isDirectory && tables.has("tenant_object")
      ? await query(cloudflare, id, "SELECT number FROM tenant_object LIMIT 1")
      : [];
  return {
    id,
    jurisdiction,
    applied: tables.delete("d1_migrations") ? await appliedMigrations(cloudflare, id) : undefined,
    tables: tables.size,
    hasRecords: sealed.length > 0,
    hasTenantObjects: objects.length > 0,
    sealKeyIds: sealed.map((row) => row.id),
  };
}

export async function findDatabaseId({ account }: Cloudflare, name: string): Promise<string | undefined> {
  const all = await account.list<{ name: string; uuid: string }>(`/d1/database?name=${encodeURIComponent(name)}`);
  return all.find((database) => database.name === name)?.uuid;
}

export async function appliedMigrations(cloudflare: Cloudflare, id: string): Promise<string[]> {
  const rows = await query<{ name: string }>(cloudflare, id, "SELECT name FROM d1_migrations ORDER BY id");
  return rows.map(({ name }) => name);
}

async function query<T>({ account }: Cloudflare, id: string, sql: string): Promise<T[]> {
  const answers = await account.send<{ results: T[] }[]>("POST", `/d1/database/${id}/query`, { sql });
  return answers[0]?.results ?? [];
}

async function findBucket(
  cloudflare: Cloudflare,
  { jurisdiction }: Deployment,
  bucket: string,
): Promise<FoundBucket | undefined> {
  const account = cloudflare.within(jurisdiction);
  if ((await account.find(`/r2/buckets/${bucket}`)) === undefined) return undefined;
  const objects = await account.find<unknown[]>(`/r2/buckets/${bucket}/objects?per_page=1`);
  return { isEmpty: (objects ?? []).length === 0 };
}

async function findWorker({ account }: Cloudflare, name: string): Promise<FoundWorker | undefined> {
  const settings = await account.find<{ bindings: Binding[] }>(`/workers/scripts/${name}/settings`);
  return settings === undefined ? undefined : workerOf(settings.bindings);
}

export function workerOf(bindings: readonly Binding[]): FoundWorker {
  const ofType = (wanted: string): readonly Binding[] => bindings.filter(({ type }) => type === wanted);
  return {
    vars: Object.fromEntries(ofType("plain_text").map(({ name, text }) => [name, text ?? ""])),
    secrets: new Set(ofType("secret_text").map(({ name }) => name)),
    databases: new Map(ofType("d1").map(({ name, id }) => [name, id])),
    classes: new Set(ofType("durable_object_namespace").flatMap(({ class_name: name }) => name ?? [])),
  };
}

async function findHosts(cloudflare: Cloudflare, { hosts, worker }: Deployment): Promise<FoundHost[]> {
  const [zones, domains] = await Promise.all([
    cloudflare.root.list<{ id: string; name: string }>(`/zones?account.id=${cloudflare.accountId}`),
    cloudflare.account.list<Domain>("/workers/domains"),
  ]);
  const named = hosts.map(async (host): Promise<FoundHost> => {
    const zone = zones
      .filter(({ name }) => host === name || host.endsWith(`.${name}`))
      .toSorted((one, other) => other.name.length - one.name.length)[0];
    const domain = domains.find(({ hostname }) => hostname === host);
    const found = { host, zoneId: zone?.id, service: domain?.service, domainId: domain?.id };
    if (zone === undefined || domain !== undefined) return { ...found, records: [] };
    const records = await cloudflare.root.list<{ name: string; type: string; content: string }>(
      `/zones/${zone.id}/dns_records?name=${host}`,
    );
    return { ...found, records: records.map(({ type, content }) => `${type} ${content}`) };
  });
  const others = domains
    .filter(({ service, hostname }) => service === worker && !hosts.includes(hostname))
    .map(({ id, hostname, service, zone_id: zoneId }) => ({
      host: hostname,
      zoneId,
      service,
      domainId: id,
      records: [],
    }));
  return [...(await Promise.all(named)), ...others];
}
