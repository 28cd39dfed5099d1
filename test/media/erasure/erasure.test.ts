import { env } from "cloudflare:workers";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Principal } from "../../../src/http/callers/auth.ts";
import { LIMITS } from "../../../src/media/model/limits.ts";
import { counting } from "../../support/counting.ts";
import { encodePng, gradient } from "../../support/images.ts";
import { allFiles, insertCommitted, reportAt, rowsOf } from "../support/erasure-support.ts";
import { keysOf } from "../support/keys-of.ts";
import { mediaApp, ORIGIN, START_MS, type MediaApp } from "../support/media-app.ts";
import { IN_DIRECTORY, testPlacement } from "../support/placement.ts";
import { principal } from "../support/principal.ts";
import { expectProblem } from "../support/problem.ts";
import { collection, stored, uploaded } from "../support/stored-file.ts";
import { expectJson } from "../../support/platform/call.ts";
import { shardsOf } from "../../../src/platform/storage/shards.ts";
import { everywhere, inShards, shardDb } from "../../support/shards.ts";
import { itAtNight } from "../../support/model-runs.ts";
import { withMethods } from "../support/faults.ts";
import { scriptedS3 } from "../uploads/scripted-s3.ts";
import { create } from "../support/upload-bodies.ts";

const app = mediaApp();
const PICTURE = await encodePng(gradient(64, 48));
const DAY_MS = LIMITS.uncommittedTtlMs;
const HOUR_MS = LIMITS.lastWriteMs;

const deleteAll = async (as: Principal, visibility: "private" | "public" = "private", on = app): Promise<string> => {
  const answer = await on.call(`${collection(visibility)}?tenant=${as.tenant}`, { as, method: "DELETE" });
  expect([answer.status, await answer.text()]).toEqual([202, ""]);
  return answer.headers.get("location")!;
};

