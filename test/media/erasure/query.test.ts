import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import type { Principal } from "../../../src/http/callers/auth.ts";
import { allFiles, indexRows, insertCommitted, reportAt } from "../support/erasure-support.ts";
import { mediaApp, START_MS, type MediaApp } from "../support/media-app.ts";
import { principal } from "../support/principal.ts";
import { expectProblem } from "../support/problem.ts";
import { collection } from "../support/stored-file.ts";
import { expectJson } from "../../support/platform/call.ts";
import { everywhere, inShards } from "../../support/shards.ts";

const app = mediaApp();

const deleteBy = async (
  q: string,
  as: Principal,
  visibility: "private" | "public" = "private",
  on: MediaApp = app,
): Promise<Response> =>
  on.call(`${collection(visibility)}?tenant=${as.tenant}&q=${encodeURIComponent(q)}`, { as, method: "DELETE" });

const left = async (ids: readonly string[]): Promise<number> => ((await allFiles(ids))["committed"] as number) ?? 0;

describe("deleting by query", () => {
  // shows: media/what-the-service-does/deletion
  // shows: media/states-of-a-file/committed-delete-by-query
  // shows: media/endpoints/delete-p-with-q
  // shows: media/query-rules-for-q/key-value
  inShards(
    "returns 204 and removes the files that match all terms, of the caller's client, tenant and visibility only",
    async () => {
      const as = principal();
      const red = '{"color":"red","order":{"id":7}}';
      const matching = await insertCommitted(as, 3, red);
      const others = [
        ...(await insertCommitted(as, 2, '{"color":"red","order":{"id":8}}')),
        ...(await insertCommitted(as, 2, '{"color":"blue","order":{"id":7}}')),
        ...(await insertCommitted(as, 1, red, "public")),
        ...(await insertCommitted({ ...as, tenant: "globex" }, 1, red)),
        ...(await insertCommitted(principal(), 1, red)),
      ];
      for (const id of matching) await env.MEDIA.put(`blob/${id}`, "12345");
      const answer = await deleteBy('color:red order.id:"7"', as);
      expect([answer.status, await answer.text()]).toEqual([204, ""]);
      for (const id of matching) expect((await app.call(`${collection()}/${id}/metadata`, { as })).status).toBe(404);
      await app.settle();
      expect(await allFiles(matching)).toEqual({ removed: 3, bytes: [] });
      expect(await left(others)).toBe(others.length);
      expect(await indexRows(matching)).toBe(0);
      expect(await indexRows(others)).toBeGreaterThan(others.length);
      const report = await reportAt(app, as, answer.headers.get("location")!);
      expect(report).toMatchObject({
        kind: "query",
        state: "deleted",
        files: { requested: 3, deleted: 3, verified: 0 },
        bytes: { requested: 15, deleted: 15 },
      });
      // The query may name a person.
      expect(JSON.stringify(report)).not.toContain("red");
      const usage = await everywhere
        .prepare("SELECT files, bytes FROM owner WHERE client = ? AND tenant = 'acme' AND visibility = 'private'")
        .bind(as.clientName)
        .first();
      expect(usage).toEqual({ files: 4, bytes: 20 });
    },
  );

  it("returns 204 if nothing matches, or there are no files", async () => {
    const as = principal();
    for (const _ of [1, 2]) {
      const answer = await deleteBy("color:red", as);
      expect(answer.status).toBe(204);
      expect(await reportAt(app, as, answer.headers.get("location")!)).toMatchObject({
        state: "verified",
        verifiedAt: START_MS,
        files: { requested: 0, deleted: 0, verified: 0 },
      });
      await insertCommitted(as, 2, '{"color":"blue"}');
    }
  });

  // shows: media/query/malformed
  it("returns 400 with the place of a mistake, and deletes nothing", async () => {
    const as = principal();
    const ids = await insertCommitted(as, 2, '{"color":"red"}');
    for (const q of ["color", "color:", ":red", 'color:"red', "", " ", "\t"]) {
      const answer = await deleteBy(q, as);
      const detail = { type: "invalid_query_parameter", field: "q" };
      const problem = await expectProblem(answer, 400, "validation_violation", [detail]);
      expect(problem.message).toMatch(/^q .+/);
    }
    expect(await left(ids)).toBe(2);
  });

  it("returns 400 for parameters of listings, with q and without, and deletes nothing", async () => {
    const as = principal();
    const ids = await insertCommitted(as, 2, '{"color":"red"}');
    for (const field of ["sort", "content-type", "pageSize", "pageNumber", "cursor"])
      for (const q of ["", "&q=color:red"]) {
        const answer = await app.call(`${collection()}?tenant=acme${q}&${field}=1`, { as, method: "DELETE" });
        await expectProblem(answer, 400, "validation_violation", [{ type: "invalid_query_parameter", field }]);
      }
    expect(await left(ids)).toBe(2);
  });

  it.each(["private", "public"] as const)(
    "counts files and bytes with dryRun, of all or by q, and deletes nothing (%s)",
    async (visibility) => {
      const as = principal();
      const ask = async (query: string, on = app) =>
        on.call(`${collection(visibility)}?tenant=acme${query}`, { as, method: "DELETE" });
      expect(await expectJson(await ask("&dryRun=true"), 200)).toEqual({ files: 0, bytes: 0 });
      expect(await expectJson(await ask("&q=color:red&dryRun=true"), 200)).toEqual({ files: 0, bytes: 0 });
      const ids = await insertCommitted(as, 3, '{"color":"red"}', visibility);
      ids.push(...(await insertCommitted(as, 2, '{"color":"blue"}', visibility)));
      await insertCommitted(as, 1, '{"color":"red"}', visibility === "public" ? "private" : "public");
      const all = await ask("&dryRun=true");
      expect(all.headers.get("location")).toBeNull();
      expect(await expectJson(all, 200)).toEqual({ files: 5, bytes: 25 });
      expect(await expectJson(await ask("&q=color:red&dryRun=true"), 200)).toEqual({ files: 3, bytes: 15 });
      expect(await expectJson(await ask("&q=color:green&dryRun=true"), 200)).toEqual({ files: 0, bytes: 0 });
      const poor = mediaApp({ queryRowBudget: 1 });
      const broad = await ask("&q=color:red&dryRun=true", poor);
      await expectProblem(broad, 400, "business_error", [{ type: "query_too_broad" }]);
      const odd = [{ type: "invalid_query_parameter", field: "dryRun" }];
      await expectProblem(await ask("&dryRun=yes"), 400, "validation_violation", odd);
      await app.settle();
      expect(await left(ids)).toBe(5);
      expect((await ask("&dryRun=false")).status).toBe(202);
      expect(await expectJson(await ask("&dryRun=true"), 200)).toEqual({ files: 0, bytes: 0 });
    },
  );

  // shows: media/query/row-budget
  it("returns 400 query_too_broad, and deletes nothing", async () => {
    const as = principal();
    const ids = await insertCommitted(as, 50, '{"color":"red"}');
    const poor = mediaApp({ queryRowBudget: 100 });
    const answer = await deleteBy("color:red", as, "private", poor);
    const { message } = await expectProblem(answer, 400, "business_error", [{ type: "query_too_broad" }]);
    expect(message).toMatch(/Nothing was.* delete them in parts/);
    expect(await left(ids)).toBe(50);
    expect((await deleteBy("color:red", as)).status).toBe(204);
    expect(await left(ids)).toBe(0);
  });

  it("removes many files for readers in one write, and their bytes by the queue; key sets go with their last file", async () => {
    const as = principal();
    const ids = await insertCommitted(as, 250, '{"batch":"one","n":1}');
    const kept = await insertCommitted(as, 3, '{"batch":"two"}');
    for (const id of [ids[0]!, ids[249]!]) await env.MEDIA.put(`blob/${id}`, "12345");
    const answer = await deleteBy("batch:one", as);
    expect(await left(ids)).toBe(0);
    await app.settle();
    expect(app.longJobs).toHaveLength(1);
    for (; app.longJobs.length > 0;) expect(await app.consume()).toEqual({ acked: 1, retried: 0 });
    expect(await allFiles(ids)).toEqual({ removed: 250, bytes: [] });
    const location = answer.headers.get("location")!;
    expect(await reportAt(app, as, location)).toMatchObject({
      state: "deleted",
      files: { requested: 250, deleted: 250 },
      bytes: { requested: 1250, deleted: 1250 },
    });
    expect(await left(kept)).toBe(3);
    const sets = await everywhere
      .prepare("SELECT keys FROM key_set JOIN owner ON owner.id = owner_id WHERE client = ? ORDER BY keys")
      .bind(as.clientName)
      .all<{ keys: string }>();
    expect(sets.results.map(({ keys }) => keys)).toHaveLength(1);
    expect(sets.results[0]!.keys).toContain(".batch");
  });

  it("counts each file once in parallel with a deletion of all", async () => {
    const as = principal();
    const ids = await insertCommitted(as, 40, '{"color":"red"}');
    const answers = await Promise.all([
      deleteBy("color:red", as),
      app.call(`${collection()}?tenant=acme`, { as, method: "DELETE" }),
      deleteBy("color:red", as),
      app.call(`${collection()}/${ids[0]}`, { as, method: "DELETE" }),
      app.call(`${collection()}?tenant=acme`, { as, method: "DELETE" }),
    ]);
    await app.settle();
    const locations = answers.flatMap((answer) => answer.headers.get("location") ?? []);
    const reports = await Promise.all(locations.map((location) => reportAt(app, as, location)));
    expect(reports.reduce((sum, { files }) => sum + files.requested, 0)).toBe(40);
    expect(reports.reduce((sum, { files }) => sum + files.deleted, 0)).toBe(40);
    expect(await allFiles(ids)).toEqual({ removed: 40, bytes: [] });
  });
});
