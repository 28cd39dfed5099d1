import { createExecutionContext, createMessageBatch, getQueueResult } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { createDeps } from "../../src/deps.ts";
import { encodePng, gradient } from "../support/images.ts";
import { call, expectJson, ORIGIN } from "../support/platform/call.ts";
import { makeClient } from "../support/platform/clients.ts";
import { OPERATOR } from "../support/platform/operator.ts";
import { tokenFor } from "../support/platform/tokens.ts";

const COLLECTION = "/admin/v1/media/consistency";
const { media } = createDeps(env);
let token: string;
beforeAll(async () => void (token = await tokenFor(OPERATOR)));

const get = (path: string): Promise<Response> => call(path, { token });
const post = (path: string): Promise<Response> => call(path, { token, method: "POST" });

/** Delivers a message in addition to the real queue. A repeated message does nothing. */
async function consume(body: unknown): Promise<void> {
  const message = { id: "1", timestamp: new Date(), attempts: 1, body };
  const batch = createMessageBatch("plinth-media-jobs", [message]);
  await media.consume(batch, () => {});
  await getQueueResult(batch, createExecutionContext());
}

async function until(id: string, state: string): Promise<any> {
  for (let step = 0; step < 50; step++) {
    const report = await expectJson(await get(`${COLLECTION}/${id}`), 200);
    if (report.state === state) return report;
    await consume({ work: "compare", id });
  }
  throw new Error(`the run ${id} does not become ${state}`);
}