describe("deleting a file", () => {
  it("returns 204 with a report, which goes from deleting to deleted to verified a day after the file's creation", async () => {
    const as = principal();
    const file = await stored(app, PICTURE, { as, query: "?clip=10x10" });
    await app.consume();
    const answer = await app.call(file.path, { as, method: "DELETE" });
    const location = answer.headers.get("location")!;
    expect(location).toMatch(new RegExp(`^${ORIGIN}/media/v2/erasures/[0-9a-f]{24}$`));
    const id = location.split("/").at(-1);
    await app.settle();
    const report = {
      id,
      kind: "file",
      tenant: "acme",
      visibility: "private",
      state: "deleted",
      requestedAt: START_MS,
      deletedAt: START_MS,
      verifiedAt: null,
      files: { requested: 1, deleted: 1, verified: 0 },
      bytes: { requested: PICTURE.length, deleted: PICTURE.length },
      lateObjects: 0,
    };
    expect(await reportAt(app, as, location)).toEqual(report);
    await app.media.sweep(START_MS + DAY_MS - 1);
    expect(await reportAt(app, as, location)).toEqual(report);
    await app.media.sweep(START_MS + DAY_MS);
    expect(await reportAt(app, as, location)).toEqual({
      ...report,
      state: "verified",
      verifiedAt: START_MS + DAY_MS,
      files: { requested: 1, deleted: 1, verified: 1 },
    });
    expect(await rowsOf(file.id)).toEqual([]);
  });

  it("verifies an old file an hour after it was deleted", async () => {
    const old = mediaApp();
    const as = principal();
    const file = await stored(old, PICTURE, { as });
    old.clock.nowMs += 30 * DAY_MS;
    const location = (await old.call(file.path, { as, method: "DELETE" })).headers.get("location")!;
    await old.settle();
    await old.media.sweep(old.clock.nowMs + HOUR_MS - 1);
    expect((await reportAt(old, as, location)).state).toBe("deleted");
    await old.media.sweep(old.clock.nowMs + HOUR_MS);
    expect((await reportAt(old, as, location)).state).toBe("verified");
  });

  it("removes everything that the client said from the row", async () => {
    const as = principal();
    const file = await stored(app, PICTURE, {
      as,
      metadata: { secret: "of a person" },
      disposition: 'attachment; filename="secret.png"',
    });
    await app.call(file.path, { as, method: "DELETE" });
    await app.settle();
    const [row] = await rowsOf(file.id);
    expect(JSON.stringify(row)).not.toContain("secret");
  });

  it("reports a file that was never committed for the caller's tenant, without bytes", async () => {
    const as = principal();
    const file = await uploaded(app, PICTURE, { as });
    const location = (await app.call(file.path, { as, method: "DELETE" })).headers.get("location")!;
    await app.settle();
    expect(await keysOf(file.id)).toEqual([]);
    expect(await reportAt(app, as, location)).toMatchObject({
      tenant: "acme",
      state: "deleted",
      files: { requested: 1, deleted: 1 },
      bytes: { requested: 0, deleted: 0 },
    });
  });

  it("removes a copy that a commit pinned", async () => {
    const as = principal();
    const [pinned, copied] = [await uploaded(app, PICTURE, { as }), await stored(app, PICTURE, { as })];
    await everywhere.prepare("UPDATE file SET pinned_etag = 'abc' WHERE id = ?").bind(pinned.id).run();
    await everywhere
      .prepare("UPDATE file SET blob_key = ?1 || '.def' WHERE id = ?2")
      .bind(`blob/${copied.id}`, copied.id)
      .run();
    const keys = [`blob/${pinned.id}.abc`, `blob/${copied.id}.def`, `incoming/${pinned.id}`];
    for (const key of keys) await env.MEDIA.put(key, "x");
    for (const { path } of [pinned, copied]) await app.call(path, { as, method: "DELETE" });
    await app.settle();
    for (const key of keys) expect(await env.MEDIA.head(key)).toBeNull();
  });

  it("returns 404 for a file that was deleted before", async () => {
    const as = principal();
    const file = await stored(app, PICTURE, { as });
    expect((await app.call(file.path, { as, method: "DELETE" })).status).toBe(204);
    await expectProblem(await app.call(file.path, { as, method: "DELETE" }), 404, "element_resource_non_existing");
  });

  it("succeeds for one of several parallel requests", async () => {
    const as = principal();
    const file = await stored(app, PICTURE, { as });
    const answers = await Promise.all(Array.from({ length: 6 }, () => app.call(file.path, { as, method: "DELETE" })));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([204, 404, 404, 404, 404, 404]);
    await app.settle();
    const [location] = answers.flatMap(({ headers }) => headers.get("location") ?? []);
    expect(await reportAt(app, as, location!)).toMatchObject({ files: { requested: 1, deleted: 1 } });
  });
});

