import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { guardDatabase, StoreUnavailable } from "../../../src/platform/storage/database.ts";
import { call } from "../../support/platform/call.ts";

describe("A database without the tables of this release", () => {
  it.each([
    ["a table", "SELECT 1 FROM table_of_tomorrow"],
    ["a column", "SELECT column_of_tomorrow FROM client"],
    ["a column to write to", "INSERT INTO client (column_of_tomorrow) VALUES (1)"],
  ])("is told from one that fails, by %s", async (_, sql) => {
    const asked = guardDatabase(env.DB).prepare(sql).all();
    await expect(asked).rejects.toThrow(StoreUnavailable);
    await expect(asked).rejects.toThrow("D1 has older tables than this release: apply migrations/");
  });

  it("does not blame a migration for any other failure", async () => {
    const asked = guardDatabase(env.DB).prepare("SELECT abs(-9223372036854775808)").all();
    await expect(asked).rejects.toThrow("D1 did not execute the statement");
  });

  it("makes requests answer 503, and the log says what to do", async () => {
    const log = vi.spyOn(console, "error").mockImplementation(() => {});
    await env.DB.prepare("ALTER TABLE signing_key RENAME TO signing_key_of_tomorrow").run();
    const { status, headers } = await call("/oauth2/v1/jwks");
    expect(status).toBe(503);
    expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
    expect(log.mock.calls.join("\n")).toContain("apply migrations/");
    await env.DB.prepare("ALTER TABLE signing_key_of_tomorrow RENAME TO signing_key").run();
    await expect.poll(async () => (await call("/oauth2/v1/jwks")).status, { timeout: 10_000 }).toBe(200);
  });
});
