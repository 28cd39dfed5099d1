import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { JobTables } from "../../src/backup/job/job-tables.ts";
import { newJob } from "../../src/backup/model/job.ts";
import { isolate } from "../support/isolate.ts";
import { makePerson, tokenOf } from "../support/parties/operators.ts";
import { call, expectJson } from "../support/platform/call.ts";
import { OPERATOR } from "../support/platform/operator.ts";
import { tokenFor } from "../support/platform/tokens.ts";
import { unique } from "../support/platform/unique.ts";
import { COPY } from "./machine.ts";

const operator = () => tokenFor(OPERATOR);

async function ended(): Promise<any> {
  for (const token = await operator(); ; await scheduler.wait(20)) {
    const job = await expectJson(await call("/admin/v1/backup-job", { token }), 200);
    if (job.state !== "running") return job;
  }
}

describe("the operator's backups", () => {
  // shows: operator/backup/without-a-bucket
  it("say what to bind where the deployment has no bucket for them", async () => {
    const { BACKUP: _, ...unbound } = env;
    const without = isolate({ ...unbound, BACKUP: undefined as never });
    const token = (await (await without.token(OPERATOR)).json<{ access_token: string }>()).access_token;
    const headers = { authorization: `Bearer ${token}` };
    for (const init of [{ headers }, { headers, method: "POST" }]) {
      const answer = await without.fetch("/admin/v1/backups", init);
      const { details, message } = await expectJson(answer, 400);
      expect(details[0].type).toBe("backup_unbound");
      expect(message).toContain("BACKUP");
    }
  });

  it("are made by a job, whose progress can be asked for, and listed when they are whole", async () => {
    const token = await operator();
    const begun = await call("/admin/v1/backups", { method: "POST", token, json: { bytes: "copy", keep: 3 } });
    const { backup, id } = await expectJson(begun, 202);
    expect(new URL(begun.headers.get("location")!).pathname).toBe("/admin/v1/backup-job");
    expect(await ended()).toMatchObject({ id, backup, kind: "backup", state: "done", error: "", stagesDone: 15 });
    const [listed] = await expectJson(await call("/admin/v1/backups", { token }), 200);
    expect(listed).toMatchObject({ id: backup, bytes: "copy", platform: "plat", sealKeys: ["t1"] });
    expect(await expectJson(await call(`/admin/v1/backups/${backup}`, { token }), 200)).toEqual(listed);
    await expectJson(await call(`/admin/v1/backups/${backup}/verify`, { method: "POST", token }), 202);
    expect(await ended()).toMatchObject({ kind: "verify", state: "done", findings: [] });
    const restore = await call(`/admin/v1/backups/${backup}/restore`, { method: "POST", token });
    expect((await expectJson(restore, 409)).details[0].type).toBe("maintenance_off");
    await expectJson(await call(`/admin/v1/backups/${backup}`, { method: "DELETE", token }), 202);
    expect(await ended()).toMatchObject({ kind: "remove", state: "done" });
    expect(await expectJson(await call("/admin/v1/backups", { token }), 200)).toEqual([]);
    const audit = await expectJson(await call(`/admin/v1/audit?subject=backups/${backup}`, { token }), 200);
    expect(audit.map((row: { action: string }) => row.action)).toEqual(["remove", "verify", "backup"]);
  });

  it("go on when the job's object was stopped", async () => {
    const token = await operator();
    const begun = await expectJson(await call("/admin/v1/backups", { method: "POST", token }), 202);
    await evictDurableObject(env.BACKUP_JOB.getByName("backup"));
    expect(await ended()).toMatchObject({ id: begun.id, state: "done" });
  });

  // shows: operator/backup/one-job-at-a-time
  it("have one job at a time, which says why it waits, and ends when it is cancelled", async () => {
    const token = await operator();
    const [{ id }] = await expectJson(await call("/admin/v1/backups", { token }), 200);
    // The object is not in maintenance, as after a deployment that came too early: the restore waits.
    const maintained = isolate({ MAINTENANCE: "true" });
    const headers = { authorization: `Bearer ${token}` };
    await expectJson(await maintained.fetch(`/admin/v1/backups/${id}/restore`, { method: "POST", headers }), 202);
    const other = await call("/admin/v1/backups", { method: "POST", token });
    expect((await expectJson(other, 409)).details[0].type).toBe("job_under_way");
    await vi.waitFor(async () =>
      expect(await expectJson(await call("/admin/v1/backup-job", { token }), 200)).toMatchObject({
        kind: "restore",
        state: "running",
        error: expect.stringContaining("MAINTENANCE is off"),
      }),
    );
    const cancel = async () => expectJson(await call("/admin/v1/backup-job", { method: "DELETE", token }), 200);
    expect((await cancel()).state).toBe("cancelled");
    expect((await expectJson(await call("/admin/v1/backup-job", { token }), 200)).state).toBe("cancelled");
    // A repeat cancels nothing, and leaves no row.
    await cancel();
    const rows = await expectJson(await call(`/admin/v1/audit?subject=backups/${id}&pageSize=2`, { token }), 200);
    expect(rows.map((row: { action: string }) => row.action)).toEqual(["cancel", "restore"]);
  });

  it("wait for what an object that was stopped may still delete, if its job was cancelled", async () => {
    const stub = env.BACKUP_JOB.getByName(unique("job"));
    const asked = (id: string) => ({ id, kind: "backup", actor: "a", backup: "none", options: COPY }) as const;
    const firstStepMs = async (id: string) => {
      const asking = Date.now();
      await stub.start(JSON.stringify(asked(id)));
      return ((await runInDurableObject(stub, (_, { storage }) => storage.getAlarm())) ?? asking) - asking;
    };
    await runInDurableObject(stub, (_, { storage }) =>
      new JobTables(storage).begin(newJob(asked("stopped"), "index", Date.now())),
    );
    await evictDurableObject(stub);
    await stub.cancel();
    expect(await firstStepMs("second")).toBeGreaterThan(50_000);
    // An object that began the job itself knows of every step.
    await runInDurableObject(stub, async (_, { storage }) => storage.deleteAll());
    await evictDurableObject(stub);
    await firstStepMs("third");
    await stub.cancel();
    expect(await firstStepMs("fourth")).toBeLessThan(50_000);
    await stub.cancel();
  });

  it("wait for what an object that was stopped may still delete, if the next one has ended its removal", async () => {
    const stub = env.BACKUP_JOB.getByName(unique("job"));
    const asked = (id: string, kind: "remove" | "verify") =>
      ({ id, kind, actor: "a", backup: "none", options: COPY }) as const;
    await runInDurableObject(stub, async (_, { storage }) => {
      new JobTables(storage).begin(newJob(asked("stopped", "remove"), "manifests", Date.now()));
      await storage.setAlarm(Date.now());
    });
    await evictDurableObject(stub);
    await vi.waitFor(async () => expect(JSON.parse((await stub.read())!)).toMatchObject({ state: "done" }));
    const firstStepMs = async (id: string) => {
      const asking = Date.now();
      await stub.start(JSON.stringify(asked(id, "verify")));
      return ((await runInDurableObject(stub, (_, { storage }) => storage.getAlarm())) ?? asking) - asking;
    };
    expect(await firstStepMs("next")).toBeGreaterThan(50_000);
    // One that is cancelled while it waits does not end the wait.
    await stub.cancel();
    expect(await firstStepMs("after it")).toBeGreaterThan(50_000);
    // The clock was set back.
    await stub.cancel();
    await runInDurableObject(stub, (_, { storage }) => storage.kv.put("alone from", Date.now() + 3_600_000));
    expect(await firstStepMs("long before")).toBeLessThan(70_000);
    await runInDurableObject(stub, async (_, { storage }) => storage.deleteAll());
  });

  it("are recorded with the person who starts them, not with the person's application", async () => {
    const person = await makePerson(["plat.admin_write"]);
    const token = await tokenOf(person);
    const { actor, backup } = await expectJson(await call("/admin/v1/backups", { method: "POST", token }), 202);
    expect(actor).toBe(`operator ${person.user.email}`);
    await ended();
    const subject = `subject=backups/${backup}`;
    const [row] = await expectJson(await call(`/admin/v1/audit?${subject}`, { token: await operator() }), 200);
    expect(row).toMatchObject({ action: "backup", actor });
  });
});