describe("deleting all files", () => {
  inShards("takes nothing that was created after it, even if its answer was lost and it is repeated", async () => {
    const as = principal({ tenant: IN_DIRECTORY });
    await stored(app, PICTURE, { as });
    const later: string[] = [];
    const batch = async (statements: D1PreparedStatement[]) => {
      const answer = await env.DB.batch(statements);
      if (later.length > 0) return answer;
      later.push((await stored(app, PICTURE, { as })).path);
      throw new Error("injected: answer lost");
    };
    const db = { prepare: (sql: string) => env.DB.prepare(sql), batch } as unknown as D1Database;
    const location = await deleteAll(as, "private", mediaApp({ db }));
    expect((await reportAt(app, as, location)).files.requested).toBe(1);
    expect((await app.call(later[0]!, { as })).status).toBe(200);
  });

  // shows: media/what-the-service-does/deletion
  // shows: media/states-of-a-file/committed-delete-all
  // shows: media/endpoints/delete-p-without-q
  // shows: media/shapes/delete-all
  // shows: media/ownership/delete-all
  it("returns 202 and makes every file unreadable in every way before bytes are deleted", async () => {
    // The bucket fails, so the work after the answer stops.
    const halted = mediaApp({ bucket: failing("delete") });
    const as = principal();
    for (const visibility of ["private", "public"] as const) {
      const file = await stored(halted, PICTURE, { as, visibility, query: "?clip=10x10" });
      await halted.consume();
      const links = await contentLinks(halted, as, file.path);
      await deleteAll(as, visibility, halted);
      for (const link of links) await expectProblem(await halted.call(link), 404, "element_resource_non_existing");
      for (const [method, suffix, json] of [
        ["GET", ""],
        ["GET", "?clip=10x10"],
        ["GET", "/metadata"],
        ["PUT", "/metadata", {}],
        ["GET", "/variants"],
        ["POST", "/variants?clip=20x20"],
        ["DELETE", "/variants"],
        ["POST", "/commit"],
        ["DELETE", ""],
      ] as const)
        await expectProblem(
          await halted.call(`${file.path}${suffix}`, { as, method, json }),
          404,
          "element_resource_non_existing",
        );
      expect(await keysOf(file.id)).toHaveLength(2);
    }
  });

  // shows: media/what-the-service-does/apart-per-client-and-tenant
  // shows: media/endpoints/delete-p-without-q
  // shows: media/shapes/delete-all
  it("spares other tenants, other clients, the other visibility, pending files and later ones", async () => {
    const as = principal();
    const others = [
      await stored(app, PICTURE, { as: { ...as, tenant: "globex" } }),
      await stored(app, PICTURE, { as: principal() }),
      await stored(app, PICTURE, { as, visibility: "public" }),
    ];
    const pending = await uploaded(app, PICTURE, { as });
    const gone = [await stored(app, PICTURE, { as }), await stored(app, PICTURE, { as })];
    const location = await deleteAll(as);
    const after = await stored(app, PICTURE, { as });
    await expectJson(await app.call(pending.commitLink, { as, method: "POST" }), 202);
    await app.settle();
    for (const { id } of gone) expect(await keysOf(id)).toEqual([]);
    for (const { id } of [...others, pending, after]) expect(await keysOf(id)).toHaveLength(1);
    expect((await app.call(`${after.path}/metadata`, { as })).status).toBe(200);
    expect((await app.call(`${pending.path}/metadata`, { as })).status).toBe(200);
    expect(await reportAt(app, as, location)).toMatchObject({
      kind: "all",
      tenant: "acme",
      visibility: "private",
      state: "deleted",
      files: { requested: 2, deleted: 2, verified: 0 },
      bytes: { requested: 2 * PICTURE.length, deleted: 2 * PICTURE.length },
    });
    const second = await deleteAll(as);
    expect(await reportAt(app, as, second)).toMatchObject({ files: { requested: 2 } });
  });

  it("is verified at once and leaves no owner if there are no files", async () => {
    const as = principal();
    expect(await reportAt(app, as, await deleteAll(as))).toMatchObject({
      state: "verified",
      deletedAt: START_MS,
      verifiedAt: START_MS,
      files: { requested: 0, deleted: 0, verified: 0 },
    });
    const file = await stored(app, PICTURE, { as });
    await app.call(file.path, { as, method: "DELETE" });
    await app.settle();
    expect(await reportAt(app, as, await deleteAll(as))).toMatchObject({ state: "verified", files: { requested: 0 } });
    await app.settle();
    const owners = "SELECT tenant FROM owner WHERE client = ?";
    expect((await everywhere.prepare(owners).bind(as.clientName).all()).results).toEqual([{ tenant: "" }]);
  });

  itAtNight(
    "uses the queue for many files, five pages of 500 a step; the statements do not grow with them",
    async () => {
      const { env: counted, tally, reset } = counting(env);
      const large = mediaApp({ shards: shardsOf(counted), bucket: counted.MEDIA });
      const as = principal();
      const ids = await insertCommitted(as, 1050);
      for (const id of [ids[0]!, ids[500]!, ids[1049]!]) await env.MEDIA.put(`blob/${id}`, "12345");
      await env.MEDIA.put(`variant/${ids[7]}/n`, "x");
      await shardDb(await testPlacement.shardOf(as.tenant, 0))
        .prepare(
          "INSERT INTO variant (file_id, nonce, type, size, state, created_at) VALUES (?, 'n', 'clip', '1x1', 'ready', 0)",
        )
        .bind(ids[7])
        .run();
      reset();
      const location = await deleteAll(as, "private", large);
      await large.settle();
      expect(tally.d1Statements).toBeLessThan(8);
      expect(large.longJobs).toHaveLength(1);
      let steps = 0;
      for (; large.longJobs.length > 0; steps++) {
        reset();
        expect(await large.consume()).toEqual({ acked: 1, retried: 0 });
        // There are three pages of two round trips and the end of the last one. A call of the bucket deletes 1,000
        // keys.
        expect(tally.d1Statements).toBeLessThan(40);
        expect(tally).toMatchObject({ d1RoundTrips: 7, r2Operations: { delete: 5 } });
      }
      expect(steps).toBe(1);
      expect(await allFiles(ids)).toEqual({ removed: 1050, bytes: [] });
      expect(await reportAt(app, as, location)).toMatchObject({
        state: "deleted",
        files: { requested: 1050, deleted: 1050, verified: 0 },
        bytes: { requested: 1050 * 5, deleted: 1050 * 5 },
      });
      // The verification breaks off, too.
      await env.MEDIA.put(`incoming/${ids[300]}/collected`, "x");
      large.clock.nowMs = START_MS + DAY_MS;
      await large.media.sweep(large.clock.nowMs);
      const id = location.split("/").at(-1);
      const ownJobs = () => large.longJobs.splice(0).filter((job) => job.id === id);
      for (let jobs = ownJobs(); jobs.length > 0; jobs = ownJobs()) {
        reset();
        await large.consume({ jobs });
        expect(tally.d1Statements).toBeLessThan(14);
      }
      expect(await allFiles(ids)).toEqual({ bytes: [] });
      expect(await reportAt(app, as, location)).toMatchObject({
        state: "verified",
        verifiedAt: START_MS + DAY_MS,
        files: { requested: 1050, deleted: 1050, verified: 1050 },
        lateObjects: 1,
      });
      const owners = "SELECT tenant FROM owner WHERE client = ? AND erasure_id IS NOT NULL";
      expect((await everywhere.prepare(owners).bind(as.clientName).all()).results).toEqual([]);
    },
  );

  it("in parallel with commits keeps or removes each file whole, and counts those that it removes", async () => {
    const as = principal();
    const files = await Promise.all(Array.from({ length: 12 }, () => uploaded(app, PICTURE, { as })));
    const [location] = await Promise.all([
      deleteAll(as),
      ...files.map((file) => app.call(file.commitLink, { as, method: "POST" })),
    ]);
    await app.settle();
    let gone = 0;
    for (const { id, path } of files) {
      const isThere = (await app.call(path, { as })).status === 200;
      if (!isThere) gone += 1;
      expect(await keysOf(id)).toHaveLength(isThere ? 1 : 0);
    }
    expect(await reportAt(app, as, location)).toMatchObject({ files: { requested: gone, deleted: gone } });
  });

  it("leaves nothing of variants being made and of an upload in progress", async () => {
    const as = principal();
    const file = await stored(app, PICTURE, { as, query: "?clip=10x10&crop=5x5" });
    const [first, second] = app.jobs.splice(0);
    let location = "";
    const bucket = withMethods({
      // Deletes everything between the write of the bytes and the write of the row.
      put: async (...given: Parameters<R2Bucket["put"]>) => {
        const done = await env.MEDIA.put(...given);
        location = await deleteAll(as);
        await app.settle();
        await env.MEDIA.put(...given);
        return done;
      },
    });
    const racing = mediaApp({ bucket });
    expect(await racing.consume({ jobs: [first] })).toEqual({ acked: 1, retried: 0 });
    expect(await app.consume({ jobs: [first, second] })).toEqual({ acked: 2, retried: 0 });
    expect(await keysOf(file.id)).toEqual([]);
    expect(await reportAt(app, as, location)).toMatchObject({ state: "deleted", files: { requested: 1, deleted: 1 } });
  });
});

