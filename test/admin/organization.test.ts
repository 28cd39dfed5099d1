import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { guard } from "../../src/admin/resources/shared/within-organization.ts";
import { unique } from "../support/platform/unique.ts";

describe("guard", () => {
  const insert = (id: string) =>
    env.DB.prepare(`INSERT INTO organization (id, name, created_at) VALUES (?1, 'x', 0)`).bind(id);
  const exists = async (id: string) =>
    (await env.DB.prepare(`SELECT 1 FROM organization WHERE id = ?1`).bind(id).first()) !== null;

  it.each([true, false])("undoes a transaction unless its condition holds: %s", async (condition) => {
    const id = unique("org");
    const wrote = env.DB.batch([guard(env.DB, { sql: "?1 = ?2", values: [1, condition ? 1 : 2] }), insert(id)]);
    const outcome = await wrote.then(
      () => "written",
      () => "undone",
    );
    expect([outcome, await exists(id)]).toEqual(condition ? ["written", true] : ["undone", false]);
  });
});
