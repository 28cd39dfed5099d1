import { reset, type D1Migration } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { vi } from "vitest";
import type { PingStub } from "../../../src/platform/storage/answering-ping.ts";
import { parseObjectShards } from "../../../src/platform/storage/object-shards.ts";
import { shardObjectName, shardsOf } from "../../../src/platform/storage/shards.ts";
import { forgetModules } from "./forget-modules.ts";
import { reuseRsaKeys } from "./rsa-keys.ts";
import { lowerPasswordCost } from "./password-cost.ts";

/** The state that all files of a runtime share. */
const runtime = globalThis as { schema?: string; usedObjects?: Set<number> };

const given = env as typeof env & { readonly TEST_MIGRATIONS: D1Migration[] };

/**
 * Test files follow each other in one runtime, because starting one takes longer than most files do. Each file begins
 * as if it were the first: the clock is the real one, no module has state (the Worker's state of an isolate is new), no
 * object lives, and only empty tables are stored.
 */
export async function startFresh(): Promise<void> {
  vi.useRealTimers();
  forgetModules();
  reuseRsaKeys();
  await lowerPasswordCost();
  await wakeWhatAllShare();
  await reset();
  const empty = databases().map(({ db }) => db);
  if (runtime.schema === undefined) {
    runtime.schema = await migrated(empty[0]!, given.TEST_MIGRATIONS);
    empty.shift();
  }
  await Promise.all(empty.map((db) => db.prepare(runtime.schema!).run()));
}

/** Returns the databases of D1. An object gets its tables with its first statement. */
const databases = () => shardsOf({ ...env, OBJECT_SHARDS: "" });
const objectShards = () => [...(parseObjectShards(env.OBJECT_SHARDS) ?? new Map()).keys()];

/**
 * Returns the schema that the migrations create as one text of SQL, which runs in a tenth of their time. The migrations
 * themselves are applied once in a runtime, in one batch.
 */
async function migrated(db: D1Database, migrations: readonly D1Migration[]): Promise<string> {
  const list =
    "CREATE TABLE d1_migrations (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE, " +
    "applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL)";
  const listed = db.prepare("INSERT INTO d1_migrations (name) SELECT value FROM json_each(?)");
  await db.batch([
    ...[list, ...migrations.flatMap(({ queries }) => queries)].map((query) => db.prepare(query)),
    listed.bind(JSON.stringify(migrations.map(({ name }) => name))),
  ]);
  const { results: schema } = await db
    .prepare(
      "SELECT name, type, sql FROM sqlite_schema WHERE sql IS NOT NULL " +
        "AND name NOT GLOB 'sqlite_*' AND name NOT GLOB '_cf_*' ORDER BY rowid",
    )
    .all<{ name: string; type: string; sql: string }>();
  const rows: string[] = [];
  for (const { name } of schema.filter(({ type }) => type === "table")) {
    const { results } = await db.prepare(`SELECT * FROM "${name}"`).all<Record<string, string | number | null>>();
    for (const row of results)
      rows.push(`INSERT INTO "${name}" VALUES (${Object.values(row).map(literal).join(", ")})`);
  }
  // Triggers come last, because they must not act on these rows.
  const ofType = (isTrigger: boolean) => schema.filter(({ type }) => (type === "trigger") === isTrigger);
  return [...ofType(false).map(({ sql }) => sql), ...rows, ...ofType(true).map(({ sql }) => sql)].join(";\n");
}

const literal = (value: string | number | null): string =>
  typeof value === "string" ? `'${value.replaceAll("'", "''")}'` : String(value);

/**
 * Wakes sleeping objects before `reset`, which empties only objects that live. Databases, buckets and caches consist of
 * objects, and an object that nobody has called for ten seconds sleeps and would keep its data. The Worker's own
 * sleeping objects may stay: each file has its own names, and metrics-support.ts empties those of the metrics. To wake
 * them all would take longer with each file, because emptied objects stay listed.
 */
const wakeWhatAllShare = async (): Promise<unknown> =>
  Promise.all([
    ...databases().map(({ db }) => db.prepare("SELECT 1").run()),
    ...[...objectShards(), ...(await tenantObjects())].map((number) => pinged(shardObjectName(number))),
    env.MEDIA.head("any"),
    env.BACKUP?.head("any"),
    caches.default.match("https://any.example/"),
  ]);

/** The tenant objects of the last file. The next file uses their numbers again. */
async function tenantObjects(): Promise<readonly number[]> {
  if (runtime.schema === undefined) return [];
  const { results } = await env.DB.prepare("SELECT number FROM tenant_object").all<{ number: number }>();
  const numbers = [...results.map(({ number }) => number), ...(runtime.usedObjects ?? [])];
  runtime.usedObjects?.clear();
  return numbers;
}

/** Pings an object. An object that still runs the modules of the previous file ends at the first call. */
async function pinged(name: string): Promise<void> {
  const ping = () => (env.SHARD_DATABASE.getByName(name) as unknown as PingStub).ping();
  await ping().catch(ping);
}

await startFresh();
