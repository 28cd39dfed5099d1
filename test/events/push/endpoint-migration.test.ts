import { applyD1Migrations, type D1Migration } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";

const { EMPTY_DB: db, TEST_MIGRATIONS: all } = env as unknown as {
  EMPTY_DB: D1Database;
  TEST_MIGRATIONS: D1Migration[];
};

it("an endpoint that was taken with capitals in front is called as before; its path keeps its own", async () => {
  await applyD1Migrations(
    db,
    all.filter(({ name }) => name < "0012"),
  );
  const endpoints = { a: "HTTPS://hook.test/Path", b: "Https://hook.test", c: "https://Hook.test/HTTPS:" };
  for (const [id, endpoint] of Object.entries(endpoints))
    await db
      .prepare(
        `INSERT INTO push_subscription (id, topic, incarnation, client, as_owner, name, endpoint, username, credentials,
         seal_key, state, version, created_at, updated_at)
         VALUES (?1, 'proj.app.type', 'i', 'proj.app', 1, ?1, ?2, 'u', 'c', 'k', 'active', 1, 1, 1)`,
      )
      .bind(id, endpoint)
      .run();
  await applyD1Migrations(db, all);
  const { results } = await db
    .prepare(`SELECT endpoint, version FROM push_subscription ORDER BY id`)
    .all<{ endpoint: string; version: number }>();
  expect(results).toEqual([
    { endpoint: "https://hook.test/Path", version: 1 },
    { endpoint: "https://hook.test", version: 1 },
    { endpoint: "https://Hook.test/HTTPS:", version: 1 },
  ]);
});