describe("the request", () => {
  // shows: media/endpoints/delete-p-tenant
  it("returns 400 for a missing or malformed tenant, for other parameters than tenant, q and dryRun, and for an empty query", async () => {
    const as = principal();
    const file = await stored(app, PICTURE, { as });
    for (const [query, type, field] of [
      ["", "missing_query_parameter", "tenant"],
      ["?tenant=", "invalid_query_parameter", "tenant"],
      ["?tenant=acme&tenant=globex", "invalid_query_parameter", "tenant"],
      ["?tenant=acme&q=", "invalid_query_parameter", "q"],
      ["?tenant=acme&q=%20%20", "invalid_query_parameter", "q"],
      ["?tenant=acme&q=a:b&q=c:d", "invalid_query_parameter", "q"],
      ["?tenant=acme&content-type=image/png", "invalid_query_parameter", "content-type"],
      ["?tenant=acme&pageSize=10", "invalid_query_parameter", "pageSize"],
      ["?tenant=acme&dryrun=true", "invalid_query_parameter", "dryrun"],
      ["?tenant=acme&Q=a:b", "invalid_query_parameter", "Q"],
      ["?tenant=acme&q=a:b&clip=8x8", "invalid_query_parameter", "clip"],
      ["?tenant=acme&toString=1", "invalid_query_parameter", "toString"],
    ] as const)
      await expectProblem(
        await app.call(`${collection()}${query}`, { as, method: "DELETE" }),
        400,
        "validation_violation",
        [{ type, field }],
      );
    expect((await app.call(file.path, { as })).status).toBe(200);
  });

  it("returns 403 without media_admin, and for a token without a client", async () => {
    const as = principal({ scopes: ["plat.media_view", "plat.media_manage"] });
    for (const query of ["?tenant=acme", "?tenant=acme&q=a:b"]) {
      const answer = await app.call(`${collection()}${query}`, { as, method: "DELETE" });
      expect((await expectProblem(answer, 403, "insufficient_permissions")).message).toContain("plat.media_admin");
    }
    const nobody = principal({ clientName: "" });
    const answer = await app.call(`${collection()}?tenant=acme`, { as: nobody, method: "DELETE" });
    await expectProblem(answer, 403, "insufficient_permissions");
  });

  it("returns 404 for a tenant that the token may not act for, 202 for one that the client serves", async () => {
    const as = principal();
    const guest = { ...as, tenant: "globex" };
    const file = await stored(app, PICTURE, { as: guest });
    const path = `${collection()}?tenant=globex`;
    for (const stranger of [as, { ...as, tenantExplicit: true }])
      await expectProblem(
        await app.call(path, { as: stranger, method: "DELETE" }),
        404,
        "element_resource_non_existing",
      );
    expect((await app.call(file.path, { as: guest })).status).toBe(200);
    app.actsFor.add(`${as.clientId} globex`);
    const answer = await app.call(path, { as, method: "DELETE" });
    expect(answer.status).toBe(202);
    expect((await app.call(file.path, { as: guest })).status).toBe(404);
    expect(await reportAt(app, as, answer.headers.get("location")!)).toMatchObject({ tenant: "globex" });
    app.actsFor.delete(`${as.clientId} globex`);
    const refused = await app.call(answer.headers.get("location")!, { as });
    await expectProblem(refused, 404, "element_resource_non_existing");
  });
});

