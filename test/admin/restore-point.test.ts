import { env } from "cloudflare:workers";
import { afterAll, describe, expect, it } from "vitest";
import { createAuditCopies } from "../../src/admin/audit/copies.ts";
import { heardLog } from "../support/runtime/heard-log.ts";
import { makePerson, tokenOf } from "../support/parties/operators.ts";
import { call, expectJson } from "../support/platform/call.ts";
import { operate, OPERATOR, put } from "../support/platform/operator.ts";
import { makeTenant } from "../support/platform/tenants.ts";
import { unique } from "../support/platform/unique.ts";
import { itAtNight } from "../support/model-runs.ts";

/** The database is restored to an earlier time; the bucket and the operator's changes in it are not. */

const mark = async (restoredTo: number) => expectJson(await operate("restore-point", "PUT", { restoredTo }), 200);
const there = async (path: string): Promise<boolean> => (await operate(path)).status === 200;

afterAll(async () => {
  await env.DB.prepare(
    "UPDATE restore_point SET generation = '', restored_to = NULL, marked_at = NULL, held = 0",
  ).run();
});

/** Saves rows of tables, which `restore` puts back as Time Travel would. */
async function saved(...tables: readonly string[]) {
  const rows = await Promise.all(
    tables.map(async (table) => (await env.DB.prepare(`SELECT * FROM ${table}`).all()).results),
  );
  return async (): Promise<void> => {
    for (const [at, table] of tables.entries())
      for (const row of rows[at]!) {
        const names = Object.keys(row);
        await env.DB.prepare(
          `INSERT OR IGNORE INTO ${table} (${names.map((name) => `"${name}"`).join(", ")}) VALUES (${names.map(() => "?").join(", ")})`,
        )
          .bind(...Object.values(row))
          .run();
      }
    await env.DB.prepare("DELETE FROM audit_copy").run();
  };
}

/** Copies all rows of the audit log, as the cron does. */
async function copyAudit(): Promise<void> {
  await createAuditCopies({ db: env.DB, bucket: env.MEDIA, log: heardLog }).run(Date.now(), "all");
}

async function replay(): Promise<Record<string, string>> {
  const outcomes: Record<string, string> = {};
  for (let steps = 0; steps < 50; steps++) {
    const step = await expectJson(await operate("restore-point/replay", "POST"), 200);
    for (const { subject, outcome } of step.lines) outcomes[subject] = outcome;
    if (step.done) return outcomes;
  }
  throw new Error("it never ends");
}

describe("The replay of erasures", () => {
  it("is refused before anybody said that there was a restore", async () => {
    expect((await operate("restore-point/replay", "POST")).status).toBe(409);
    expect(await expectJson(await operate("restore-point"), 200)).toEqual({
      restoredTo: null,
      markedAt: null,
      holds: false,
    });
  });

  // shows: operator/restore/replay
  it("removes again what was removed since, and nothing that was made since or removed before", async () => {
    const tenant = await makeTenant();
    const people = ["ada", "bob", "eve", "old"].map((name) => `${unique(name)}@acme.example`);
    const [ada, bob, eve, old] = people as [string, string, string, string];
    for (const email of people) await put(`users/${email}`, { password: "correct horse battery staple 7" });
    await put(`tenants/${tenant}/members/${ada}`, { roles: [] });
    await put(`tenants/${tenant}/members/${eve}`, { roles: [] });
    expect((await operate(`users/${old}`, "DELETE")).status).toBe(204);
    await put(`users/${old}`, { password: "correct horse battery staple 7" });
    await scheduler.wait(5);
    const restoredTo = Date.now();
    await scheduler.wait(5);
    const putBack = await saved("user", "tenant_member");
    for (const path of [`users/${ada}`, `tenants/${tenant}/members/${eve}`, `users/${bob}`])
      expect((await operate(path, "DELETE")).status).toBe(204);
    await copyAudit();
    await putBack();
    // One of them is created again before the replay.
    await env.DB.prepare("UPDATE user SET created_at = ? WHERE email = ?").bind(Date.now(), bob).run();
    expect(await there(`users/${ada}`)).toBe(true);

    expect(await mark(restoredTo)).toMatchObject({ restoredTo, holds: true });
    expect(await replay()).toEqual({
      [`users/${ada}`]: "erased",
      [`tenants/${tenant}/members/${eve}`]: "erased",
      [`users/${bob}`]: "made_since",
    });
    expect(await there(`users/${ada}`)).toBe(false);
    expect(await there(`tenants/${tenant}/members/${eve}`)).toBe(false);
    expect(await there(`users/${eve}`)).toBe(true);
    expect(await there(`users/${bob}`)).toBe(true);
    expect(await there(`users/${old}`)).toBe(true);
    // A repeated replay from the start finds everything absent.
    expect(await replay()).toEqual({});
    await mark(restoredTo);
    expect(await replay()).toMatchObject({ [`users/${ada}`]: "absent", [`users/${bob}`]: "made_since" });
    // The replay does not include removals after the restore.
    const audit = await expectJson(await operate(`audit?subject=users/${ada}`), 200);
    expect(audit[0]).toMatchObject({ action: "delete", outcome: "done" });
  });

  itAtNight(
    "goes on where a step broke off",
    async () => {
      const people = Array.from({ length: 23 }, () => `${unique("many")}@acme.example`);
      for (const email of people) await put(`users/${email}`, { password: "correct horse battery staple 7" });
      await scheduler.wait(5);
      const restoredTo = Date.now();
      await scheduler.wait(5);
      const putBack = await saved("user");
      for (const email of people) await operate(`users/${email}`, "DELETE");
      await copyAudit();
      await putBack();
      await mark(restoredTo);
      const outcomes: string[] = [];
      for (let steps = 0; steps < 50 && !outcomes.includes("done"); steps++) {
        // Two replays at once do the same lines, and each line is erased once.
        const both = await Promise.all([0, 1].map(async () => operate("restore-point/replay", "POST")));
        for (const answer of both) {
          const step = await expectJson(answer, 200);
          outcomes.push(...step.lines.map((line: any) => line.outcome), ...(step.done ? ["done"] : []));
        }
      }
      expect(new Set(outcomes)).toEqual(new Set(["erased", "absent", "done"]));
      for (const email of people) expect(await there(`users/${email}`)).toBe(false);
    },
    20_000,
  );
});

describe("PUT /admin/v1/restore-point", () => {
  it("takes a time of the past, changes the generation, and holds until it is released", async () => {
    expect((await operate("restore-point", "PUT", { restoredTo: Date.now() + 60_000 })).status).toBe(400);
    const generation = () => env.DB.prepare("SELECT generation FROM restore_point").first<string>("generation");
    await mark(1000);
    const before = await generation();
    const person = await makePerson(["plat.admin_write"]);
    const token = await tokenOf(person);
    await expectJson(await call("/admin/v1/restore-point", { method: "PUT", token, json: { restoredTo: 1000 } }), 200);
    expect(await generation()).not.toBe(before);
    const release = async () => call("/admin/v1/restore-point/hold", { method: "DELETE", token });
    expect(await expectJson(await release(), 200)).toMatchObject({ holds: false });
    expect(await expectJson(await release(), 200)).toMatchObject({ holds: false });
    const rows = await expectJson(await operate("audit?subject=restore-point"), 200);
    expect(rows.map(({ action, actor }: any) => [action, actor]).slice(0, 3)).toEqual([
      ["release", `operator ${person.user.email}`],
      ["restore", `operator ${person.user.email}`],
      ["restore", OPERATOR.clientId],
    ]);
  });
});
