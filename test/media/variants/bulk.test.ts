import parseLinkHeader from "parse-link-header";
import { describe, expect, it } from "vitest";
import type { Principal } from "../../../src/http/callers/auth.ts";
import { encodePng, gradient } from "../../support/images.ts";
import { keysOf } from "../support/keys-of.ts";
import { mediaApp } from "../support/media-app.ts";
import { principal } from "../support/principal.ts";
import { expectProblem } from "../support/problem.ts";
import { stored } from "../support/stored-file.ts";
import { expectJson } from "../../support/platform/call.ts";
import { everywhere } from "../../support/shards.ts";

const app = mediaApp();
const PICTURE = await encodePng(gradient(16, 16));

const bulk = (query: string, visibility: "private" | "public" = "private") =>
  `/media/v2${visibility === "public" ? "/public" : ""}/bulk/variants?tenant=acme&${query}`;
const post = (path: string, as: Principal) => app.call(path, { as, method: "POST" });
const remove = (path: string, as: Principal) => app.call(path, { as, method: "DELETE" });
const nextOf = (answer: Response) => parseLinkHeader(answer.headers.get("link") ?? "")?.["next"]?.url;
const pictures = async (as: Principal, count: number, metadata: unknown = {}) => {
  const files = [];
  for (let at = 0; at < count; at++) files.push(await stored(app, PICTURE, { as, metadata }));
  return files;
};
const variantsOf = async (as: Principal, path: string) =>
  (await expectJson<any[]>(await app.call(`${path}/variants`, { as }), 200)).map(
    ({ type, size, state }) => `${type} ${size} ${state}`,
  );

describe("adding variants in bulk", () => {
  // shows: media/endpoints/post-b
  // shows: media/bulk/without-content-type
  // shows: media/shapes/bulk-variants-create
  it("returns 202 page by page by Link; only images of the tenant count, each variant once", async () => {
    const as = principal();
    const files = await pictures(as, 5);
    const text = await stored(app, PICTURE, { as, type: "text/plain" });
    const foreign = await stored(app, PICTURE, { as: principal() });
    const answers: unknown[] = [];
    let path: string | undefined = bulk("clip=8x8&crop=4x4,2x2&pageSize=2");
    while (path !== undefined) {
      const answer = await post(path, as);
      path = nextOf(answer);
      answers.push(await expectJson(answer, 202));
    }
    expect(answers).toEqual([
      { files: 2, transformations: 6 },
      { files: 2, transformations: 6 },
      { files: 1, transformations: 3 },
    ]);
    await app.settle();
    expect(app.jobs).toHaveLength(15);
    expect(await app.consume()).toEqual({ acked: 15, retried: 0 });
    for (const { path: file } of files)
      expect(await variantsOf(as, file)).toEqual(["clip 8x8 ready", "crop 2x2 ready", "crop 4x4 ready"]);
    expect(await variantsOf(as, text.path)).toEqual([]);
    expect(await keysOf(foreign.id)).toHaveLength(1);
    expect(await expectJson(await post(bulk("clip=8x8"), as), 202)).toEqual({ files: 5, transformations: 0 });
    await app.settle();
    expect(app.jobs).toEqual([]);
  });

  // shows: media/endpoints/post-b
  // shows: media/bulk/other-content-types
  it("returns 202 for the files that q and content-type choose, of the types that can have variants", async () => {
    const as = principal();
    const [red] = await pictures(as, 1, { color: "red" });
    const [blue] = await pictures(as, 1, { color: "blue" });
    await stored(app, PICTURE, { as, type: "text/plain", metadata: { color: "red" } });
    const counts = async (query: string) => (await expectJson(await post(bulk(`clip=3x3&${query}`), as), 202)).files;
    expect(await counts("q=color:green")).toBe(0);
    expect(await counts("content-type=image/gif")).toBe(0);
    expect(await counts("content-type=text/plain&q=color:red")).toBe(0);
    expect(await counts("content-type=text/plain,image/png&q=color:red")).toBe(1);
    expect(await variantsOf(as, red!.path)).toEqual(["clip 3x3 pending"]);
    expect(await variantsOf(as, blue!.path)).toEqual([]);
    expect(await counts("q=")).toBe(2);
    app.jobs.splice(0);
  });

  it("replaces a failed variant; a file at its limit gets none", async () => {
    const as = principal();
    const [failed, full] = await pictures(as, 2);
    await expectJson(await app.call(`${failed!.path}/variants?clip=8x8`, { as, method: "POST" }), 200);
    await app.consume();
    // When a new rendition replaces a failed one, the bytes of the failed one are deleted.
    await everywhere.prepare("UPDATE variant SET state = 'failed' WHERE file_id = ?").bind(failed!.id).run();
    expect(await keysOf(failed!.id)).toHaveLength(2);
    const sizes = Array.from({ length: 100 }, (_, at) => `${at + 1}x1`).join(",");
    await expectJson(await app.call(`${full!.path}/variants?clip=${sizes}`, { as, method: "POST" }), 200);
    app.jobs.splice(0);
    // Otherwise they would fill the lane of the tenant.
    await everywhere.prepare("UPDATE variant SET state = 'ready' WHERE file_id = ?").bind(full!.id).run();
    const counts = { files: 2, transformations: 1, skipped: 1 };
    expect(await expectJson(await post(bulk("clip=8x8&dryRun=true"), as), 200)).toEqual(counts);
    // Existing variants always fit, and a deletion needs no space.
    const there = { files: 2, transformations: 1 };
    expect(await expectJson(await post(bulk("clip=100x1&dryRun=true"), as), 200)).toEqual(there);
    expect(await expectJson(await remove(bulk("clip=8x8,100x1&dryRun=true"), as), 200)).toEqual({
      ...there,
      transformations: 2,
    });
    expect(await expectJson(await post(bulk("clip=8x8"), as), 202)).toEqual(counts);
    await app.settle();
    expect(app.jobs.map(({ fileId }) => fileId)).toEqual([failed!.id]);
    expect(await keysOf(failed!.id)).toHaveLength(1);
    expect(await variantsOf(as, failed!.path)).toEqual(["clip 8x8 pending"]);
    expect(await variantsOf(as, full!.path)).toHaveLength(100);
    await app.call(`${full!.path}/variants`, { as, method: "DELETE" });
    await app.settle();
    app.jobs.splice(0);
  });
});