describe("reports", () => {
  it("return the same 404 for another client's, another tenant's and unknown ones", async () => {
    const as = principal({ tenantExplicit: true });
    await stored(app, PICTURE, { as });
    const location = await deleteAll(as);
    expect((await app.call(location, { as })).status).toBe(200);
    for (const [who, address] of [
      [principal(), location],
      [{ ...as, tenant: "globex" }, location],
      [as, `${ORIGIN}/media/v2/erasures/0123456789abcdef01234567`],
      [as, `${ORIGIN}/media/v2/erasures/%00`],
    ] as const) {
      const { message } = await expectProblem(
        await app.call(address, { as: who }),
        404,
        "element_resource_non_existing",
      );
      expect(message).toBe("There is no such deletion, or it is not yours.");
    }
  });

  it("are listed newest first, by page and by cursor", async () => {
    const listing = mediaApp();
    const as = principal();
    const locations: string[] = [];
    for (let index = 0; index < 5; index++) {
      locations.unshift(await deleteAll(as, "private", listing));
      listing.clock.nowMs += 1;
    }
    await deleteAll(principal(), "private", listing);
    await deleteAll({ ...as, tenant: "globex" }, "private", listing);
    const idsAt = async (address: string): Promise<[string[], string]> => {
      const answer = await listing.call(address, { as });
      const link = answer.headers.get("link") ?? "";
      return [(await expectJson<{ id: string }[]>(answer, 200)).map(({ id }) => id), link];
    };
    const expected = locations.map((location) => location.split("/").at(-1)!);
    const root = "/media/v2/erasures?tenant=acme";
    expect((await idsAt(root))[0]).toEqual(expected);
    const [first, link] = await idsAt(`${root}&pageSize=2`);
    const next = /<([^>]*)>; rel="next"/.exec(link)![1]!;
    await deleteAll(as, "private", listing);
    expect([...first, ...(await idsAt(next))[0]]).toEqual(expected.slice(0, 4));
    expect((await idsAt(`${root}&pageSize=2&pageNumber=2`))[0]).toEqual(expected.slice(1, 3));
    const [none, behind] = await idsAt(`${root}&pageSize=1000&pageNumber=2`);
    expect([none, /pageNumber=1&[^>]*>; rel="prev"/.test(behind)]).toEqual([[], true]);
    expect((await idsAt(`${root}&pageSize=1000&pageNumber=3`))[1]).not.toContain('rel="prev"');
    await expectProblem(await listing.call("/media/v2/erasures", { as }), 400, "validation_violation", [
      { type: "missing_query_parameter", field: "tenant" },
    ]);
    const cursor = btoa("[1]").replaceAll("=", "");
    await expectProblem(await listing.call(`${root}&cursor=${cursor}`, { as }), 400, "validation_violation", [
      { type: "invalid_query_parameter", field: "cursor" },
    ]);
    const unreached = await listing.call("/media/v2/erasures?tenant=initech", { as });
    await expectProblem(unreached, 404, "element_resource_non_existing");
  });

  it("are kept 400 days", async () => {
    const kept = mediaApp();
    const as = principal();
    const file = await stored(kept, PICTURE, { as });
    const one = (await kept.call(file.path, { as, method: "DELETE" })).headers.get("location")!;
    await stored(kept, PICTURE, { as });
    const all = await deleteAll(as, "private", kept);
    await kept.settle();
    const finish = async (nowMs: number) => {
      kept.clock.nowMs = nowMs;
      await kept.media.sweep(nowMs);
      await kept.consume();
    };
    await finish(START_MS + DAY_MS);
    // The deletion of many files finds out at its own next step that it is done.
    await finish(START_MS + 2 * DAY_MS);
    await finish(START_MS + 400 * DAY_MS - 1);
    for (const location of [one, all]) expect((await reportAt(kept, as, location)).state).toBe("verified");
    await finish(START_MS + 400 * DAY_MS);
    for (const location of [one, all]) expect((await kept.call(location, { as })).status).toBe(404);
  });
});

