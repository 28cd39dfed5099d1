import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { encodePng, gradient } from "../../support/images.ts";
import { put as register } from "../../support/platform/operator.ts";
import { makeTenant } from "../../support/platform/tenants.ts";
import { keysOf } from "../support/keys-of.ts";
import { mediaApp, ORIGIN, START_MS } from "../support/media-app.ts";
import { testPlacement } from "../support/placement.ts";
import { principal } from "../support/principal.ts";
import { expectProblem } from "../support/problem.ts";
import { collection, stored, uploaded } from "../support/stored-file.ts";
import { expectJson } from "../../support/platform/call.ts";
import { everywhere, inShards } from "../../support/shards.ts";

const app = mediaApp();
const PICTURE = await encodePng(gradient(64, 48));
const NOBODYS_ID = "0123456789abcdef01234567";

describe("creating a file", () => {
  // shows: media/what-the-service-does/addresses
  // shows: media/file/id
  // shows: media/file/content-type
  // shows: media/upload-creation-response/id
  // shows: media/upload-creation-response/uploadlink
  // shows: media/upload-creation-response/commitlink
  // shows: media/states-of-a-file/none-post-create
  // shows: media/endpoints/post-p
  // shows: media/versioning/path
  // shows: platform/addresses/media-service
  // shows: media/shapes/file-id
  // shows: media/upload-and-immutability/uploadlink-commitlink
  // shows: media/upload-and-immutability/the-row-before-the-link
  inShards("returns an id with its time and database, and absolute links, after the row is written", async () => {
    const as = principal();
    for (const visibility of ["private", "public"] as const) {
      const root = collection(visibility);
      const created = await expectJson(await app.call(root, { as, method: "POST" }), 200);
      expect(Object.keys(created)).toEqual(["id", "uploadLink", "commitLink"]);
      expect(created.id).toMatch(/^[0-9a-f]{24}$/);
      expect(Number.parseInt(created.id.slice(8, 10), 16)).toBe(await testPlacement.shardOf(as.tenant, 0));
      expect(Number.parseInt(created.id.slice(0, 8), 16)).toBe(START_MS / 1000);
      expect(created.uploadLink).toContain(`${ORIGIN}/media/v2/uploads/${created.id}?`);
      expect(created.commitLink).toBe(`${ORIGIN}${root}/${created.id}/commit`);
      const row = await everywhere
        .prepare("SELECT state, content_type FROM file WHERE id = ?")
        .bind(created.id)
        .first();
      expect(row).toEqual({ state: "pending", content_type: "binary/octet-stream" });
    }
  });

  // shows: platform/errors-of-every-service/empty-body-labelled-json
  // shows: platform/errors-of-every-service/unknown-fields-and-parameters
  it("accepts an empty body labelled JSON, unknown fields and unknown parameters", async () => {
    const as = principal();
    const headers = { "content-type": "application/json" };
    await expectJson(await app.call(collection(), { as, method: "POST", body: "", headers }), 200);
    await expectJson(await app.call(`${collection()}?x=1`, { as, json: { a: 1, __proto__: { b: 2 } } }), 200);
  });

  // shows: media/variant/size
  // shows: media/endpoints/post-p
  // shows: media/upload/multipart-form-data
  // shows: media/versioning/multipart-form-data
  // shows: media/variants/sizes
  it("returns 400 for malformed content types and sizes", async () => {
    const as = principal();
    for (const type of [
      "",
      "image",
      "image/",
      "a/b; c",
      "a/b\nc",
      "a/b;\nc=d",
      "a/b\r\n;c=d",
      "a/b;\vc=d",
      "a/b\f;c=d",
      "a/b;\u00a0c=d",
      "a/b\u2003;c=d",
      "a/b;\ufeffc=d",
      "a/b; \u2028 c=d",
      "ä/b",
      "multipart/form-data",
      "Multipart/Form-Data; boundary=x",
      `a/${"b".repeat(255)}`,
      7,
      null,
    ]) {
      const answer = await app.call(collection(), { as, json: { "Content-Type": type } });
      await expectProblem(answer, 400, "validation_violation", [{ type: "invalid_field", field: "Content-Type" }]);
    }
    const form = await app.call(collection(), { as, json: { "Content-Type": "multipart/form-data" } });
    expect((await expectJson(form, 400)).details[0].message).toContain("not supported");
    for (const size of ["", "0x1", "1x0", "5001x1", "1x5001", "01x1", "1X1", "1x1,", "x", "1e3x1", "-1x1", "1x1,1"]) {
      const answer = await app.call(`${collection()}?clip=${encodeURIComponent(size)}`, { as, method: "POST" });
      await expectProblem(answer, 400, "validation_violation", [{ type: "invalid_query_parameter", field: "clip" }]);
    }
    const many = Array.from({ length: 101 }, (_, index) => `${index + 1}x1`).join(",");
    const tooMany = await app.call(`${collection()}?crop=${many}`, { as, method: "POST" });
    await expectProblem(tooMany, 400, "validation_violation", [{ type: "invalid_query_parameter", field: "crop" }]);
    await expectProblem(await app.call(collection(), { as, json: [] }), 400, "validation_violation", [
      { type: "invalid_field", field: "" },
    ]);
  });

  // shows: media/variant/other-types
  // shows: platform/errors-of-every-service/400-business_error
  // shows: media/variants/other-masters
  it("returns 400 for variants of a file that is not an image", async () => {
    const as = principal();
    const answer = await app.call(`${collection()}?clip=10x10`, { as, json: { "Content-Type": "text/plain" } });
    await expectProblem(answer, 400, "business_error", [{ type: "unsupported_content_type" }]);
  });

  // shows: media/authentication/authorization-bearer
  it("returns 403 to a token without a client", async () => {
    const answer = await app.call(collection(), { as: principal({ clientName: "" }), method: "POST" });
    await expectProblem(answer, 403, "insufficient_permissions");
  });
});

