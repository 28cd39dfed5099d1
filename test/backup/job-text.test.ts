import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { fromJobText, toJobText } from "../../src/backup/job/job-text.ts";
import { newJob } from "../../src/backup/model/job.ts";
import { placed, TABLES, tablesOfShards } from "../../src/backup/model/tables.ts";
import { COPY } from "./machine.ts";

it("a job over 256 shards is stored with the columns of each table once, and is the same when it is read", async () => {
  const columns = new Map<string, readonly string[]>();
  for (const table of TABLES) {
    const { results } = await env.DB.prepare(`SELECT name FROM pragma_table_info(?1)`)
      .bind(table)
      .all<{ name: string }>();
    columns.set(
      table,
      results.map(({ name }) => name),
    );
  }
  const everywhere = [...TABLES.map((table) => placed(table, 0)), ...tablesOfShards(256)];
  const begun = newJob({ id: "1", kind: "backup", actor: "a", backup: "b", options: COPY }, "first", 0);
  const tables = Object.fromEntries(
    everywhere.map(({ key, table }, at) => [key, { columns: columns.get(table)!, rows: at }]),
  );
  const job = { ...begun, facts: { ...begun.facts, tables } };
  const text = toJobText(job);
  expect(everywhere.length).toBeGreaterThan(5_000);
  expect(text.length).toBeLessThan(JSON.stringify(job).length / 3);
  expect(fromJobText(text)).toEqual(job);
  // As an earlier release stored it.
  expect(fromJobText(JSON.stringify(job))).toEqual(job);
});
