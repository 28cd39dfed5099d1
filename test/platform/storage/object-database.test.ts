import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { objectDatabase } from "../../../src/platform/storage/object-database.ts";
import { MOST_ANSWER_BYTES } from "../../../src/platform/storage/object-execute.ts";
import migrations from "../../../src/platform/storage/migrations.json";
import type { ObjectDatabase } from "../../../src/platform/storage/object-protocol.ts";
import { guardDatabase, StoreUnavailable } from "../../../src/platform/storage/database.ts";
import { NEWEST_MIGRATION } from "../../../src/platform/storage/schema.ts";
import { unique } from "../../support/platform/unique.ts";

const stubOf = (name: string) => env.SHARD_DATABASE.getByName(name) as unknown as ObjectDatabase;
const inObject = (name = unique("database")): D1Database => objectDatabase(() => stubOf(name));

const TABLES = `
  CREATE TABLE parent (id INTEGER PRIMARY KEY, name TEXT UNIQUE, score REAL, bytes BLOB, total INTEGER NOT NULL DEFAULT 0) STRICT;
  CREATE TABLE child (id TEXT PRIMARY KEY, parent INTEGER NOT NULL REFERENCES parent (id)) STRICT;
  CREATE TRIGGER counts AFTER INSERT ON child BEGIN UPDATE parent SET total = total + 1 WHERE id = new.parent; END;
  CREATE TRIGGER refuses BEFORE DELETE ON child WHEN old.id = 'kept' BEGIN SELECT RAISE(ABORT, 'it is kept'); END`;

async function withTables(db: D1Database): Promise<D1Database> {
  const drops = ["child", "parent"].map((table) => `DROP TABLE IF EXISTS ${table}`);
  const statements = TABLES.split(/;\n/).map((sql) => sql.trim());
  await db.batch([...drops, ...statements].map((sql) => db.prepare(sql)));
  return db;
}

/** The outcome as a caller sees it. */
async function outcome(work: () => Promise<unknown>): Promise<unknown> {
  try {
    return await work();
  } catch (thrown) {
    return `threw ${(thrown as Error).message}`;
  }
}

const seen = ({ results, meta }: D1Result) => {
  const { changes, rows_read: read, rows_written: written, last_row_id: last } = meta;
  return { results, changes, read, written, last };
};

/** Steps that run one after the other on the same tables, in a database of D1 and in an object. */
const STEPS: readonly (readonly [name: string, run: (db: D1Database) => Promise<unknown>])[] = [
  [
    "a batch writes, and tells changes with those of triggers, rows and numbers",
    async (db) =>
      (
        await db.batch([
          db.prepare("INSERT INTO parent (name, score) VALUES (?1, ?2)").bind("a", 1.5),
          db.prepare("INSERT INTO child VALUES (?2, ?1)").bind(1, "x"),
          db.prepare("INSERT INTO child VALUES ('y', 1) RETURNING id, parent"),
          db.prepare("UPDATE parent SET total = 7 WHERE name = 'nobody'"),
        ])
      ).map(seen),
  ],
  ["all", async (db) => seen(await db.prepare("SELECT id, name, score, total FROM parent").all())],
  ["columns of one name", async (db) => seen(await db.prepare("SELECT 1 AS a, 2 AS a").all())],
  ["no row", async (db) => seen(await db.prepare("SELECT * FROM parent WHERE id = 99").all())],
  ["first", (db) => db.prepare("SELECT id, name FROM parent").first()],
  ["first of none", (db) => db.prepare("SELECT id FROM parent WHERE id = 99").first()],
  ["first of a column", (db) => db.prepare("SELECT id, name FROM parent").first("name")],
  [
    "values of all kinds",
    (db) =>
      db
        .prepare("SELECT ?1 AS a, ?2 AS b, ?3 AS c, ?4 AS d, ?5 AS e, typeof(?4) AS f, typeof(?2) AS g")
        .bind(null, true, "ä\u0000\u{1f600}", 9_007_199_254_740_991, 0.1)
        .first(),
  ],
  [
    "bytes",
    async (db) => {
      await db
        .prepare("UPDATE parent SET bytes = ?1 WHERE id = 1")
        .bind(new Uint8Array([0, 1, 255]))
        .run();
      return db.prepare("SELECT bytes, length(bytes) AS n FROM parent WHERE id = 1").first();
    },
  ],
  ["a value of no kind", (db) => db.prepare("SELECT ?1").bind(undefined).first()],
  ["UNIQUE", (db) => db.prepare("INSERT INTO parent (name) VALUES ('a')").run()],
  ["NOT NULL", (db) => db.prepare("INSERT INTO child VALUES ('z', NULL)").run()],
  ["a foreign key", (db) => db.prepare("INSERT INTO child VALUES ('z', 99)").run()],
  ["a type", (db) => db.prepare("INSERT INTO parent (score) VALUES ('much')").run()],
  [
    "a trigger that refuses",
    async (db) => {
      await db.prepare("INSERT INTO child VALUES ('kept', 1)").run();
      return db.prepare("DELETE FROM child WHERE id = 'kept'").run();
    },
  ],
  ["no such table", (db) => db.prepare("SELECT * FROM nowhere").all()],
  ["no such column", (db) => db.prepare("SELECT nothing FROM parent").all()],
  ["bad SQL", (db) => db.prepare("SELEC 1").all()],
  [
    "nothing of a batch that fails",
    async (db) => {
      const failed = await outcome(() =>
        db.batch([
          db.prepare("INSERT INTO parent (name) VALUES ('b')"),
          db.prepare("INSERT INTO parent (name) VALUES ('a')"),
        ]),
      );
      return [failed, await db.prepare("SELECT count(*) AS n FROM parent").first("n")];
    },
  ],
  ["many statements", async (db) => (await db.batch(Array.from({ length: 200 }, () => db.prepare("SELECT 1")))).length],
  [
    "the tables of a query",
    (db) => db.prepare("SELECT name, pk FROM pragma_table_info('child') ORDER BY cid").all().then(seen),
  ],
];