describe.each(["private", "public"] as const)("metadata (%s)", (visibility) => {
  // shows: media/what-the-service-does/metadata
  // shows: media/file/metadata
  // shows: media/states-of-a-file/pending-commit
  // shows: media/endpoints/get-p-fileid-metadata
  // shows: media/endpoints/put-p-fileid-metadata
  // shows: media/endpoints/public-operations
  // shows: media/shapes/metadata-update
  it("are returned byte for byte as sent, whatever JSON allows", async () => {
    const as = principal();
    const text =
      ' {"__proto__":{"a":1},"n":1e400,"big":12345678901234567890,"d":1,"d":2,"s":"\\ud800\\u0000é😀","":[]}\n';
    const file = await uploaded(app, PICTURE, { as, visibility });
    const headers = { "content-type": "application/json; charset=utf-8" };
    await expectJson(await app.call(file.commitLink, { as, body: text, headers }), 202);
    expect(await (await app.call(`${file.path}/metadata`, { as })).text()).toBe(text);
    const next = '{ "replaced" : true }';
    const put = await app.call(`${file.path}/metadata`, { as, method: "PUT", body: next, headers });
    expect([put.status, await put.text()]).toEqual([200, next]);
    const got = await app.call(`${file.path}/metadata`, { as });
    expect([got.headers.get("content-type"), await got.text()]).toEqual(["application/json", next]);
  });

  it("return 400 without a body, 404 for a file that is not committed", async () => {
    const as = principal();
    const file = await uploaded(app, PICTURE, { as, visibility });
    const path = `${file.path}/metadata`;
    await expectProblem(await app.call(path, { as, method: "PUT" }), 400, "bad_payload_syntax");
    await expectProblem(await app.call(path, { as }), 404, "element_resource_non_existing");
    const put = await app.call(path, { as, method: "PUT", json: {} });
    await expectProblem(put, 404, "element_resource_non_existing");
  });
});

