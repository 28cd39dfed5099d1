import { createHash } from "node:crypto";
import { globSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { readReleased, readReleasedBundle, RELEASED } from "../../scripts/lib/released.ts";
import { ROOT } from "../../scripts/lib/root.ts";

const released = readReleased();
/** What the last release no longer reads or writes may go: `session.proven_at is gone`. Emptied by each release. */
const UNUSED: readonly string[] = [];
const sha256 = (bytes: Buffer | string): string => createHash("sha256").update(bytes).digest("hex");
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");

describe("The last release", () => {
  test("is the newest one of the changelog, and package.json is not behind it", () => {
    const [, newest] = /^## (\d+\.\d+\.\d+) - \d{4}-\d\d-\d\d$/m.exec(read("CHANGELOG.md")) ?? [];
    expect(released.version).toBe(newest);
    const { version } = JSON.parse(read("package.json")) as { version: string };
    expect(version.localeCompare(released.version, "en", { numeric: true })).toBeGreaterThanOrEqual(0);
  });

  test("has its Worker kept as it was built", () => {
    expect(sha256(readReleasedBundle())).toBe(released.bundleSha256);
  });

  test("has every class of objects compared with today's by test/upgrade/rpc.ts", () => {
    const types = join(RELEASED, "types");
    const classes = globSync("**/*.do.ts", { cwd: types });
    expect(classes.length).toBeGreaterThan(4);
    const compared = read("test/upgrade/rpc.ts");
    expect(classes.filter((path) => !compared.includes(`./released/types/${path}`))).toEqual([]);
  });

  test("has migrations that nobody has edited since", () => {
    for (const [name, digest] of Object.entries(released.migrations))
      expect(sha256(read(`migrations/${name}`)), name).toBe(digest);
  });
});

describe("Migrations since the last release", () => {
  const names = readdirSync(join(ROOT, "migrations")).toSorted();
  const known = names.filter((name) => name in released.migrations);
  const later = names.filter((name) => !(name in released.migrations));
  const migrated = (files: readonly string[]): DatabaseSync => {
    const db = new DatabaseSync(":memory:");
    for (const name of files) db.exec(read(`migrations/${name}`));
    return db;
  };

  test("come after the released ones", () => {
    expect(names).toEqual([...known, ...later]);
  });

  test("only add, so that the released Worker reads and writes on", () => {
    expect(lossesOf(migrated(known), migrated(names))).toEqual(UNUSED);
  });

  test.each([
    ["DROP TABLE session", "session is gone"],
    ["ALTER TABLE session DROP COLUMN proven_at", "session.proven_at is gone"],
    ["ALTER TABLE session RENAME COLUMN proven_at TO at", "session.proven_at is gone"],
  ])("would be found out: %s", (sql, loss) => {
    const db = migrated(known);
    db.exec(sql);
    expect(lossesOf(migrated(known), db)).toContain(loss);
  });
});

interface Column {
  readonly name: string;
  readonly type: string;
  readonly notnull: number;
  readonly dflt_value: string | null;
  readonly pk: number;
}

const tablesOf = (db: DatabaseSync): Map<string, Map<string, Column>> =>
  new Map(
    db
      .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
      .all()
      .map(({ name }) => {
        const columns = db.prepare("SELECT * FROM pragma_table_info(?)").all(name!) as unknown as Column[];
        return [String(name), new Map(columns.map((column) => [column.name, column]))];
      }),
  );

/** Tables and columns that are no more what they were, and new ones that an old INSERT leaves out and must not. */
function lossesOf(before: DatabaseSync, after: DatabaseSync): string[] {
  const now = tablesOf(after);
  return [...tablesOf(before)].flatMap(([table, columns]) => {
    const left = now.get(table);
    if (left === undefined) return [`${table} is gone`];
    const changed = [...columns.values()].flatMap((column) => {
      const other = left.get(column.name);
      if (other === undefined) return [`${table}.${column.name} is gone`];
      const { type, notnull, pk } = column;
      return other.type === type && other.notnull === notnull && other.pk === pk
        ? []
        : [`${table}.${column.name} changed`];
    });
    const required = [...left.values()]
      .filter(({ name, notnull, dflt_value: given }) => !columns.has(name) && notnull === 1 && given === null)
      .map(({ name }) => `${table}.${name} is required`);
    return [...changed, ...required];
  });
}
