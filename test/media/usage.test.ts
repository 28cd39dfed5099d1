import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { LIMITS } from "../../src/media/limits.ts";
import { call, makeTenant, OPERATOR, put, tokenFor, unique } from "../support/platform.ts";
import { allFiles, insertCommitted } from "./erasure-support.ts";
import { expectJson, expectProblem, mediaApp, principal, stored, uploaded } from "./media-app.ts";

const app = mediaApp();
const bytesOf = (length: number) => new Uint8Array(length).fill(120);
const TYPE = "text/plain";

type Quota = { files?: number; bytes?: number };

const setQuota = (tenant: string, quota?: Quota) =>
  put(`tenants/${tenant}`, { organization: `${tenant}-org`, name: "x", quota: quota ?? {} });

/** A caller of a tenant of its own, with this quota. */
async function ofTenant(quota?: Quota) {
  const tenant = await makeTenant({ subscribed: false });
  await setQuota(tenant, quota);
  return principal({ tenant });
}

const operator = async (path: string, init: { method?: string; json?: unknown } = {}): Promise<Response> =>
  call(`/admin/v1/tenants/${path}`, { ...init, token: await tokenFor(OPERATOR) });

describe("usage", () => {
  it("follows every change of a file: commit, deletion of it, by whom and where it may be", async () => {
    const as = await ofTenant();
    const other = principal({ tenant: as.tenant });
    const usage = () => app.media.usage(as.tenant);
    expect(await usage()).toEqual({ files: 0, bytes: 0 });
    const pending = await uploaded(app, bytesOf(5), { as, type: TYPE });
    expect(await usage()).toEqual({ files: 0, bytes: 0 });
    await expectJson(await app.call(pending.commitLink, { as, method: "POST" }), 202);
    await expectJson(await app.call(pending.commitLink, { as, method: "POST" }), 202);
    expect(await usage()).toEqual({ files: 1, bytes: 5 });
    const open = await stored(app, bytesOf(7), { as: other, type: TYPE, visibility: "public" });
    const empty = await stored(app, bytesOf(0), { as, type: TYPE });
    expect(await usage()).toEqual({ files: 3, bytes: 12 });
    await expectJson(await app.call(`${pending.path}/metadata`, { as, method: "PUT", json: { a: 1 } }), 200);
    expect(await usage()).toEqual({ files: 3, bytes: 12 });
    await app.call(open.path, { as: other, method: "DELETE" });
    await app.call(open.path, { as: other, method: "DELETE" });
    expect(await usage()).toEqual({ files: 2, bytes: 5 });
    await app.call(empty.path, { as, method: "DELETE" });
    const never = await uploaded(app, bytesOf(3), { as, type: TYPE });
    await app.call(never.path, { as, method: "DELETE" });
    await app.settle();
    expect(await usage()).toEqual({ files: 1, bytes: 5 });
    expect(await app.media.usage(unique("t"))).toEqual({ files: 0, bytes: 0 });
  });

  it("files of a retired owner are not counted", async () => {
    const as = await ofTenant();
    await stored(app, bytesOf(5), { as, type: TYPE });
    await env.DB.prepare("UPDATE owner SET erasure_id = 'x' WHERE tenant = ?").bind(as.tenant).run();
    expect(await app.media.usage(as.tenant)).toEqual({ files: 0, bytes: 0 });
    await stored(app, bytesOf(6), { as, type: TYPE });
    expect(await app.media.usage(as.tenant)).toEqual({ files: 1, bytes: 6 });
  });
});