describe("the verification", () => {
  inShards("finds late bytes, deletes them and counts them once", async () => {
    const as = principal();
    const file = await stored(app, PICTURE, { as });
    const location = (await app.call(file.path, { as, method: "DELETE" })).headers.get("location")!;
    await app.settle();
    const late = [`blob/${file.id}`, `incoming/${file.id}`, `incoming/${file.id}/collected`];
    for (const key of late) await env.MEDIA.put(key, "late");
    // The late object is recorded. Then the bucket fails twice.
    const broken = mediaApp({ bucket: failing("delete") });
    for (const _ of [1, 2]) await expect(broken.media.sweep(START_MS + DAY_MS)).rejects.toThrow("failed: ");
    expect((await reportAt(app, as, location)).state).toBe("deleted");
    await app.media.sweep(START_MS + DAY_MS);
    expect(await keysOf(file.id)).toEqual([]);
    expect(await reportAt(app, as, location)).toMatchObject({ state: "verified", lateObjects: 3 });
    expect(await rowsOf(file.id)).toEqual([]);
  });

  inShards("asks for the places that rows name, those of renditions too, and lists nothing", async () => {
    const { env: counted, tally, reset } = counting(env);
    const counter = mediaApp({ bucket: counted.MEDIA });
    const as = principal();
    const file = await stored(app, PICTURE, { as, query: "?clip=10x10,20x20" });
    const nonces = (
      await everywhere.prepare("SELECT nonce FROM variant WHERE file_id = ?").bind(file.id).all<{ nonce: string }>()
    ).results;
    expect(nonces).toHaveLength(2);
    const location = (await app.call(file.path, { as, method: "DELETE" })).headers.get("location")!;
    await app.settle();
    await env.MEDIA.put(`variant/${file.id}/${nonces[1]!.nonce}`, "of a late job");
    reset();
    await counter.media.sweep(START_MS + DAY_MS);
    expect(await keysOf(file.id)).toEqual([]);
    expect(await reportAt(app, as, location)).toMatchObject({ state: "verified", lateObjects: 1 });
    // The proof asks for five places, and again after the late object.
    expect(tally.r2Operations).toEqual({ head: 10, delete: 1 });
    expect(await rowsOf(file.id)).toEqual([]);
  });

  it.each([
    ["that an older release made", "UPDATE file SET known_places = NULL WHERE id = ?"],
    ["that a link to the bucket brought", "UPDATE file SET pinned_etag = 'etag' WHERE id = ?"],
  ])("lists what a file has %s, whose places no row names", async (_, change) => {
    const as = principal();
    const file = await stored(app, PICTURE, { as });
    await everywhere.prepare(change).bind(file.id).run();
    const location = (await app.call(file.path, { as, method: "DELETE" })).headers.get("location")!;
    await app.settle();
    for (const key of [`blob/${file.id}.abc`, `variant/${file.id}/n`, `incoming/${file.id}/x`])
      await env.MEDIA.put(key, "late");
    await app.media.sweep(START_MS + DAY_MS);
    expect(await keysOf(file.id)).toEqual([]);
    expect(await reportAt(app, as, location)).toMatchObject({ state: "verified", lateObjects: 3 });
  });

  it("lists what a file has that had a rendition removed: a late job may write it again", async () => {
    const as = principal();
    const file = await stored(app, PICTURE, { as, query: "?clip=10x10" });
    expect((await app.call(`${file.path}/variants?clip=10x10`, { as, method: "DELETE" })).status).toBe(204);
    await app.settle();
    const location = (await app.call(file.path, { as, method: "DELETE" })).headers.get("location")!;
    await app.settle();
    await env.MEDIA.put(`variant/${file.id}/gone`, "late");
    await app.media.sweep(START_MS + DAY_MS);
    expect(await reportAt(app, as, location)).toMatchObject({ state: "verified", lateObjects: 1 });
    expect(await keysOf(file.id)).toEqual([]);
  });

  it("comes after the bytes are deleted, also where the work after the answer broke off or failed", async () => {
    const as = principal();
    const broken = mediaApp({ bucket: failing("delete") });
    const file = await stored(app, PICTURE, { as });
    const location = (await broken.call(file.path, { as, method: "DELETE" })).headers.get("location")!;
    await broken.settle().catch(() => undefined);
    // The file is due at once.
    await app.media.sweep(START_MS);
    expect(await keysOf(file.id)).toEqual([]);
    expect((await reportAt(app, as, location)).state).toBe("deleted");
    await app.media.sweep(START_MS + DAY_MS);
    expect((await reportAt(app, as, location)).state).toBe("verified");
  });

  it("does not accept a file that is written to at the same time", async () => {
    const as = principal();
    const [restless, quiet] = [await stored(app, PICTURE, { as }), await stored(app, PICTURE, { as })];
    const location = await deleteAll(as);
    await app.settle();
    await env.MEDIA.put(`incoming/${restless.id}`, "late");
    const bucket = withMethods({
      delete: async (keys: string[]) => {
        await env.MEDIA.delete(keys);
        await env.MEDIA.put(`incoming/${restless.id}`, "again");
      },
    });
    await mediaApp({ bucket }).media.sweep(START_MS + DAY_MS);
    expect(await reportAt(app, as, location)).toMatchObject({ state: "deleted", files: { verified: 1 } });
    expect([await rowsOf(quiet.id), (await rowsOf(restless.id)).length]).toEqual([[], 1]);
    await app.media.sweep(START_MS + DAY_MS + LIMITS.verifyAgainMs);
    expect(await reportAt(app, as, location)).toMatchObject({ state: "verified", lateObjects: 1 });
    expect(await keysOf(restless.id)).toEqual([]);
  });
});

