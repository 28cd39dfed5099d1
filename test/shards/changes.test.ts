import { decodeJwt } from "jose";
import { beforeEach, describe, expect, it } from "vitest";
import { shardOfId } from "../../src/media/model/file.ts";
import { isolate } from "../support/isolate.ts";
import { casesOf, strideOf } from "../support/model-runs.ts";
import { WatchedMoves } from "../support/moving.ts";
import { call, expectJson } from "../support/platform/call.ts";
import { makeClient, type TestClient } from "../support/platform/clients.ts";
import { OPERATOR, put } from "../support/platform/operator.ts";
import { makeTenantIn, placeOf } from "../support/platform/tenants.ts";
import { tokenFor } from "../support/platform/tokens.ts";

/**
 * What an operator changes while a tenant moves holds when the operator is answered, wherever the tenant's files are
 * found then; and nobody gets past a quota by it.
 */
const [FROM, TO] = [1, 2];
const TEXT = { "content-type": "text/plain" };

let tenant: string;
let client: TestClient;
beforeEach(async () => {
  // A tenant that was there before: the new shard has an old copy of it, and finds its files by their ids.
  tenant = await makeTenantIn(TO);
  client = await makeClient({ tenant });
});

const change = (changes: object) => put(`tenants/${tenant}`, { organization: `${tenant}-org`, name: "x", ...changes });
const operate = async (path: string, method = "GET") =>
  call(`/admin/v1/${path}`, { token: await tokenFor(OPERATOR), method });

async function storeFile(): Promise<string> {
  const token = await tokenFor(client);
  const post = () => call("/media/v2/public/files", { token, method: "POST", body: "four", headers: TEXT });
  const first = await post();
  return (await expectJson(first.status === 503 ? await post() : first, 202)).id;
}

/** Before which calls of the move it is disabled and enabled. In between, a move has time for what it has to repeat. */
const DISABLED: readonly (readonly [number, number])[] = [
  [0, 18],
  [17, 26],
  [4, 14],
  [8, 18],
  [12, 22],
  [14, 24],
  [15, 25],
  [16, 26],
  [18, 28],
  [19, 29],
  [20, 30],
];

describe("while a tenant moves", () => {
  // shows: operator/shards/tenant-move-disabled
  it.each(casesOf(DISABLED, 2))(
    "no file is shown from a change before its call %i on, and all are from the one before call %i on",
    async (from, until) => {
      const files = [await storeFile()];
      await new WatchedMoves(tenant).to(FROM);
      files.push(await storeFile());
      let [calls, isDisabled] = [0, false];
      const seen = () => Promise.all(files.map(async (id) => (await call(`/media/v2/public/files/${id}`)).status));
      const moves = new WatchedMoves(tenant, async () => {
        if (calls === from || calls === until) await change({ disabled: (isDisabled = !isDisabled) });
        const status = isDisabled ? 404 : 302;
        expect([calls++, ...(await seen())]).toEqual([calls - 1, status, status]);
      });
      await moves.to(TO);
      expect(await placeOf(tenant)).toBe(TO);
      expect(calls).toBeGreaterThan(until);
      expect([isDisabled, ...(await seen())]).toEqual([false, 302, 302]);
    },
  );

  // shows: operator/shards/tenant-move-quota
  it("nobody gets past its quota, and its use is the same before and after", async () => {
    await new WatchedMoves(tenant).to(FROM);
    await storeFile();
    // An isolate that does not hear of the move.
    const { fetch } = isolate();
    const token = await tokenFor(client);
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const create = () =>
      fetch("/media/v2/files", { method: "POST", headers, body: JSON.stringify({ "Content-Type": "text/plain" }) });
    await change({ quota: { files: 3, bytes: 1_000 } });
    const { uploadLink } = await expectJson(await create(), 200);
    expect((await call(uploadLink, { method: "PUT", body: "four", headers: TEXT })).status).toBe(200);
    await expectJson(await create(), 200);
    const useOf = async () => expectJson(await operate(`tenants/${tenant}/usage`), 200);
    const before = await useOf();
    expect(before).toMatchObject({ files: 1, bytes: 4, pending: { files: 2, bytes: 4 } });
    const statuses: number[] = [];
    await new WatchedMoves(tenant, async () => {
      const refused = await create();
      statuses.push(refused.status);
      if (refused.status === 503) expect(refused.headers.get("retry-after")).not.toBeNull();
      else expect(refused.status).toBe(413);
      expect(await useOf()).toMatchObject({ files: 1, bytes: 4 });
    }).to(TO);
    expect(statuses.filter((status) => status === 413).length).toBeGreaterThan(15);
    expect(await useOf()).toEqual(before);
    await change({ quota: { files: 4, bytes: 1_000 } });
    const { id } = await expectJson(await create(), 200);
    expect(shardOfId(id)).toBe(TO);
    expect((await create()).status).toBe(413);
  });

  // shows: operator/shards/tenant-move-changes
  it("it keeps its client and organization, and its packages are what the operator says", async () => {
    await new WatchedMoves(tenant).to(FROM);
    await storeFile();
    let [calls, isSubscribed] = [0, true];
    await new WatchedMoves(tenant, async () => {
      const now = calls++;
      const turn = now / strideOf(3);
      if (!Number.isInteger(turn)) return;
      if (turn % 3 === 0) {
        const path = `tenants/${tenant}/subscriptions/platform`;
        if (isSubscribed) expect((await operate(path, "DELETE")).status).toBe(204);
        else await put(path, {});
        isSubscribed = !isSubscribed;
      }
      const scope = decodeJwt(await tokenFor(client))["scope"] as string;
      expect([now, scope.includes("plat.media_view")]).toEqual([now, isSubscribed]);
      const kept = [`clients/${client.clientId}`, `tenants/${tenant}`, `organizations/${tenant}-org`][turn % 3]!;
      expect([now, (await operate(kept, "DELETE")).status]).toEqual([now, 409]);
    }).to(TO);
    expect(calls).toBeGreaterThan(25);
  });
});

it("a tenant that moved is measured by the quota that it has now", async () => {
  await change({ quota: { files: 0 } });
  const isAlmostFull = async (): Promise<boolean> => {
    const { items } = await expectJson(await operate("attention"), 200);
    return items.some(({ kind, subject }: any) => kind === "quota_almost_full" && subject === tenant);
  };
  expect(await isAlmostFull()).toBe(true);
  await new WatchedMoves(tenant).to(FROM);
  expect(await isAlmostFull()).toBe(true);
  await change({ quota: { files: 9 } });
  expect(await isAlmostFull()).toBe(false);
});
