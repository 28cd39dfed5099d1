import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createDeps } from "../../src/deps.ts";
import { clientAnchor } from "../../src/oauth/homes/anchor-store.ts";
import { SWEEP } from "../../src/oauth/sweep.ts";
import { RUNS_OF_A_DAY, RUNS_OF_AN_HOUR, sliceAt } from "../../src/platform/storage/slice.ts";
import { counting } from "../support/counting.ts";
import { makeClient } from "../support/platform/clients.ts";
import { shardDb } from "../support/shards.ts";
import { itAtNight } from "../support/model-runs.ts";

/** The time of the sweep. The rows of these tests have expired long before. */
const NOW = Date.now();
const MANY = (SWEEP.statements + 20) * SWEEP.rows;

beforeEach(() => void vi.spyOn(scheduler, "wait").mockResolvedValue(undefined));
afterEach(() => void vi.restoreAllMocks());

/** Sweeps once, and returns the number of statements. */
async function sweep(): Promise<number> {
  const { env: counted, tally } = counting(env);
  await createDeps(counted).oauth.sweep(NOW);
  return tally.d1Statements;
}
const fill = (db: D1Database, count: number, insert: string, ...values: readonly (string | number)[]) =>
  db
    .prepare(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT ?1) ${insert}`)
    .bind(count, ...values)
    .run();
const left = (table: string, db = env.DB) => db.prepare(`SELECT count(*) AS n FROM ${table}`).first<number>("n");

describe("the sweep", () => {
  it("has one budget of statements, and a large backlog of one table holds up no other", async () => {
    await sweep();
    const idle = await sweep();
    const { clientId } = await makeClient();
    await fill(env.DB, MANY, "INSERT INTO used_assertion (digest, expires_at) SELECT 'used ' || i, i FROM n");
    const pushed = "INSERT INTO pushed_request SELECT 'pushed ' || i, ?2, '', i, 0 FROM n";
    await fill(env.DB, 3 * SWEEP.rows + 1, pushed, clientId);
    const statements = await sweep();
    expect(await left("pushed_request")).toBe(0);
    const backlog = (await left("used_assertion")) ?? 0;
    // What no other table needs went to the one with the backlog.
    expect(MANY - backlog).toBeGreaterThan((SWEEP.statements / 2) * SWEEP.rows);
    expect(backlog).toBeGreaterThan(0);
    expect(statements).toBeLessThanOrEqual(SWEEP.statements + idle);
    await sweep();
    expect(await left("used_assertion")).toBe(0);
  });

  itAtNight("keeps to the budget with tables of every database", async () => {
    await sweep();
    const idle = await sweep();
    const { from } = sliceAt(NOW, RUNS_OF_AN_HOUR);
    for (const number of [0, 1]) {
      const db = shardDb(number);
      await db.prepare("INSERT INTO user (email, name, disabled, created_at) VALUES ('gone', '', 1, 0)").run();
      const sessions = `INSERT INTO session (id_hash, email, sid, provider, authenticated_at, expires_at)
        SELECT ?2 || printf('%08d', i), 'gone', 'session ' || i, 'default_idp', i, i FROM n`;
      await fill(db, MANY / 4, sessions, from);
    }
    const statements = await sweep();
    expect(statements).toBeGreaterThan(SWEEP.statements / 2);
    expect(statements).toBeLessThanOrEqual(SWEEP.statements + idle);
    for (const number of [0, 1]) {
      expect(await left("session", shardDb(number))).toBeGreaterThan(0);
      await shardDb(number).prepare("DELETE FROM session").run();
    }
  });

  itAtNight(
    "keeps to it with what is left over in a shard, which holds up no other, and ends it run by run",
    async () => {
      const idle = await sweep();
      const { from } = sliceAt(NOW, RUNS_OF_A_DAY);
      const grants = (SWEEP.statements / 4) * SWEEP.rows;
      for (const [number, count] of [
        [1, grants],
        [2, 10],
      ] as const) {
        const db = shardDb(number);
        await db.batch([
          db.prepare("INSERT OR IGNORE INTO user (email, name, disabled, created_at) VALUES ('nobody', '', 1, 0)"),
          ...clientAnchor(db, "any.client"),
        ]);
        const insert = `INSERT INTO refresh_grant (id, client, email, authorization, created_at, last_used_at)
        SELECT ?2 || printf('%08d', i), 'any.client', 'nobody', '{"authenticatedAtMs":1}', i, i FROM n`;
        await fill(db, count, insert, from);
      }
      expect(await sweep()).toBeLessThanOrEqual(SWEEP.statements + idle);
      expect(await left("refresh_grant", shardDb(2))).toBe(0);
      const behind = (await left("refresh_grant", shardDb(1))) ?? 0;
      expect(behind).toBeGreaterThan(0);
      expect(behind).toBeLessThan(grants);
      await sweep();
      expect(await left("refresh_grant", shardDb(1))).toBe(0);
    },
  );
});