describe("a file of others", () => {
  // shows: oauth/what-the-service-does/tenants-apart
  // shows: media/what-the-service-does/apart-per-client-and-tenant
  // shows: platform/errors-of-every-service/404-element_resource_non_existing
  // shows: media/ownership/somebody-else-s
  it("returns the same 404 for another client's, another tenant's, the other path's, unknown and malformed ids", async () => {
    const as = principal({ tenantExplicit: true });
    const strangers = [principal(), { ...as, tenant: "globex" }];
    for (const visibility of ["private", "public"] as const) {
      const file = await stored(app, PICTURE, { as, visibility });
      const otherRoot = collection(visibility === "private" ? "public" : "private");
      const attempts = [
        ...strangers.map((stranger) => ({ as: stranger, path: file.path })),
        ...[`${otherRoot}/${file.id}`, `${collection(visibility)}/${NOBODYS_ID}`, `${collection(visibility)}/%00`].map(
          (path) => ({ as, path }),
        ),
      ];
      const operations = [
        { method: "GET", suffix: "/metadata" },
        { method: "PUT", suffix: "/metadata", json: {} },
        { method: "POST", suffix: "/commit", json: {} },
        { method: "GET", suffix: "/variants" },
        { method: "POST", suffix: "/variants?clip=10x10" },
        { method: "DELETE", suffix: "/variants" },
        { method: "DELETE", suffix: "" },
      ];
      for (const attempt of attempts)
        for (const { suffix, ...init } of operations) {
          const answer = await app.call(`${attempt.path}${suffix}`, { as: attempt.as, ...init });
          // A token for another tenant may not commit for this one.
          const { message } = await expectProblem(answer, 404, "element_resource_non_existing");
          expect(message).toBe("There is no such file, or it is not yours.");
        }
      await expectJson(await app.call(`${file.path}/metadata`, { as }), 200);
    }
  });
});

describe("a file of a disabled tenant", () => {
  it("returns 404 at every address until the tenant is enabled again", async () => {
    const apart = mediaApp();
    const tenant = await makeTenant();
    const disable = (disabled: boolean) =>
      register(`tenants/${tenant}`, { organization: `${tenant}-org`, name: "x", disabled });
    const as = principal({ tenant });
    const common = { as, type: "text/plain" };
    const secret = await stored(apart, new Uint8Array(3), common);
    const open = await stored(apart, new Uint8Array(3), { ...common, visibility: "public" });
    const signed = (await expectJson(await apart.call(secret.path, { as }), 200)).link;
    const content = (await apart.call(open.path)).headers.get("location")!;
    const statuses = async (of: typeof apart) => {
      const found: number[] = [];
      for (const address of [open.path, signed, content]) found.push((await of.call(address)).status);
      return found;
    };
    await disable(true);
    expect(await statuses(apart)).toEqual([404, 404, 404]);
    await disable(false);
    expect(await statuses(apart)).toEqual([302, 200, 200]);
    // The edge may keep a copy of public content for 300 s.
    await apart.settle();
    await disable(true);
    expect(await statuses(apart)).toEqual([404, 404, 200]);
    apart.clock.nowMs += 301_000;
    expect(await statuses(apart)).toEqual([404, 404, 404]);
  });
});