describe("deleting variants in bulk", () => {
  // shows: media/endpoints/delete-b
  // shows: media/shapes/bulk-variants-delete
  it("returns 204 without a body for those named of one page, with a Link to the next; their bytes are deleted", async () => {
    const as = principal();
    const files = await pictures(as, 3);
    await expectJson(await post(bulk("clip=8x8,4x4"), as), 202);
    await app.consume();
    let path: string | undefined = bulk("clip=8x8,9x9&pageSize=2");
    const left: number[] = [];
    while (path !== undefined) {
      const answer = await remove(path, as);
      expect([answer.status, await answer.text(), answer.headers.get("content-type")]).toEqual([204, "", null]);
      path = nextOf(answer);
      await app.settle();
      left.push((await Promise.all(files.map(({ id }) => keysOf(id)))).flat().length);
    }
    expect(left).toEqual([7, 6]);
    for (const { path: file } of files) expect(await variantsOf(as, file)).toEqual(["clip 4x4 ready"]);
  });

  // shows: media/endpoints/delete-b
  // shows: media/endpoints/public-operations
  it("works for public files, and by q", async () => {
    const as = principal();
    const visibility = "public";
    const kept = await stored(app, PICTURE, { as, visibility, metadata: { a: 1 } });
    const cleared = await stored(app, PICTURE, { as, visibility, metadata: { a: 2 } });
    await expectJson(await post(bulk("crop=5x5", visibility), as), 202);
    await app.consume();
    expect((await remove(bulk("crop=5x5&q=a:2", visibility), as)).status).toBe(204);
    expect(await variantsOf(as, kept.path)).toEqual(["crop 5x5 ready"]);
    expect(await variantsOf(as, cleared.path)).toEqual([]);
  });
});

describe("deleting variants in bulk by content type and q", () => {
  it("deletes only those of the content types named", async () => {
    const as = principal();
    const [file] = await pictures(as, 1);
    await expectJson(await post(bulk("clip=8x8"), as), 202);
    await app.consume();
    expect((await remove(bulk("clip=8x8&content-type=image/gif,image/jpeg"), as)).status).toBe(204);
    expect(await variantsOf(as, file!.path)).toEqual(["clip 8x8 ready"]);
    expect((await remove(bulk("clip=8x8&content-type=image/gif,image/png"), as)).status).toBe(204);
    expect(await variantsOf(as, file!.path)).toEqual([]);
  });

  it("returns 400 for a blank q, which would mean all files, and deletes nothing", async () => {
    const as = principal();
    const [file] = await pictures(as, 1);
    await expectJson(await post(bulk("clip=8x8"), as), 202);
    await app.consume();
    const blank = [{ type: "invalid_query_parameter", field: "q" }];
    for (const q of ["", "%20", "%09"])
      for (const dryRun of ["", "&dryRun=true"])
        await expectProblem(await remove(bulk(`clip=8x8&q=${q}${dryRun}`), as), 400, "validation_violation", blank);
    expect(await variantsOf(as, file!.path)).toEqual(["clip 8x8 ready"]);
  });
});