async function contentLinks(on: MediaApp, as: Principal, path: string): Promise<string[]> {
  const answers = await Promise.all(["", "?clip=10x10"].map((query) => on.call(`${path}${query}`, { as })));
  return Promise.all(
    answers.map(async (answer) => answer.headers.get("location") ?? (await expectJson(answer, 200)).link),
  );
}

const failing = (method: string): R2Bucket => withMethods({ [method]: () => Promise.reject(new Error("injected")) });

describe("a deletion after a restore of the database", () => {
  it("finds bytes that no restored row names", async () => {
    const { s3, one } = presigned();
    const as = principal();
    const pending = await create(one, as, "image/png");
    await s3.put(pending.uploadLink, PICTURE, { "content-type": "image/png" });
    const shown = mediaApp({ db: env.DB });
    const kept = await stored(shown, PICTURE, { as });
    // The restore goes back to this moment. Then the upload was committed, and a rendition made.
    const before = await rowsOf(pending.id);
    await expectJson(await one.call(pending.commitLink, { as, json: {} }), 202);
    await one.settle();
    expect((await shown.call(`${kept.path}/variants?clip=10x10`, { as, method: "POST" })).status).toBe(200);
    await shown.consume();
    await restore(pending.id, before[0]!);
    await env.DB.prepare("DELETE FROM variant WHERE file_id = ?").bind(kept.id).run();
    // A backup has rows that are younger than its beginning.
    await mark(START_MS - 1, START_MS);
    onTestFinished(async () => void (await mark(null, null)));

    const locations: string[] = [];
    for (const { id } of [pending, kept]) {
      const answer = await one.call(`${collection()}/${id}`, { as, method: "DELETE" });
      locations.push(answer.headers.get("location")!);
    }
    await one.settle();
    await one.media.sweep(START_MS + DAY_MS);
    expect([await keysOf(pending.id), await keysOf(kept.id)]).toEqual([[], []]);
    for (const location of locations)
      expect(await reportAt(one, as, location)).toMatchObject({ state: "verified", lateObjects: 1 });
  });

  const presigned = () => {
    const s3 = scriptedS3(() => START_MS);
    return { s3, one: mediaApp({ db: env.DB, s3: s3.access }) };
  };
  const restore = async (id: string, row: object): Promise<void> => {
    const columns = Object.keys(row);
    await env.DB.prepare("DELETE FROM file WHERE id = ?").bind(id).run();
    await env.DB.prepare(`INSERT INTO file (${columns.join()}) VALUES (${columns.map(() => "?").join()})`)
      .bind(...Object.values(row))
      .run();
  };
  const mark = (toMs: number | null, atMs: number | null) =>
    env.DB.prepare("UPDATE restore_point SET restored_to = ?, marked_at = ? WHERE id = 1").bind(toMs, atMs).run();
});
