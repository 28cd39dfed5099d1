import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { LIMITS } from "../../../src/media/model/limits.ts";
import { counting } from "../../support/counting.ts";
import { call, expectJson } from "../../support/platform/call.ts";
import { OPERATOR, put } from "../../support/platform/operator.ts";
import { makeTenant } from "../../support/platform/tenants.ts";
import { tokenFor } from "../../support/platform/tokens.ts";
import { unique } from "../../support/platform/unique.ts";
import { allFiles, insertCommitted } from "../support/erasure-support.ts";
import { keysOf } from "../support/keys-of.ts";
import { mediaApp } from "../support/media-app.ts";
import { principal } from "../support/principal.ts";
import { expectProblem } from "../support/problem.ts";
import { stored, uploaded } from "../support/stored-file.ts";
import { chunked } from "../support/upload-bodies.ts";
import { shardsOf } from "../../../src/platform/storage/shards.ts";
import { everywhere, inShards } from "../../support/shards.ts";
import { itAtNight } from "../../support/model-runs.ts";

const app = mediaApp();
const bytesOf = (length: number) => new Uint8Array(length).fill(120);
const TYPE = "text/plain";

type Quota = { files?: number; bytes?: number };

const setQuota = (tenant: string, quota?: Quota) =>
  put(`tenants/${tenant}`, { organization: `${tenant}-org`, name: "x", quota: quota ?? {} });

/** Makes a caller with its own tenant, which has this quota. */
async function ofTenant(quota?: Quota) {
  const tenant = await makeTenant({ subscribed: false });
  await setQuota(tenant, quota);
  return principal({ tenant });
}

const storedOf = async (tenant: string) => {
  const { files, bytes } = await app.media.usage(tenant);
  return { files, bytes };
};

const waitingOf = async (tenant: string) => (await app.media.usage(tenant)).pending;

const statusesOf = (answers: readonly Response[]) => answers.map(({ status }) => status).sort((a, b) => a - b);

const OVER = [{ type: "quota_exceeded" }];
const create = (as: ReturnType<typeof principal>) =>
  app.call("/media/v2/files", { as, json: { "Content-Type": TYPE } });

const operator = async (path: string, init: { method?: string; json?: unknown } = {}): Promise<Response> =>
  call(`/admin/v1/tenants/${path}`, { ...init, token: await tokenFor(OPERATOR) });

describe("usage", () => {
  // shows: operator/resources/tenants-id-usage
  it("follows every change of a file: commit and every kind of deletion", async () => {
    const as = await ofTenant();
    const other = principal({ tenant: as.tenant });
    const usage = () => storedOf(as.tenant);
    expect(await usage()).toEqual({ files: 0, bytes: 0 });
    const pending = await uploaded(app, bytesOf(5), { as, type: TYPE });
    expect(await app.media.usage(as.tenant)).toEqual({ files: 0, bytes: 0, pending: { files: 1, bytes: 0 } });
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
    const nothing = { files: 0, bytes: 0 };
    expect(await app.media.usage(as.tenant)).toEqual({ files: 1, bytes: 5, pending: nothing });
    expect(await app.media.usage(unique("t"))).toEqual({ ...nothing, pending: nothing });
  });

  it("does not count files of a retired owner", async () => {
    const as = await ofTenant();
    await stored(app, bytesOf(5), { as, type: TYPE });
    await everywhere.prepare("UPDATE owner SET erasure_id = 'x' WHERE tenant = ?").bind(as.tenant).run();
    expect(await storedOf(as.tenant)).toEqual({ files: 0, bytes: 0 });
    await stored(app, bytesOf(6), { as, type: TYPE });
    expect(await storedOf(as.tenant)).toEqual({ files: 1, bytes: 6 });
  });
});

