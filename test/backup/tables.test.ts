import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { MADE_AGAIN, OBJECTS, TABLES } from "../../src/backup/model/tables.ts";
import * as worker from "../../src/worker.ts";

describe("a backup", () => {
  // shows: operator/backup/what-it-holds
  it("has every table of D1, or the reason why the table can be made again", async () => {
    const { results } = await env.DB.prepare(
      `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE '_cf_%'`,
    ).all<{ name: string }>();
    const schema = results.map(({ name }) => name).toSorted();
    expect(schema.length).toBeGreaterThan(30);
    expect([...TABLES, ...Object.keys(MADE_AGAIN)].toSorted()).toEqual(schema);
  });

  it("has every class of objects, or the reason why its objects can be made again", () => {
    const classes = Object.keys(worker).filter((name) => name !== "default");
    expect(classes.length).toBeGreaterThan(5);
    expect(Object.keys(OBJECTS).toSorted()).toEqual(classes.toSorted());
  });

  it("restores a table after the tables that its rows refer to", async () => {
    for (const [at, table] of TABLES.entries()) {
      const { results } = await env.DB.prepare(`SELECT "table" AS parent FROM pragma_foreign_key_list(?1)`)
        .bind(table)
        .all<{ parent: string }>();
      const earlier: readonly string[] = TABLES.slice(0, at);
      for (const { parent } of results) expect(earlier).toContain(parent);
    }
  });
});
