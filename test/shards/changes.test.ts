import { decodeJwt } from "jose";
import { beforeEach, describe, expect, it } from "vitest";
import { shardOfId } from "../../src/media/model/file.ts";
import { shardBinding } from "../../src/platform/storage/shards.ts";
import { databaseWith } from "../support/directory.ts";
import { isolate } from "../support/isolate.ts";
import { casesOf, strideOf } from "../support/model-runs.ts";
import { WatchedMoves } from "../support/moving.ts";
import { call, expectJson } from "../support/platform/call.ts";
import { makeClient, type TestClient } from "../support/platform/clients.ts";
import { operate, put } from "../support/platform/operator.ts";
import { makeTenantIn, placeOf } from "../support/platform/tenants.ts";
import { tokenFor } from "../support/platform/tokens.ts";
import { shardDb } from "../support/shards.ts";
import { storePublic } from "./support.ts";

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
      const files = [await storePublic(client, "four")];
      await new WatchedMoves(tenant).to(FROM);
      files.push(await storePublic(client, "four"));
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
    await storePublic(client, "four");
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
    await storePublic(client, "four");
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

describe("a deletion whose answer is lost while the tenant moves", () => {
  const away = () => Promise.reject(new Error("the answer is lost"));
  const dead: object = { bind: () => dead, all: away };

  /**
   * An isolate that hears no answer of the old shard to a deletion, in which time a move makes so many calls.
   * `forGood`: nor what became of it.
   */
  function deaf(moves: WatchedMoves, calls: number, forGood = false) {
    const db = shardDb(FROM);
    let [isRemoval, isLost] = [false, false];
    const losing = databaseWith(db, {
      prepare(sql) {
        isRemoval ||= /UPDATE file SET state = 'removed'|UPDATE owner SET erasure_id/.test(sql);
        return isLost && forGood && /FROM erasure/.test(sql) ? dead : db.prepare(sql);
      },
      async batch(statements) {
        const answer = await db.batch(statements);
        if (!isRemoval || isLost) return answer;
        isLost = true;
        await moves.breaking(TO, calls);
        return away();
      },
    });
    return isolate({ [shardBinding(FROM)]: losing });
  }

  const DELETIONS: readonly { kind: string; path: (id: string) => string }[] = [
    { kind: "file", path: (id) => `files/${id}` },
    { kind: "all", path: () => `files?tenant=${tenant}` },
    { kind: "query", path: () => `files?tenant=${tenant}&q=a:b` },
  ];
  /** How far the move gets: it copies, it closes, it has left, it cleans, it is done. */
  const CALLS = [26, 14, 5, 10, 12, 16, 18, 20, 22, 24, 28, 30, 34, 38, Infinity];
  const CASES = casesOf(CALLS, 2).flatMap((calls) => DELETIONS.map((deletion) => ({ calls, ...deletion })));

  // shows: operator/shards/tenant-move-lost-answer
  it.each(CASES)("is answered with its report: $kind, a move of $calls calls", async ({ kind, path, calls }) => {
    await new WatchedMoves(tenant).to(FROM);
    const id = await storePublic(client, "four");
    const headers = { authorization: `Bearer ${await tokenFor(client)}` };
    const metadata = { headers: { ...headers, "content-type": "application/json" }, method: "PUT", json: { a: "b" } };
    expect((await call(`/media/v2/public/files/${id}/metadata`, metadata)).status).toBe(200);
    const moves = new WatchedMoves(tenant);
    const deleted = await deaf(moves, calls).fetch(`/media/v2/public/${path(id)}`, { method: "DELETE", headers });
    expect(deleted.status).toBe(kind === "all" ? 202 : 204);
    const report = await call(new URL(deleted.headers.get("location")!).pathname, { headers });
    expect(await expectJson(report, 200)).toMatchObject({ kind, files: { requested: 1 } });
    await moves.rest();
    expect((await call(`/media/v2/public/files/${id}`)).status).toBe(404);
    const reports = await call(`/media/v2/erasures?tenant=${tenant}`, { headers });
    expect(await expectJson<object[]>(reports, 200)).toHaveLength(1);
  });

  it("is not answered as if there had been no file, if nothing tells what became of it", async () => {
    await new WatchedMoves(tenant).to(FROM);
    const id = await storePublic(client, "four");
    const headers = { authorization: `Bearer ${await tokenFor(client)}` };
    const path = `/media/v2/public/files/${id}`;
    const here = deaf(new WatchedMoves(tenant), Infinity, true);
    expect((await here.fetch(path, { method: "DELETE", headers })).status).toBe(503);
    expect((await call(path, { method: "DELETE", headers })).status).toBe(404);
  });
});