describe("a quota", () => {
  // shows: operator/resources/quota
  it.each([
    ["files", { files: 2 }],
    ["bytes", { bytes: 20 }],
    ["both", { files: 2, bytes: 20 }],
  ])(
    "returns 413 beyond it (%s), whoever commits; the file stays pending and is committed when there is space",
    async (_, quota) => {
      const as = await ofTenant();
      const other = principal({ tenant: as.tenant });
      await stored(app, bytesOf(10), { as, type: TYPE });
      const second = await stored(app, bytesOf(10), { as: other, type: TYPE, visibility: "public" });
      const waiting = await uploaded(app, bytesOf(1), { as, type: TYPE });
      await setQuota(as.tenant, quota);
      for (let again = 0; again < 2; again += 1) {
        const refused = await app.call(waiting.commitLink, { as, method: "POST" });
        await expectProblem(refused, 413, "bad_payload_size", OVER);
      }
      expect(await storedOf(as.tenant)).toEqual({ files: 2, bytes: 20 });
      await expectProblem(await app.call(waiting.path, { as }), 404, "element_resource_non_existing");
      // A commit can be repeated even if the quota is full.
      await expectJson(await app.call(second.commitLink, { as: other, method: "POST" }), 202);
      expect((await app.call(second.path, { as: other, method: "DELETE" })).status).toBe(204);
      await expectJson(await app.call(waiting.commitLink, { as, method: "POST" }), 202);
      expect(await storedOf(as.tenant)).toEqual({ files: 2, bytes: 11 });
      await expectJson(await app.call(waiting.path, { as }), 200);
    },
  );

  it("counts exactly, up to the last byte; an empty file counts as a file", async () => {
    const as = await ofTenant({ bytes: 10 });
    await stored(app, bytesOf(4), { as, type: TYPE });
    const large = await expectJson(await create(as), 200);
    const send = (length: number) =>
      app.call(large.uploadLink, {
        method: "PUT",
        body: bytesOf(length),
        headers: { "content-type": TYPE, "content-length": String(length) },
      });
    await expectProblem(await send(7), 413, "bad_payload_size", OVER);
    expect((await send(6)).status).toBe(200);
    await expectJson(await app.call(large.commitLink, { as, method: "POST" }), 202);
    await stored(app, bytesOf(0), { as, type: TYPE });
    expect(await storedOf(as.tenant)).toEqual({ files: 3, bytes: 10 });
  });

  it.each(["files", "bytes"])("gets its space back at once when all files are deleted (%s)", async (what) => {
    const count = LIMITS.erasePage + 1;
    const as = await ofTenant();
    const ids = await insertCommitted(as, count);
    const waiting = await uploaded(app, bytesOf(10), { as, type: TYPE });
    await setQuota(as.tenant, { [what]: what === "files" ? count : count * 5 });
    expect((await app.call(waiting.commitLink, { as, method: "POST" })).status).toBe(413);
    const answer = await app.call(`/media/v2/files?tenant=${as.tenant}`, { as, method: "DELETE" });
    expect(answer.status).toBe(202);
    await app.settle();
    // No consumer runs, so the message that removes them stays.
    expect(await allFiles(ids)).toMatchObject({ committed: count });
    await expectJson(await app.call(waiting.commitLink, { as, method: "POST" }), 202);
  });

  it("makes no variants of a pending file", async () => {
    const as = await ofTenant();
    const file = await uploaded(app, bytesOf(9), { as, type: "image/png", query: "?clip=4x4" });
    await setQuota(as.tenant, { files: 0 });
    app.jobs.length = 0;
    expect((await app.call(file.commitLink, { as, method: "POST" })).status).toBe(413);
    await app.settle();
    expect(app.jobs).toEqual([]);
  });

  it("applies in the tenant that the file gets, not in the caller's", async () => {
    const as = await ofTenant({ files: 1 });
    const target = await ofTenant();
    app.actsFor.add(`${as.clientId} ${target.tenant}`);
    await stored(app, bytesOf(1), { as: principal({ tenant: target.tenant }), type: TYPE });
    const file = await uploaded(app, bytesOf(2), { as, type: TYPE });
    expect(await waitingOf(as.tenant)).toEqual({ files: 1, bytes: 0 });
    await expectJson(await app.call(`${file.commitLink}?tenant=${target.tenant}`, { as, method: "POST" }), 202);
    expect(await storedOf(target.tenant)).toEqual({ files: 2, bytes: 3 });
    expect(await waitingOf(as.tenant)).toEqual({ files: 0, bytes: 0 });
  });

  it("keeps files that clients of the tenant reserved from those who commit into it from outside", async () => {
    const as = await ofTenant();
    const target = await ofTenant({ files: 2, bytes: 10 });
    app.actsFor.add(`${as.clientId} ${target.tenant}`);
    const reserved = await uploaded(app, bytesOf(8), { as: target, type: TYPE });
    const [first, second] = [
      await uploaded(app, bytesOf(2), { as, type: TYPE }),
      await uploaded(app, bytesOf(1), { as, type: TYPE }),
    ];
    const commit = (file: typeof first) =>
      app.call(`${file.commitLink}?tenant=${target.tenant}`, { as, method: "POST" });
    expect((await commit(first)).status).toBe(202);
    await expectProblem(await commit(second), 413, "bad_payload_size", OVER);
    await expectJson(await app.call(reserved.commitLink, { as: target, method: "POST" }), 202);
    expect(await app.media.usage(target.tenant)).toEqual({ files: 2, bytes: 10, pending: { files: 0, bytes: 0 } });
  });

  it("is reserved at creation: no file can be created beyond it, by parallel requests either", async () => {
    const as = await ofTenant({ files: 0, bytes: 1 });
    await expectProblem(await create(as), 413, "bad_payload_size", OVER);
    expect(await waitingOf(as.tenant)).toEqual({ files: 0, bytes: 0 });
    const five = await ofTenant({ files: 5, bytes: 1000 });
    const answers = await Promise.all(Array.from({ length: 20 }, () => create(five)));
    expect(statusesOf(answers)).toEqual([...Array(5).fill(200), ...Array(15).fill(413)]);
    expect(await waitingOf(five.tenant)).toEqual({ files: 5, bytes: 0 });
    // A file that is removed before its commit no longer counts.
    const [{ id }] = await Promise.all(
      answers.filter(({ status }) => status === 200).map((answer) => expectJson(answer, 200)),
    );
    await app.call(`/media/v2/files/${id}`, { as: five, method: "DELETE" });
    expect((await create(five)).status).toBe(200);
  });

  it("reserves bytes as they arrive: announced or counted, in parallel, and when they are sent again", async () => {
    const as = await ofTenant({ bytes: 10 });
    const links = await Promise.all(Array.from({ length: 8 }, async () => expectJson(await create(as), 200)));
    const send = (link: string, length: number, isCounted = false) =>
      app.call(link, {
        method: "PUT",
        body: isCounted ? new Blob([bytesOf(length)]).stream() : bytesOf(length),
        headers: { "content-type": TYPE, ...(isCounted ? {} : { "content-length": String(length) }) },
      });
    const put4 = await Promise.all(links.slice(0, 4).map(({ uploadLink }) => send(uploadLink, 4)));
    expect(statusesOf(put4)).toEqual([200, 200, 413, 413]);
    expect(await waitingOf(as.tenant)).toEqual({ files: 8, bytes: 8 });
    // A shorter upload that loses does not release the bytes of the other one.
    const taken = links[put4.findIndex(({ status }) => status === 200)];
    expect((await send(taken.uploadLink, 0)).status).toBe(409);
    expect(await waitingOf(as.tenant)).toEqual({ files: 8, bytes: 8 });
    await expectProblem(await send(links[4].uploadLink, 3, true), 413, "bad_payload_size", OVER);
    await app.call(`/media/v2/files/${links[4].id}`, { as, method: "DELETE" });
    expect((await send(links[5].uploadLink, 1, true)).status).toBe(200);
    expect(await waitingOf(as.tenant)).toEqual({ files: 7, bytes: 9 });
    for (const [at, { status }] of put4.entries())
      if (status === 200) await expectJson(await app.call(links[at].commitLink, { as, method: "POST" }), 202);
    expect(await app.media.usage(as.tenant)).toEqual({ files: 2, bytes: 8, pending: { files: 5, bytes: 1 } });
  });

  it("returns 413 to one of two parallel commits that do not both fit, by files or bytes, until there is space", async () => {
    for (const quota of [{ files: 1 }, { bytes: 9 }]) {
      const as = await ofTenant();
      const files = await Promise.all([5, 6].map((length) => uploaded(app, bytesOf(length), { as, type: TYPE })));
      await setQuota(as.tenant, quota);
      const answers = await Promise.all(files.map(({ commitLink }) => app.call(commitLink, { as, method: "POST" })));
      expect([quota, statusesOf(answers)]).toEqual([quota, [202, 413]]);
      const won = answers.findIndex(({ status }) => status === 202);
      expect(await storedOf(as.tenant)).toEqual({ files: 1, bytes: 5 + won });
      expect(await waitingOf(as.tenant)).toMatchObject({ files: 1 });
      expect((await app.call(files[won]!.path, { as, method: "DELETE" })).status).toBe(204);
      await expectJson(await app.call(files[1 - won]!.commitLink, { as, method: "POST" }), 202);
      expect(await storedOf(as.tenant)).toEqual({ files: 1, bytes: 6 - won });
    }
  });

  describe("uploads without a length", () => {
    const PART = LIMITS.partBytes;
    const LENGTH = PART + 200_000;
    const send = (link: string, body: ReadableStream<Uint8Array>) =>
      app.call(link, { method: "PUT", body, headers: { "content-type": TYPE } });
    const waits = async (as: ReturnType<typeof principal>, bytes: number) => {
      while ((await waitingOf(as.tenant)).bytes !== bytes) await scheduler.wait(5);
    };

    itAtNight("do not hold up others while they are slow; both fit", async () => {
      const as = await ofTenant({ bytes: LENGTH * 2 });
      const [slow, quick] = [await expectJson(await create(as), 200), await expectJson(await create(as), 200)];
      const gate = Promise.withResolvers<void>();
      const sending = send(slow.uploadLink, chunked(LENGTH, Infinity, undefined, gate.promise));
      await waits(as, PART);
      expect((await send(quick.uploadLink, chunked(LENGTH))).status).toBe(200);
      expect(await waitingOf(as.tenant)).toEqual({ files: 2, bytes: PART + LENGTH });
      gate.resolve();
      expect((await sending).status).toBe(200);
      expect(await waitingOf(as.tenant)).toEqual({ files: 2, bytes: LENGTH * 2 });
      for (const { commitLink } of [slow, quick])
        await expectJson(await app.call(commitLink, { as, method: "POST" }), 202);
      expect(await waitingOf(as.tenant)).toEqual({ files: 0, bytes: 0 });
    });

    it("return 413 when the quota is full and leave nothing; the link works when there is space", async () => {
      const as = await ofTenant({ bytes: LENGTH * 2 - 1 });
      const [slow, quick] = [await expectJson(await create(as), 200), await expectJson(await create(as), 200)];
      const gate = Promise.withResolvers<void>();
      const sending = send(slow.uploadLink, chunked(LENGTH, Infinity, undefined, gate.promise));
      await waits(as, PART);
      expect((await send(quick.uploadLink, chunked(LENGTH))).status).toBe(200);
      gate.resolve();
      await expectProblem(await sending, 413, "bad_payload_size", OVER);
      expect(await keysOf(slow.id)).toEqual([]);
      expect(await waitingOf(as.tenant)).toEqual({ files: 2, bytes: LENGTH });
      await app.call(`/media/v2/files/${quick.id}`, { as, method: "DELETE" });
      expect((await send(slow.uploadLink, chunked(LENGTH))).status).toBe(200);
    });

    inShards("take 1 round trip, and 1 more for each part if there is a quota of bytes", async () => {
      const { env: counted, tally, reset } = counting(env);
      const on = mediaApp({ shards: shardsOf(counted), bucket: counted.MEDIA });
      for (const [quota, roundTrips] of [
        [{}, 1],
        [{ bytes: LENGTH }, 3],
      ] as const) {
        const { uploadLink } = await expectJson(await create(await ofTenant(quota)), 200);
        reset();
        const headers = { "content-type": TYPE };
        expect((await on.call(uploadLink, { method: "PUT", body: chunked(LENGTH), headers })).status).toBe(200);
        expect([quota, tally.d1RoundTrips]).toEqual([quota, roundTrips]);
      }
      const { uploadLink } = await expectJson(await create(await ofTenant({ bytes: 9 })), 200);
      reset();
      const headers = { "content-type": TYPE, "content-length": "9" };
      expect((await on.call(uploadLink, { method: "PUT", body: bytesOf(9), headers })).status).toBe(200);
      expect([tally.d1RoundTrips, tally.r2Operations]).toEqual([1, { put: 1 }]);
    });

    it("return 404 once the file is deleted, 409 once it has other bytes", async () => {
      const as = await ofTenant({ bytes: PART * 5 });
      for (const [by, type] of [
        ["delete", "element_resource_non_existing"],
        ["commit", "conflict_resource"],
      ] as const) {
        const file = await expectJson(await create(as), 200);
        const gate = Promise.withResolvers<void>();
        let sent = 0;
        const sending = send(
          file.uploadLink,
          chunked(PART * 4, Infinity, (bytes) => (sent = bytes), gate.promise),
        );
        await waits(as, PART);
        if (by === "delete") await app.call(`/media/v2/files/${file.id}`, { as, method: "DELETE" });
        else {
          expect((await send(file.uploadLink, chunked(1))).status).toBe(200);
          await expectJson(await app.call(file.commitLink, { as, method: "POST" }), 202);
        }
        gate.resolve();
        const details = by === "commit" ? [{ type: "already_uploaded" }] : [];
        await expectProblem(await sending, by === "commit" ? 409 : 404, type, details);
        expect(sent).toBeLessThan(PART * 4);
        await app.settle();
        expect(await keysOf(file.id)).toEqual(by === "commit" ? [`blob/${file.id}`] : []);
        expect(await waitingOf(as.tenant)).toEqual({ files: 0, bytes: 0 });
      }
    });
  });

  it("give back only their own bytes when they fail", async () => {
    const as = await ofTenant({ bytes: 10 });
    const { uploadLink } = await expectJson(await create(as), 200);
    const gate = Promise.withResolvers<void>();
    const send = (length: number, body: BodyInit) =>
      app.call(uploadLink, {
        method: "PUT",
        body,
        headers: { "content-type": TYPE, "content-length": String(length) },
      });
    const failing = send(4, chunked(4, 0, undefined, gate.promise));
    while ((await waitingOf(as.tenant)).bytes !== 4) await scheduler.wait(5);
    await expectProblem(await send(7, bytesOf(7)), 413, "bad_payload_size", OVER);
    expect((await send(6, bytesOf(6))).status).toBe(200);
    gate.resolve();
    expect([400, 409]).toContain((await failing).status);
    expect(await waitingOf(as.tenant)).toEqual({ files: 1, bytes: 6 });
  });

  it("reserve nothing for a file without an owner", async () => {
    const as = await ofTenant({ bytes: 10 });
    const { uploadLink } = await expectJson(await create(as), 200);
    await everywhere.prepare("DELETE FROM owner WHERE client = ?1 AND tenant = ''").bind(as.clientName).run();
    const headers = { "content-type": TYPE, "content-length": "9" };
    expect((await app.call(uploadLink, { method: "PUT", body: bytesOf(9), headers })).status).toBe(404);
    expect(await waitingOf(as.tenant)).toEqual({ files: 1, bytes: 0 });
  });

  it("return 429 beyond the client's limit of pending files", async () => {
    const as = await ofTenant();
    await expectJson(await create(as), 200);
    const fill = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
      INSERT INTO file (id, owner_id, state, content_type, created_at, reserved_for, known_places)
      SELECT ?2 || i, owner_id, 'pending', 'a/b', created_at, reserved_for, 1 FROM file, n WHERE reserved_for = ?2`;
    await everywhere
      .prepare(fill)
      .bind(LIMITS.pendingFilesPerClient - 1, as.tenant)
      .run();
    const refused = await create(as);
    expect(refused.headers.get("retry-after")).toBe("60");
    await expectProblem(refused, 429, "insufficient_resources");
    await expectJson(await create(principal({ tenant: as.tenant })), 200);
  });

  it("have no quota if the tenant is not registered", async () => {
    const as = principal({ tenant: unique("t") });
    await stored(app, bytesOf(1), { as, type: TYPE });
    expect(await storedOf(as.tenant)).toEqual({ files: 1, bytes: 1 });
  });

  it("follow a quota that the operator raises, lowers or removes at once; stored files stay", async () => {
    const as = await ofTenant();
    await stored(app, bytesOf(4), { as, type: TYPE });
    const waiting = await uploaded(app, bytesOf(4), { as, type: TYPE });
    await setQuota(as.tenant, { files: 1 });
    const commit = async () => (await app.call(waiting.commitLink, { as, method: "POST" })).status;
    expect(await commit()).toBe(413);
    await setQuota(as.tenant, { files: 0, bytes: 1 });
    expect(await commit()).toBe(413);
    expect(await storedOf(as.tenant)).toEqual({ files: 1, bytes: 4 });
    await setQuota(as.tenant);
    expect(await commit()).toBe(202);
  });
});

describe("the operator", () => {
  // shows: operator/resources/tenants-id-usage
  it("sets a quota, sees it with the usage, and removes it by a PUT without it", async () => {
    const as = await ofTenant({ files: 3 });
    const pending = { files: 0, bytes: 0 };
    const usage = async () => expectJson(await operator(`${as.tenant}/usage`), 200);
    await stored(app, bytesOf(4), { as, type: TYPE });
    expect(await usage()).toEqual({ tenant: as.tenant, files: 1, bytes: 4, pending, quota: { files: 3 } });
    expect(await expectJson(await operator(as.tenant), 200)).toMatchObject({ quota: { files: 3 } });
    expect(await setQuota(as.tenant, { bytes: 2 ** 40 })).toMatchObject({ quota: { bytes: 2 ** 40 } });
    expect(await usage()).toEqual({ tenant: as.tenant, files: 1, bytes: 4, pending, quota: { bytes: 2 ** 40 } });
    expect(await setQuota(as.tenant, { files: 0, bytes: 0 })).toMatchObject({ quota: { files: 0, bytes: 0 } });
    expect(await setQuota(as.tenant)).toMatchObject({ quota: {} });
    expect(await usage()).toEqual({ tenant: as.tenant, files: 1, bytes: 4, pending, quota: {} });
  });

  // shows: operator/resources/quota
  it("gets 400 for a malformed quota, by its name, and 404 for an unknown tenant", async () => {
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