describe.each(["private", "public"] as const)("commit and variants (%s)", (visibility) => {
  // shows: media/endpoints/get-p-fileid-variants
  // shows: media/endpoints/public-operations
  it("return 202 for a commit and its repeat; variants are made, listed, added and deleted", async () => {
    const as = principal();
    const file = await uploaded(app, PICTURE, { as, visibility, query: "?clip=10x10" });
    for (const _ of [1, 2]) {
      const { link } = await expectJson(await app.call(file.commitLink, { as, json: { a: 1 } }), 202);
      expect(link).toBe(`${ORIGIN}${file.path}`);
    }
    await expectProblem(await app.call(file.commitLink, { as, json: {} }), 409, "conflict_resource", [
      { type: "already_committed" },
    ]);
    await app.consume();
    const path = `${file.path}/variants`;
    const listed = async () =>
      (await expectJson<any[]>(await app.call(path, { as }), 200)).map(({ type, size, state, link }) => [
        `${type} ${size} ${state}`,
        typeof link,
      ]);
    const link = visibility === "public" ? "string" : "undefined";
    expect(await listed()).toEqual([["clip 10x10 ready", link]]);
    await expectJson(await app.call(`${path}?crop=5x5`, { as, method: "POST" }), 200);
    expect(await listed()).toEqual([
      ["clip 10x10 ready", link],
      ["crop 5x5 pending", "undefined"],
    ]);
    await app.consume();
    expect((await app.call(`${path}?clip=10x10`, { as, method: "DELETE" })).status).toBe(204);
    expect(await listed()).toEqual([["crop 5x5 ready", link]]);
    expect((await app.call(path, { as, method: "DELETE" })).status).toBe(204);
    expect(await listed()).toEqual([]);
    await app.settle();
    expect(await keysOf(file.id)).toHaveLength(1);
  });
});

describe.each(["private", "public"] as const)("a deletion (%s)", (visibility) => {
  // shows: media/what-the-service-does/deletion
  // shows: media/states-of-a-file/committed-delete-file
  // shows: media/endpoints/delete-p-fileid
  // shows: media/endpoints/public-operations
  it("makes the file unreadable at once and deletes its bytes; the row goes when no link can bring bytes", async () => {
    const as = principal();
    const file = await stored(app, PICTURE, { as, visibility, query: "?clip=10x10" });
    const fetched = await app.call(file.path, { as });
    const link = visibility === "public" ? fetched.headers.get("location")! : (await expectJson(fetched, 200)).link;
    await app.consume();
    // This object is the rest of an upload that broke off.
    await env.MEDIA.put(`incoming/${file.id}/collected`, "half");
    expect(await keysOf(file.id)).toHaveLength(3);
    const answer = await app.call(file.path, { as, method: "DELETE" });
    expect([answer.status, answer.headers.get("content-type"), await answer.text()]).toEqual([204, null, ""]);
    await expectProblem(await app.call(file.path, { as }), 404, "element_resource_non_existing");
    await expectProblem(await app.call(link), 404, "element_resource_non_existing");
    await expectProblem(await app.call(file.path, { as, method: "DELETE" }), 404, "element_resource_non_existing");
    await app.settle();
    expect(await keysOf(file.id)).toEqual([]);
    const states = async () =>
      (await everywhere.prepare("SELECT state, due_at FROM file WHERE id = ?").bind(file.id).all()).results;
    // The row is not due earlier.
    const kept = [{ state: "removed", due_at: START_MS + 86_400_000 }];
    expect(await states()).toEqual(kept);
    // Bytes that arrived later by the link are deleted with the row.
    await env.MEDIA.put(`blob/${file.id}`, "late");
    await app.media.sweep(START_MS + 60_000);
    expect(await states()).toEqual(kept);
    await app.media.sweep(START_MS + 86_400_000);
    expect(await states()).toEqual([]);
    expect(await keysOf(file.id)).toEqual([]);
  });

  it("is finished by the sweep after a crash", async () => {
    const as = principal();
    const file = await stored(app, PICTURE, { as, visibility });
    const broken = mediaApp({
      bucket: { ...env.MEDIA, delete: () => Promise.reject(new Error("injected")) },
    });
    expect((await broken.call(file.path, { as, method: "DELETE" })).status).toBe(204);
    await broken.settle();
    expect(await keysOf(file.id)).toHaveLength(1);
    await app.media.sweep(START_MS + 1);
    expect(await keysOf(file.id)).toEqual([]);
  });
});
