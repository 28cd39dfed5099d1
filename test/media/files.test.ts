import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { encodePng, gradient } from "../support/images.ts";
import {
  collection,
  expectJson,
  expectProblem,
  keysOf,
  mediaApp,
  ORIGIN,
  principal,
  START_MS,
  stored,
  uploaded,
} from "./media-app.ts";

const app = mediaApp();
const PICTURE = await encodePng(gradient(64, 48));
const NOBODYS_ID = "0123456789abcdef01234567";

describe("create", () => {
  it("200: id with its time and shard, absolute links; the row is there", async () => {
    const as = principal();
    for (const visibility of ["private", "public"] as const) {
      const root = collection(visibility);
      const created = await expectJson(await app.call(root, { as, method: "POST" }), 200);
      expect(Object.keys(created)).toEqual(["id", "uploadLink", "commitLink"]);
      expect(created.id).toMatch(/^[0-9a-f]{8}00[0-9a-f]{14}$/);
      expect(Number.parseInt(created.id.slice(0, 8), 16)).toBe(START_MS / 1000);
      expect(created.uploadLink).toContain(`${ORIGIN}/media/v2/uploads/${created.id}?`);
      expect(created.commitLink).toBe(`${ORIGIN}${root}/${created.id}/commit`);
      const row = await env.DB.prepare("SELECT state, content_type FROM file WHERE id = ?").bind(created.id).first();
      expect(row).toEqual({ state: "pending", content_type: "binary/octet-stream" });
    }
  });

  it("200: an empty body labelled JSON is no body; unknown fields and parameters do no harm", async () => {
    const as = principal();
    const headers = { "content-type": "application/json" };
    await expectJson(await app.call(collection(), { as, method: "POST", body: "", headers }), 200);
    await expectJson(await app.call(`${collection()}?x=1`, { as, json: { a: 1, __proto__: { b: 2 } } }), 200);
  });

  it("400: content types and sizes that are none", async () => {
    const as = principal();
    for (const type of [
      "",
      "image",
      "image/",
      "a/b; c",
      "a/b\nc",
      "ä/b",
      "multipart/form-data",
      `a/${"b".repeat(255)}`,
      7,
      null,
    ]) {
      const answer = await app.call(collection(), { as, json: { "Content-Type": type } });
      await expectProblem(answer, 400, "validation_violation", [{ type: "invalid_field", field: "Content-Type" }]);
    }
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

  it("400: variants of what is no image", async () => {
    const as = principal();
    const answer = await app.call(`${collection()}?clip=10x10`, { as, json: { "Content-Type": "text/plain" } });
    await expectProblem(answer, 400, "business_error", [{ type: "unsupported_content_type" }]);
  });

  it("403: a token of no client", async () => {
    const answer = await app.call(collection(), { as: principal({ clientName: "" }), method: "POST" });
    await expectProblem(answer, 403, "insufficient_permissions");
  });
});

describe("commit", () => {
  it("202: pins what was uploaded, gives the tenant of the token, answers with the file's address", async () => {
    const as = principal();
    const file = await uploaded(app, PICTURE, { as, disposition: 'attachment; filename="a b.png"' });
    const answer = await expectJson(await app.call(file.commitLink, { method: "POST", as }), 202);
    expect(answer).toEqual({ id: file.id, link: `${ORIGIN}${file.path}` });
    const row = await env.DB.prepare(
      "SELECT state, size_bytes, etag, file_name, metadata, tenant FROM file JOIN owner ON owner.id = owner_id WHERE file.id = ?",
    )
      .bind(file.id)
      .first();
    expect(row).toEqual({
      state: "committed",
      size_bytes: PICTURE.length,
      etag: file.etag.slice(1, -1),
      file_name: "a b.png",
      metadata: "{}",
      tenant: "acme",
    });
  });

  it("202 again with the same body, 409 with another or for another tenant", async () => {
    const as = principal();
    app.actsFor.add(`${as.clientId} other`);
    const file = await stored(app, PICTURE, { as, metadata: { a: 1 } });
    await expectJson(await app.call(file.commitLink, { as, json: { a: 1 } }), 202);
    for (const [query, json] of [
      ["", { a: 2 }],
      ["", undefined],
      ["?tenant=other", { a: 1 }],
    ] as const) {
      const answer = await app.call(`${file.commitLink}${query}`, { as, method: "POST", json });
      await expectProblem(answer, 409, "conflict_resource", [{ type: "already_committed" }]);
    }
    expect(await expectJson(await app.call(`${file.path}/metadata`, { as }), 200)).toEqual({ a: 1 });
  });

  it("202 again after the metadata were replaced: the commit is compared, not the present state", async () => {
    const as = principal();
    const file = await stored(app, PICTURE, { as, metadata: { a: 1 } });
    await expectJson(await app.call(`${file.path}/metadata`, { as, method: "PUT", json: { a: 2 } }), 200);
    await expectJson(await app.call(file.commitLink, { as, json: { a: 1 } }), 202);
    expect(await expectJson(await app.call(`${file.path}/metadata`, { as }), 200)).toEqual({ a: 2 });
  });

  it("409 before the upload; the commit works after it", async () => {
    const as = principal();
    const { id, commitLink } = await expectJson(await app.call(collection(), { as, method: "POST" }), 200);
    const answer = await app.call(commitLink, { as, method: "POST" });
    await expectProblem(answer, 409, "conflict_resource", [{ type: "file_not_uploaded" }]);
    await env.MEDIA.put(`blob/${id}`, "x");
    await expectJson(await app.call(commitLink, { as, method: "POST" }), 202);
  });

  it("one of many different parallel commits wins", async () => {
    const as = principal();
    const file = await uploaded(app, PICTURE, { as });
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, index) => app.call(file.commitLink, { as, json: { index } })),
    );
    const statuses = answers.map((answer) => answer.status).toSorted((a, b) => a - b);
    expect(statuses).toEqual([202, 409, 409, 409, 409, 409, 409, 409]);
    const metadata = await expectJson(await app.call(`${file.path}/metadata`, { as }), 200);
    expect(metadata).toEqual({ index: answers.findIndex((answer) => answer.status === 202) });
  });

  it("tenant: a token for one names that one, another client's name only what it acts for", async () => {
    const as = principal();
    app.actsFor.add(`${as.clientId} globex`);
    const explicit = { ...as, tenantExplicit: true };
    const file = await uploaded(app, PICTURE, { as });
    for (const [caller, tenant] of [
      [as, "initech"],
      [explicit, "globex"],
    ] as const) {
      const answer = await app.call(`${file.commitLink}?tenant=${tenant}`, { as: caller, method: "POST" });
      await expectProblem(answer, 404, "element_resource_non_existing");
    }
    const bad = await app.call(`${file.commitLink}?tenant=Bad!`, { as, method: "POST" });
    await expectProblem(bad, 400, "validation_violation", [{ type: "invalid_query_parameter", field: "tenant" }]);
    const nameless = await app.call(file.commitLink, { as: { ...as, tenant: "" }, method: "POST" });
    await expectProblem(nameless, 400, "validation_violation", [{ type: "missing_query_parameter", field: "tenant" }]);
    await expectJson(await app.call(`${file.commitLink}?tenant=globex`, { as, method: "POST" }), 202);
    await expectProblem(await app.call(file.path, { as: explicit }), 404, "element_resource_non_existing");
    await expectJson(await app.call(file.path, { as: { ...explicit, tenant: "globex" } }), 200);
  });

  it("400 and 413: metadata that are no JSON object, or too many", async () => {
    const as = principal();
    const file = await uploaded(app, PICTURE, { as });
    const headers = { "content-type": "application/json" };
    for (const body of ["[]", "1", "null", '"a"'])
      await expectProblem(
        await app.call(file.commitLink, { as, method: "POST", body, headers }),
        400,
        "validation_violation",
        [{ type: "invalid_field" }],
      );
    for (const body of ["{", "{a:1}", '{"a":1}x', "{".repeat(100)])
      await expectProblem(await app.call(file.commitLink, { as, body, headers }), 400, "bad_payload_syntax");
    const answer = await app.call(file.commitLink, { as, json: { a: "x".repeat(64 * 1024) } });
    await expectProblem(answer, 413, "bad_payload_size");
    const form = { "content-type": "text/plain" };
    const wrong = await app.call(file.commitLink, { as, body: "{}", headers: form });
    await expectProblem(wrong, 415, "unsupported_request_content_type");
  });
});