describe("media/consistency", () => {
  // shows: operator/resources/media-consistency
  it("compares, repairs, and makes missing variants again", async () => {
    const client = await makeClient();
    const mine = await tokenFor(client);
    const [first, second] = [await storeWithVariant(mine), await storeWithVariant(mine)];
    const { nonce } = (await env.DB.prepare("SELECT nonce FROM variant WHERE file_id = ?")
      .bind(first)
      .first<{ nonce: string }>())!;
    await env.MEDIA.delete([`variant/${first}/${nonce}`, `blob/${second}`]);

    const started = await post(COLLECTION);
    const { id, ...report } = await expectJson(started, 202);
    expect(started.headers.get("location")).toBe(`${ORIGIN}${COLLECTION}/${id}`);
    const none = { orphanObject: 0, missingBytes: 0, missingVariant: 0 };
    expect(report).toEqual({
      state: "running",
      startedAt: expect.any(Number),
      finishedAt: null,
      checked: { files: 0, variants: 0, objects: 0 },
      found: { ...none, sizeDiffers: 0, etagDiffers: 0 },
      keptFindings: 0,
      repairStartedAt: null,
      repairedAt: null,
      repaired: none,
    });
    const done = await until(id, "done");
    const found = { orphanObject: 0, missingBytes: 1, missingVariant: 1 };
    expect(done).toMatchObject({ finishedAt: expect.any(Number), found, keptFindings: 2 });
    expect(done.findings).toEqual([
      {
        kind: "missingBytes",
        key: `blob/${second}`,
        fileId: second,
        client: client.clientId,
        tenant: client.tenant,
        row: { size: expect.any(Number), etag: expect.stringMatching(/^"[0-9a-f]{32}"$/) },
        object: null,
        outcome: null,
      },
      expect.objectContaining({ kind: "missingVariant", key: `variant/${first}/${nonce}`, fileId: first }),
    ]);

    const page = await get(`${COLLECTION}/${id}?pageSize=1`);
    expect((await expectJson(page.clone(), 200)).findings).toHaveLength(1);
    const next = /<([^>]+)>; rel="next"/.exec(page.headers.get("link")!)![1]!;
    expect((await expectJson(await get(next), 200)).findings).toMatchObject([{ kind: "missingVariant" }]);
    for (const path of [`${COLLECTION}/${id}`, COLLECTION]) {
      const linkOf = async (query: string) => (await get(`${path}?${query}`)).headers.get("link");
      expect(await linkOf("pageSize=100&pageNumber=2")).toMatch(/pageNumber=1&pageSize=100>; rel="prev"$/);
      expect(await linkOf("pageSize=100&pageNumber=3")).toMatch(/rel="self"$/);
    }

    const repairing = await post(`${COLLECTION}/${id}/repair`);
    expect(repairing.headers.get("location")).toBe(`${ORIGIN}${COLLECTION}/${id}`);
    await expectJson(repairing, 202);
    const repaired = await until(id, "repaired");
    expect(repaired).toMatchObject({ repairedAt: expect.any(Number), repaired: found });
    expect(repaired.findings).toMatchObject([{ outcome: "repaired" }, { outcome: "repaired" }]);
    expect((await call(`/media/v2/files/${second}`, { token: mine })).status).toBe(404);
    await makeVariantOf(first);
    const link = await expectJson(await call(`/media/v2/files/${first}?clip=8x8`, { token: mine }), 200);
    expect((await call(link.link)).status).toBe(200);

    const again = await expectJson(await post(COLLECTION), 202);
    expect(again.id).not.toBe(id);
    expect((await until(again.id, "done")).findings).toEqual([]);
    const list = await expectJson(await get(`${COLLECTION}?pageSize=2`), 200);
    expect(list.map((run: any) => [run.id, run.state])).toEqual([
      [again.id, "done"],
      [id, "repaired"],
    ]);
    const audit = await expectJson(await get(`/admin/v1/audit?subject=media/consistency/${id}`), 200);
    expect(audit.map(({ action, actor, reason }: any) => [action, actor, reason])).toEqual([
      ["repair", OPERATOR.clientId, "objects deleted: 0, variants made again: 1, files removed: 1"],
      ["repair", OPERATOR.clientId, "started"],
      ["compare", OPERATOR.clientId, undefined],
    ]);
  });

  it("returns the running comparison to a second request, and refuses others with the cause", async () => {
    const answers = await Promise.all([1, 2, 3].map(async () => expectJson(await post(COLLECTION), 202)));
    const ids = new Set(answers.map(({ id }) => id));
    expect(ids.size).toBe(1);
    const [id] = [...ids];
    await env.DB.prepare("UPDATE consistency_run SET state = 'running', due_at = 1 WHERE id = ?").bind(id).run();
    const early = await expectJson(await post(`${COLLECTION}/${id}/repair`), 409);
    expect(early).toMatchObject({
      type: "conflict_resource",
      details: [
        { type: "comparison_running", message: expect.stringContaining("until the state of its report is done") },
      ],
    });
    await env.DB.prepare("UPDATE consistency_run SET state = 'repairing' WHERE id = ?").bind(id).run();
    const during = await expectJson(await post(COLLECTION), 409);
    expect(during).toMatchObject({ type: "conflict_resource", details: [{ type: "repair_under_way" }] });
    await until(id, "repaired");
  });

  it("answers 404 for an unknown run", async () => {
    for (const answer of [await get(`${COLLECTION}/x`), await post(`${COLLECTION}/x/repair`)])
      expect(await expectJson(answer, 404)).toMatchObject({ type: "element_resource_non_existing" });
    for (const path of [COLLECTION, `${COLLECTION}/x`])
      expect((await get(`${path}?cursor=${btoa('["a",["b"]]')}`)).status).toBe(400);
  });

  it("is for the operator alone", async () => {
    const other = await tokenFor(await makeClient());
    for (const [method, path] of [
      ["POST", COLLECTION],
      ["GET", COLLECTION],
      ["GET", `${COLLECTION}/x`],
      ["POST", `${COLLECTION}/x/repair`],
    ] as const)
      expect((await call(path, { method, token: other })).status).toBe(403);
  });
});

/** Stores a committed file with a ready variant, and returns its id. */
async function storeWithVariant(mine: string): Promise<string> {
  const json = { "Content-Type": "image/png" };
  const created = await expectJson(await call("/media/v2/files?clip=8x8", { token: mine, json }), 200);
  const body = await encodePng(gradient(16, 16));
  const headers = { "content-type": "image/png" };
  expect((await call(created.uploadLink, { method: "PUT", body, headers })).status).toBe(200);
  await expectJson(await call(created.commitLink, { token: mine, method: "POST" }), 202);
  await makeVariantOf(created.id);
  return created.id as string;
}

async function makeVariantOf(fileId: string): Promise<void> {
  const row = await env.DB.prepare("SELECT nonce FROM variant WHERE file_id = ?")
    .bind(fileId)
    .first<{ nonce: string }>();
  await consume({ fileId, nonce: row!.nonce });
}