describe("dryRun", () => {
  it("returns what would be done, and does nothing", async () => {
    const as = principal();
    const files = await pictures(as, 2);
    const query = "clip=8x8,4x4&pageSize=1&dryRun=true";
    const asked = await post(bulk(query), as);
    expect(await expectJson(asked, 200)).toEqual({ files: 1, transformations: 2 });
    expect(new URL(nextOf(asked)!).searchParams.get("dryRun")).toBe("true");
    await app.settle();
    expect(app.jobs).toEqual([]);
    expect(await variantsOf(as, files[0]!.path)).toEqual([]);
    await expectJson(await post(bulk("clip=8x8"), as), 202);
    await app.consume();
    expect(await expectJson(await post(bulk(query), as), 200)).toEqual({ files: 1, transformations: 1 });
    expect(await expectJson(await remove(bulk(query), as), 200)).toEqual({ files: 1, transformations: 1 });
    const whole = bulk("clip=8x8,4x4&dryRun=true");
    expect(await expectJson(await remove(whole, as), 200)).toEqual({ files: 2, transformations: 2 });
    for (const { path } of files) expect(await variantsOf(as, path)).toEqual(["clip 8x8 ready"]);
    expect((await post(bulk("clip=8x8&dryRun=maybe"), as)).status).toBe(400);
  });
});

describe("an error in a bulk request", () => {
  // shows: media/bulk/transformations
  // shows: media/limits/transformations-of-a-bulk-query
  // shows: media/shapes/bulk-variants-delete
  it("is returned for more than 100 transformations, by page size and sizes", async () => {
    const as = principal();
    const [file] = await pictures(as, 1);
    const tooMany = [{ type: "too_many_transformations" }];
    for (const query of ["clip=1x1,2x2&pageSize=51", "clip=1x1,2x2,3x3,4x4,5x5,6x6,7x7", "clip=1x1&pageSize=101"])
      for (const answer of [await post(bulk(query), as), await remove(bulk(query), as)])
        expect((await expectProblem(answer, 400, "business_error", tooMany)).message).toContain("smaller pageSize");
    expect(await variantsOf(as, file!.path)).toEqual([]);
    expect((await post(bulk("clip=1x1,2x2&pageSize=50"), as)).status).toBe(202);
    await app.settle();
    app.jobs.splice(0);
  });

  // shows: media/endpoints/post-b
  it("is returned without a size or tenant, for an unreachable tenant, and without the scope or a client", async () => {
    const as = principal();
    const missing = [{ type: "missing_query_parameter", field: "clip" }];
    await expectProblem(await post(bulk(""), as), 400, "validation_violation", missing);
    const noTenant = [{ type: "missing_query_parameter", field: "tenant" }];
    const path = "/media/v2/bulk/variants?clip=1x1";
    await expectProblem(await post(path, as), 400, "validation_violation", noTenant);
    await expectProblem(await post(`${path}&tenant=other`, as), 404, "element_resource_non_existing");
    const viewer = principal({ scopes: ["plat.media_view"] });
    await expectProblem(await post(bulk("clip=1x1"), viewer), 403, "insufficient_permissions");
    const nobody = principal({ clientName: "" });
    await expectProblem(await remove(bulk("clip=1x1"), nobody), 403, "insufficient_permissions");
    const badQuery = [{ type: "invalid_query_parameter", field: "q" }];
    await expectProblem(await remove(bulk("clip=1x1&q=x"), as), 400, "validation_violation", badQuery);
    const badCursor = [{ type: "invalid_query_parameter", field: "cursor" }];
    await expectProblem(await post(bulk("clip=1x1&cursor=WzFd"), as), 400, "validation_violation", badCursor);
  });
});

describe("the defaults", () => {
  // shows: media/bulk/without-content-type
  // shows: media/limits/page-size
  // shows: media/limits/page-size-by-default-bulk
  // shows: media/limits/bulk-content-types
  // shows: platform/paging/pagenumber-pagesize
  it("are a page of sixteen files, at most 1000, of jpeg, gif and png only", async () => {
    const as = principal();
    const types = ["image/jpeg", "image/gif", "image/png", "image/webp", "image/svg+xml", "text/plain"];
    for (const type of types) await stored(app, PICTURE, { as, type });
    expect(await expectJson(await post(bulk("crop=7x7"), as), 202)).toEqual({ files: 3, transformations: 3 });
    await pictures(as, 14);
    const first = await post(bulk("clip=8x8"), as);
    expect(await expectJson(first, 202)).toEqual({ files: 16, transformations: 16 });
    expect(await expectJson(await post(nextOf(first)!, as), 202)).toEqual({ files: 1, transformations: 1 });
    const listed = async (query: string) =>
      (await expectJson<any[]>(await app.call(`/media/v2/files?tenant=acme${query}`, { as }), 200)).length;
    expect([await listed(""), await listed("&pageSize=1000")]).toEqual([16, 20]);
    expect((await app.call("/media/v2/files?tenant=acme&pageSize=1001", { as })).status).toBe(400);
    await app.settle();
    app.jobs.splice(0);
  });

  // shows: media/endpoints/delete-b
  it("do not delete every variant: without a size there is 400", async () => {
    const as = principal();
    const [file] = await pictures(as, 1);
    await expectJson(await post(bulk("clip=8x8"), as), 202);
    const missing = [{ type: "missing_query_parameter", field: "clip" }];
    await expectProblem(await remove(bulk(""), as), 400, "validation_violation", missing);
    expect(await variantsOf(as, file!.path)).toEqual(["clip 8x8 pending"]);
    await app.settle();
    app.jobs.splice(0);
  });
});