describe("a database in an object", () => {
  // shows: operator/shards/object
  it("answers as D1 does: values, counts, errors", async () => {
    const [d1, object] = [await withTables(env.DB), await withTables(inObject())];
    for (const [name, run] of STEPS) {
      const [expected, found] = [await outcome(() => run(d1)), await outcome(() => run(object))];
      expect([name, found]).toEqual([name, expected]);
    }
  });

  it("gets the tables, indexes and triggers of D1 with its first statement", async () => {
    const schema = (db: D1Database) =>
      db
        .prepare(
          `SELECT type, name, tbl_name, sql FROM sqlite_master
            WHERE name NOT LIKE '\\_cf\\_%' ESCAPE '\\' AND name NOT IN ('parent', 'child') AND tbl_name NOT IN ('parent', 'child')
            ORDER BY type, name`,
        )
        .all<{ type: string; name: string; sql: string | null }>()
        .then(({ results }) => results.map((row) => ({ ...row, sql: row.sql === null ? null : plain(row.sql) })));
    const plain = (sql: string) => sql.replaceAll(/--[^\n]*/g, "").replaceAll(/\s+/g, " ");
    expect(await schema(inObject())).toEqual(await schema(env.DB));
    expect(migrations.at(-1)!.name).toBe(NEWEST_MIGRATION);
    const list = (db: D1Database) => db.prepare("SELECT name FROM d1_migrations ORDER BY id").all();
    expect((await list(inObject())).results).toEqual((await list(env.DB)).results);
  });

  it("gets the missing tables with the first statement of a newer release, and keeps its rows", async () => {
    const name = unique("old");
    await stubOf(name).migrate(migrations.slice(0, -1));
    expect(await stubOf(name).execute(NEWEST_MIGRATION, [])).toEqual({ kind: "older" });
    const insert = { sql: "INSERT INTO organization VALUES ('o', 'o', 0)", values: [] };
    expect(await stubOf(name).execute(migrations.at(-2)!.name, [insert])).toMatchObject({ kind: "done" });
    const db = inObject(name);
    expect(await db.prepare("SELECT count(*) AS n FROM moved_file").first("n")).toBe(0);
    expect(await db.prepare("SELECT name FROM organization").first("name")).toBe("o");
    // The previous release continues to work.
    expect(await stubOf(name).execute(migrations.at(-2)!.name, [])).toMatchObject({ kind: "done" });
  });

  it("has the same tables and its rows, whichever of two published forms 0047 had", async () => {
    const name = unique("other");
    const at = migrations.findIndex((one) => one.name.startsWith("0047"));
    const other = {
      name: migrations[at]!.name,
      sql: `ALTER TABLE push_subscription ADD COLUMN trouble TEXT CHECK (trouble IN ('deliveries', 'right'));
        CREATE INDEX push_subscription_in_trouble ON push_subscription (trouble, id)
          WHERE trouble IS NOT NULL AND state = 'active';
        CREATE INDEX push_subscription_disabled ON push_subscription (id)
          WHERE state = 'disabled' AND verification IS NOT 'pending'`,
    };
    expect(await stubOf(name).migrate([...migrations.slice(0, at), other])).toBeUndefined();
    const row = { id: "p", topic: "t", incarnation: "i", client: "c", name: "n", endpoint: "https://a.example/" };
    const values = [JSON.stringify({ ...row, username: "u", credentials: "s", seal_key: "k", made_by_scope: "m" })];
    const sql = `INSERT INTO push_subscription SELECT value ->> 'id', value ->> 'topic', value ->> 'incarnation',
      value ->> 'client', 1, value ->> 'name', value ->> 'endpoint', value ->> 'username', value ->> 'credentials',
      value ->> 'seal_key', 'disabled', 3, 1, 2, 'tenant', 'request', value ->> 'made_by_scope', 'failed', 'right'
      FROM json_each(json_array(json(?1)))`;
    expect(await stubOf(name).execute(other.name, [{ sql, values }])).toMatchObject({ kind: "done" });
    const db = inObject(name);
    const kept = await db.prepare("SELECT * FROM push_subscription").first();
    expect(kept).toMatchObject({ ...row, as_owner: 1, version: 3, made_in_tenant: "tenant", verification: "failed" });
    const tables = (one: D1Database) =>
      one
        .prepare("SELECT name, sql FROM sqlite_master WHERE tbl_name = 'push_subscription' ORDER BY name")
        .all()
        .then(({ results }) => results);
    expect(await tables(db)).toEqual(await tables(inObject()));
  });

  it("applies each migration once, wholly or not at all, also for many calls at once", async () => {
    const name = unique("half");
    const broken = [...migrations.slice(0, 3), { name: "0004_broken.sql", sql: "CREATE TABLE half (id); SELEC 1" }];
    expect(await stubOf(name).migrate(broken)).toContain("syntax error");
    const db = inObject(name);
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => db.prepare("SELECT count(*) AS n FROM file").first("n")),
    );
    expect(new Set(answers)).toEqual(new Set([0]));
    const tables = await db.prepare("SELECT count(*) AS n FROM sqlite_master WHERE name = 'half'").first("n");
    const listed = await db.prepare("SELECT count(*) AS n FROM d1_migrations").first("n");
    expect([tables, listed]).toEqual([0, migrations.length]);
  });

  it("gives no answer that is larger than an isolate should hold", async () => {
    const db = inObject();
    const rows = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)";
    const many = db.prepare(`${rows} SELECT printf('%.*c', 100000, 'x') AS text FROM n`);
    expect((await many.bind(100).all()).results).toHaveLength(100);
    await expect(many.bind(MOST_ANSWER_BYTES / 100_000 + 1).all()).rejects.toThrow("the answer has more than");
  });

  it("gets a statement again after a restart only if the statement does not write", async () => {
    const name = unique("restarting");
    await inObject(name).prepare("SELECT 1").run();
    let calls = 0;
    const restarting = objectDatabase(() => ({
      ...stubOf(name),
      migrate: (all) => stubOf(name).migrate(all),
      execute: async (newest, statements) => {
        if (calls++ % 2 === 0) throw Object.assign(new Error("the object was reset"), { retryable: true });
        return stubOf(name).execute(newest, statements);
      },
    }));
    expect(await restarting.prepare("SELECT 1 AS one").first("one")).toBe(1);
    expect(calls).toBe(2);
    const guarded = guardDatabase(restarting);
    await expect(guarded.prepare("DELETE FROM file").run()).rejects.toThrow(StoreUnavailable);
    expect(calls).toBe(3);
  });

  it("keeps its rows when it is evicted", async () => {
    const name = unique("evicted");
    await inObject(name).prepare("INSERT INTO organization VALUES ('o', 'kept', 0)").run();
    const stub = env.SHARD_DATABASE.getByName(name) as unknown as DurableObjectStub;
    await expect(runInDurableObject(stub, (_, state) => state.abort("evicted"))).rejects.toThrow();
    expect(await inObject(name).prepare("SELECT name FROM organization").first("name")).toBe("kept");
  });
});