describe("quota", () => {
  it.each([
    ["files", { files: 2 }],
    ["bytes", { bytes: 20 }],
    ["both", { files: 2, bytes: 20 }],
  ])("413 over it (%s), whoever commits; the file waits and is committed once there is room", async (_, quota) => {
    const as = await ofTenant(quota);
    const other = principal({ tenant: as.tenant });
    await stored(app, bytesOf(10), { as, type: TYPE });
    const second = await stored(app, bytesOf(10), { as: other, type: TYPE, visibility: "public" });
    const waiting = await uploaded(app, bytesOf(1), { as, type: TYPE });
    for (let again = 0; again < 2; again += 1) {
      const refused = await app.call(waiting.commitLink, { as, method: "POST" });
      await expectProblem(refused, 413, "bad_payload_size", [{ type: "quota_exceeded" }]);
    }
    expect(await app.media.usage(as.tenant)).toEqual({ files: 2, bytes: 20 });
    await expectProblem(await app.call(waiting.path, { as }), 404, "element_resource_non_existing");
    // A commit that was done is repeated, full or not.
    await expectJson(await app.call(second.commitLink, { as: other, method: "POST" }), 202);
    expect((await app.call(second.path, { as: other, method: "DELETE" })).status).toBe(204);
    await expectJson(await app.call(waiting.commitLink, { as, method: "POST" }), 202);
    expect(await app.media.usage(as.tenant)).toEqual({ files: 2, bytes: 11 });
    await expectJson(await app.call(waiting.path, { as }), 200);
  });

  it("counts exactly: up to the last byte; an empty file needs a place alone", async () => {
    const as = await ofTenant({ bytes: 10 });
    await stored(app, bytesOf(4), { as, type: TYPE });
    const large = await uploaded(app, bytesOf(7), { as, type: TYPE });
    const refused = await app.call(large.commitLink, { as, method: "POST" });
    await expectProblem(refused, 413, "bad_payload_size", [{ type: "quota_exceeded" }]);
    await stored(app, bytesOf(6), { as, type: TYPE });
    await stored(app, bytesOf(0), { as, type: TYPE });
    expect(await app.media.usage(as.tenant)).toEqual({ files: 3, bytes: 10 });
    const none = await ofTenant({ files: 0 });
    const first = await uploaded(app, bytesOf(0), { as: none, type: TYPE });
    await expectProblem(await app.call(first.commitLink, { as: none, method: "POST" }), 413, "bad_payload_size", [
      { type: "quota_exceeded" },
    ]);
  });

  it.each(["files", "bytes"])("deletion of all makes room at once, while the files go (%s)", async (what) => {
    const count = LIMITS.erasePage + 1;
    const as = await ofTenant({ [what]: what === "files" ? count : count * 5 });
    const ids = await insertCommitted(as, count);
    const waiting = await uploaded(app, bytesOf(10), { as, type: TYPE });
    expect((await app.call(waiting.commitLink, { as, method: "POST" })).status).toBe(413);
    const answer = await app.call(`/media/v2/files?tenant=${as.tenant}`, { as, method: "DELETE" });
    expect(answer.status).toBe(202);
    await app.settle();
    // A message, which nobody takes here, is to remove them.
    expect(await allFiles(ids)).toMatchObject({ committed: count });
    await expectJson(await app.call(waiting.commitLink, { as, method: "POST" }), 202);
  });

  it("no variants are made of a file that waits", async () => {
    const as = await ofTenant({ files: 0 });
    const file = await uploaded(app, bytesOf(9), { as, type: "image/png", query: "?clip=4x4" });
    app.jobs.length = 0;
    expect((await app.call(file.commitLink, { as, method: "POST" })).status).toBe(413);
    await app.settle();
    expect(app.jobs).toEqual([]);
  });

  it("is what counts of the tenant that the file goes to, not of the caller's", async () => {
    const as = await ofTenant({ files: 0 });
    const target = await ofTenant();
    app.actsFor.add(`${as.clientId} ${target.tenant}`);
    const file = await uploaded(app, bytesOf(2), { as, type: TYPE });
    await expectJson(await app.call(`${file.commitLink}?tenant=${target.tenant}`, { as, method: "POST" }), 202);
    expect(await app.media.usage(target.tenant)).toEqual({ files: 1, bytes: 2 });
  });

  it("twenty commits at once fill it and no more", async () => {
    const as = await ofTenant({ files: 5, bytes: 1000 });
    const files = await Promise.all(Array.from({ length: 20 }, () => uploaded(app, bytesOf(3), { as, type: TYPE })));
    const answers = await Promise.all(files.map((file) => app.call(file.commitLink, { as, method: "POST" })));
    const statuses = answers.map((answer) => answer.status);
    expect(statuses.filter((status) => status === 202)).toHaveLength(5);
    expect(statuses.filter((status) => status === 413)).toHaveLength(15);
    expect(await app.media.usage(as.tenant)).toEqual({ files: 5, bytes: 15 });
  });

  it("a tenant that is not registered has none", async () => {
    const as = principal({ tenant: unique("t") });
    await stored(app, bytesOf(1), { as, type: TYPE });
    expect(await app.media.usage(as.tenant)).toEqual({ files: 1, bytes: 1 });
  });

  it("raised, lowered and taken away by the operator, at once; what is stored stays", async () => {
    const as = await ofTenant({ files: 1 });
    await stored(app, bytesOf(4), { as, type: TYPE });
    const waiting = await uploaded(app, bytesOf(4), { as, type: TYPE });
    const commit = async () => (await app.call(waiting.commitLink, { as, method: "POST" })).status;
    expect(await commit()).toBe(413);
    await setQuota(as.tenant, { files: 0, bytes: 1 });
    expect(await commit()).toBe(413);
    expect(await app.media.usage(as.tenant)).toEqual({ files: 1, bytes: 4 });
    await setQuota(as.tenant);
    expect(await commit()).toBe(202);
  });
});

describe("the operator", () => {
  it("sets a quota, sees it beside what is stored, takes it away by a PUT without it", async () => {
    const as = await ofTenant({ files: 3 });
    const usage = async () => expectJson(await operator(`${as.tenant}/usage`), 200);
    await stored(app, bytesOf(4), { as, type: TYPE });
    expect(await usage()).toEqual({ tenant: as.tenant, files: 1, bytes: 4, quota: { files: 3 } });
    expect(await expectJson(await operator(as.tenant), 200)).toMatchObject({ quota: { files: 3 } });
    expect(await setQuota(as.tenant, { bytes: 2 ** 40 })).toMatchObject({ quota: { bytes: 2 ** 40 } });
    expect(await usage()).toEqual({ tenant: as.tenant, files: 1, bytes: 4, quota: { bytes: 2 ** 40 } });
    expect(await setQuota(as.tenant, { files: 0, bytes: 0 })).toMatchObject({ quota: { files: 0, bytes: 0 } });
    expect(await setQuota(as.tenant)).toMatchObject({ quota: {} });
    expect(await usage()).toEqual({ tenant: as.tenant, files: 1, bytes: 4, quota: {} });
  });

  it("400 for what is no quota, by its name; 404 for no tenant", async () => {
    const { tenant } = await ofTenant({ files: 3 });
    const base = { organization: `${tenant}-org`, name: "x" };
    for (const [quota, field] of [
      [{ files: -1 }, "quota.files"],
      [{ bytes: 1.5 }, "quota.bytes"],
      [{ bytes: "1" }, "quota.bytes"],
      [{ files: 2 ** 53 }, "quota.files"],
      [3, "quota"],
    ] as const) {
      const refused = await operator(tenant, { method: "PUT", json: { ...base, quota } });
      await expectProblem(refused, 400, "validation_violation", [{ type: "invalid_field", field }]);
    }
    await expectProblem(await operator(`${unique("t")}/usage`), 404, "element_resource_non_existing");
  });
});
