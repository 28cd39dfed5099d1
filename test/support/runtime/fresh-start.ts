import { reset, type D1Migration } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { vi } from "vitest";
import type { PingStub } from "../../../src/platform/storage/answering-ping.ts";
import { parseObjectShards } from "../../../src/platform/storage/object-shards.ts";
import { shardObjectName, shardsOf } from "../../../src/platform/storage/shards.ts";
import { forgetModules } from "./forget-modules.ts";
import { reuseRsaKeys } from "./rsa-keys.ts";
import { lowerPasswordCost } from "./password-cost.ts";

/** What all files of a runtime share. */
const runtime = globalThis as { schema?: string };

const given = env as typeof env & { readonly TEST_MIGRATIONS: D1Migration[] };

/**
 * Test files follow each other in one runtime, since a new one for each takes longer than most files do. Each begins as if
 * it were the first: the clock is the real one, no module remembers anything (what the Worker keeps for its isolate is
 * made anew), no object lives and nothing is stored but empty tables.
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

/** Those of D1. An object gets its tables with the first statement. */
const databases = () => shardsOf({ ...env, OBJECT_SHARDS: "" });
const objectShards = () => [...(parseObjectShards(env.OBJECT_SHARDS) ?? new Map()).keys()];

/**
 * What the migrations make of a database, as one text of SQL, which runs in a tenth of their time. They are applied once in
 * a runtime, in one batch.
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
  // No trigger acts on rows that were there before it.
  const ofType = (isTrigger: boolean) => schema.filter(({ type }) => (type === "trigger") === isTrigger);
  return [...ofType(false).map(({ sql }) => sql), ...rows, ...ofType(true).map(({ sql }) => sql)].join(";\n");
}

const literal = (value: string | number | null): string =>
  typeof value === "string" ? `'${value.replaceAll("'", "''")}'` : String(value);

/**
 * `reset` empties the objects that live, those that databases, buckets and caches are made of among them. One that nobody
 * has called for ten seconds sleeps, and would keep what it has. The Worker's own objects that sleep are left alone: each
 * file has names of its own, and what was emptied is still listed, so to wake all takes longer with each file.
 */
const wakeWhatAllShare = (): Promise<unknown> =>
  Promise.all([
    ...databases().map(({ db }) => db.prepare("SELECT 1").run()),
    ...objectShards().map((number) => pinged(shardObjectName(number))),
    env.MEDIA.head("any"),
    env.BACKUP?.head("any"),
    caches.default.match("https://any.example/"),
  ]);

/** One that lives with the modules of the file before ends at the first call. */
async function pinged(name: string): Promise<void> {
  const ping = () => (env.SHARD_DATABASE.getByName(name) as unknown as PingStub).ping();
  await ping().catch(ping);
}

await startFresh();
