import { applyD1Migrations, type D1Migration } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";

/** A database that an older release filled is brought up to date, and nothing of it is lost. */
const { EMPTY_DB: db, TEST_MIGRATIONS: all } = env as unknown as {
  EMPTY_DB: D1Database;
  TEST_MIGRATIONS: D1Migration[];
};

const rowsOf = async (sql: string): Promise<unknown[]> => (await db.prepare(sql).all()).results;

/** The columns that the first release has. */
const FILES = `SELECT id, owner_id, state, content_type, created_at, due_at, committed_at, size_bytes, etag, file_name,
  commit_digest, metadata FROM file ORDER BY id`;
const VARIANTS = "SELECT * FROM variant ORDER BY file_id, nonce";

const VARIANT_STATES = ["declared", "pending", "ready", "failed", "removed"];

async function fill(): Promise<void> {
  await db.batch(
    [
      `INSERT INTO organization VALUES ('acme', 'Acme', 1)`,
      `INSERT INTO tenant (id, organization, name, created_at) VALUES ('acme', 'acme', 'Acme', 1)`,
      `INSERT INTO client (id, name, tenant, confidential, redirect_uris, post_logout_redirect_uris, grant_types, scopes,
        require_pkce, created_at) VALUES ('c1', 'shop.app', 'acme', 1, '[]', '[]', '[]', '[]', 1, 1)`,
      `INSERT INTO owner (client, tenant, visibility) VALUES ('shop.app', '', 'public'), ('shop.app', 'acme', 'public'),
        ('shop.app', 'acme', 'private')`,
      `INSERT INTO file VALUES ('f1', 2, 'committed', 'image/png', 10, NULL, 11, 100, 'e1', 'a.png', 'd1', '{"a":1}'),
        ('f2', 2, 'committed', 'image/png', 20, NULL, 21, 0, 'e2', NULL, 'd2', '{}'),
        ('f3', 3, 'committed', 'text/plain', 30, NULL, 31, 7, 'e3', NULL, 'd3', '{}'),
        ('f4', 1, 'pending', 'image/png', 40, 1040, NULL, NULL, NULL, NULL, NULL, NULL),
        ('f5', 2, 'removed', 'image/png', 50, 60, 51, 5, 'e5', 'b.png', 'd5', '{"b":2}')`,
      ...["f1", "f3", "f4", "f5"].flatMap((file) =>
        VARIANT_STATES.map(
          (
            state,
            at,
          ) => `INSERT INTO variant VALUES ('${file}', 'n${at}', 'clip', '${at}x1', '${state}', 1, ${at}, 'image/png',
            ${at}, 1, 9, 'e', 'why')`,
        ),
      ),
    ].map((sql) => db.prepare(sql)),
  );
}

/** Reports by the name of their client, as they were: of one that is there, of who had its name before, of nobody. */
async function fillReports(): Promise<void> {
  const report = `INSERT INTO erasure (id, client, tenant, visibility, kind, requested_at, files, bytes)
    VALUES (?, ?, ?, 'public', 'file', ?, 1, 0)`;
  await db.batch([
    ...[
      ["e1", "shop.app", "", 2],
      ["e2", "shop.app", "globex", 3],
      ["e3", "shop.app", "acme", 0],
      ["e4", "gone.app", "acme", 4],
    ].map((values) => db.prepare(report).bind(...values)),
    db.prepare("INSERT INTO owner (id, client, tenant, visibility) VALUES (4, 'gone.app', '', 'public')"),
  ]);
}

describe("a database of the release before", () => {
  it("keeps its files and variants, and counts them", async () => {
    await applyD1Migrations(
      db,
      all.filter(({ name }) => name < "0006"),
    );
    await fill();
    const [files, variants] = [await rowsOf(FILES), await rowsOf(VARIANTS)];
    expect([files.length, variants.length]).toEqual([5, 20]);
    await applyD1Migrations(
      db,
      all.filter(({ name }) => name < "0011"),
    );
    await fillReports();
    await applyD1Migrations(db, all);
    expect(await rowsOf(FILES)).toEqual(files);
    expect(await rowsOf(VARIANTS)).toEqual(variants);
    expect(await rowsOf("SELECT id, files, bytes, erasure_id FROM owner ORDER BY id")).toEqual([
      { id: 1, files: 0, bytes: 0, erasure_id: null },
      { id: 2, files: 2, bytes: 100, erasure_id: null },
      { id: 3, files: 1, bytes: 7, erasure_id: null },
    ]);
    expect(await rowsOf("SELECT id, removed_at FROM file WHERE removed_at IS NOT NULL")).toEqual([
      { id: "f5", removed_at: 60 },
    ]);
  });

  it("gives reports to the client of their name, if it was there by then, and keeps nothing for a name of nobody", async () => {
    expect(
      await rowsOf(`SELECT erasure.id, client, tenant FROM erasure
        LEFT JOIN requester ON requester.id = requester_id ORDER BY erasure.id`),
    ).toEqual([
      { id: "e1", client: "shop.app", tenant: "acme" },
      { id: "e2", client: "shop.app", tenant: "globex" },
      { id: "e3", client: null, tenant: "acme" },
      { id: "e4", client: null, tenant: "acme" },
    ]);
    expect(await rowsOf("SELECT client FROM owner WHERE client = 'gone.app'")).toEqual([]);
  });

  it("holds the rules of this release", async () => {
    expect(await rowsOf("PRAGMA foreign_key_check")).toEqual([]);
    const orphan =
      "INSERT INTO variant (file_id, nonce, type, size, state, created_at) VALUES ('no', 'n', 'clip', '1x1', 'ready', 1)";
    await expect(db.prepare(orphan).run()).rejects.toThrow("FOREIGN KEY");
    const removeClient = "DELETE FROM client WHERE id = 'c1'";
    await expect(db.prepare(removeClient).run()).rejects.toThrow("the client has files");
    await db.prepare("UPDATE file SET state = 'removed' WHERE id IN ('f1', 'f2', 'f3')").run();
    expect(await rowsOf("SELECT sum(files) AS files, sum(bytes) AS bytes FROM owner")).toEqual([
      { files: 0, bytes: 0 },
    ]);
    await db.prepare(removeClient).run();
  });
});