describe("metadata", () => {
  it("200: byte for byte as sent, whatever JSON allows", async () => {
    const as = principal();
    const text =
      ' {"__proto__":{"a":1},"n":1e400,"big":12345678901234567890,"d":1,"d":2,"s":"\\ud800\\u0000é😀","":[]}\n';
    const file = await uploaded(app, PICTURE, { as });
    const headers = { "content-type": "application/json; charset=utf-8" };
    await expectJson(await app.call(file.commitLink, { as, body: text, headers }), 202);
    expect(await (await app.call(`${file.path}/metadata`, { as })).text()).toBe(text);
    const next = '{ "replaced" : true }';
    const put = await app.call(`${file.path}/metadata`, { as, method: "PUT", body: next, headers });
    expect([put.status, await put.text()]).toEqual([200, next]);
    const got = await app.call(`${file.path}/metadata`, { as });
    expect([got.headers.get("content-type"), await got.text()]).toEqual(["application/json", next]);
  });

  it("400: no body; 404: of a file that is not committed", async () => {
    const as = principal();
    const file = await uploaded(app, PICTURE, { as });
    const path = `${file.path}/metadata`;
    await expectProblem(await app.call(path, { as, method: "PUT" }), 400, "bad_payload_syntax");
    await expectProblem(await app.call(path, { as }), 404, "element_resource_non_existing");
    const put = await app.call(path, { as, method: "PUT", json: {} });
    await expectProblem(put, 404, "element_resource_non_existing");
  });
});

describe("whose files", () => {
  it("404 alike for another client's, another tenant's, the other path's, nobody's and malformed ids", async () => {
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
          // A token for another tenant may not commit for it anyway.
          const { message } = await expectProblem(answer, 404, "element_resource_non_existing");
          expect(message).toBe("There is no such file, or it is not yours.");
        }
      await expectJson(await app.call(`${file.path}/metadata`, { as }), 200);
    }
  });
});

describe("delete", () => {
  it("204: unreadable at once, bytes gone, the row kept until no link can bring bytes; then gone", async () => {
    const as = principal();
    const file = await stored(app, PICTURE, { as, query: "?clip=10x10" });
    const { link } = await expectJson(await app.call(file.path, { as }), 200);
    await app.consume();
    expect(await keysOf(file.id)).toHaveLength(2);
    const answer = await app.call(file.path, { as, method: "DELETE" });
    expect([answer.status, answer.headers.get("content-type"), await answer.text()]).toEqual([204, null, ""]);
    await expectProblem(await app.call(file.path, { as }), 404, "element_resource_non_existing");
    await expectProblem(await app.call(link), 404, "element_resource_non_existing");
    await expectProblem(await app.call(file.path, { as, method: "DELETE" }), 404, "element_resource_non_existing");
    await app.settle();
    expect(await keysOf(file.id)).toEqual([]);
    const states = async () =>
      (await env.DB.prepare("SELECT state FROM file WHERE id = ?").bind(file.id).all()).results;
    expect(await states()).toEqual([{ state: "removed" }]);
    // Bytes that came by the link after all go with the row.
    await env.MEDIA.put(`blob/${file.id}`, "late");
    await app.media.sweep(START_MS + 60_000);
    expect(await states()).toEqual([{ state: "removed" }]);
    await app.media.sweep(START_MS + 86_400_000);
    expect(await states()).toEqual([]);
    expect(await keysOf(file.id)).toEqual([]);
  });

  it("a crash after the row was changed: the sweep deletes the bytes", async () => {
    const as = principal();
    const file = await stored(app, PICTURE, { as });
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

describe("sweep", () => {
  it("removes what nobody committed in a day, with its bytes, and nothing else", async () => {
    const as = principal();
    const left = await uploaded(app, PICTURE, { as, query: "?clip=10x10" });
    const kept = await stored(app, PICTURE, { as });
    await app.media.sweep(START_MS + 86_400_000 - 1);
    expect(await keysOf(left.id)).toHaveLength(1);
    await app.media.sweep(START_MS + 86_400_000);
    expect(await keysOf(left.id)).toEqual([]);
    expect(await env.DB.prepare("SELECT 1 FROM file WHERE id = ?").bind(left.id).first()).toBeNull();
    expect(await env.DB.prepare("SELECT 1 FROM variant WHERE file_id = ?").bind(left.id).first()).toBeNull();
    expect(await keysOf(kept.id)).toHaveLength(1);
    await expectProblem(await app.call(left.commitLink, { as, method: "POST" }), 404, "element_resource_non_existing");
  });

  it("and commit exclude each other: a committed file keeps its bytes, a swept one is not committed", async () => {
    const as = principal();
    const files = await Promise.all(Array.from({ length: 12 }, () => uploaded(app, PICTURE, { as })));
    const [, ...answers] = await Promise.all([
      app.media.sweep(START_MS + 86_400_000),
      ...files.map((file) => app.call(file.commitLink, { as, method: "POST" })),
    ]);
    for (const [index, file] of files.entries()) {
      const isCommitted = answers[index]!.status === 202;
      expect(await keysOf(file.id)).toHaveLength(isCommitted ? 1 : 0);
      expect((await app.call(file.path, { as })).status).toBe(isCommitted ? 200 : 404);
    }
  });
});
