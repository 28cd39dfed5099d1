import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { counting } from "../../support/counting.ts";
import { encodePng, gradient } from "../../support/images.ts";
import { FaultyBindings } from "../support/faults.ts";
import { mediaApp, ORIGIN, START_MS } from "../support/media-app.ts";
import { IN_DIRECTORY } from "../support/placement.ts";
import { principal } from "../support/principal.ts";
import { expectProblem } from "../support/problem.ts";
import { collection, stored, uploaded } from "../support/stored-file.ts";
import { expectJson } from "../../support/platform/call.ts";
import { directoryWith } from "../../support/directory.ts";
import { everywhere } from "../../support/shards.ts";

const app = mediaApp();
const PICTURE = await encodePng(gradient(64, 48));

describe("a commit", () => {
  // shows: media/states-of-a-file/pending-put-of-content
  // shows: media/states-of-a-file/pending-commit
  // shows: media/endpoints/post-p-fileid-commit
  // shows: media/shapes/commit
  // shows: media/ownership/owner
  it("returns 202, pins the upload, gives the token's tenant and returns the file's address", async () => {
    const as = principal();
    const file = await uploaded(app, PICTURE, { as, disposition: 'attachment; filename="a b.png"' });
    const answer = await expectJson(await app.call(file.commitLink, { method: "POST", as }), 202);
    expect(answer).toEqual({ id: file.id, link: `${ORIGIN}${file.path}` });
    const row = await everywhere
      .prepare(
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

  it("returns 202 for another tenant when its answer is lost, or when it is sent twice at once", async () => {
    const bindings = new FaultyBindings(() => START_MS);
    const faulty = mediaApp({ db: bindings.db });
    for (const name of ["lost", "at once"]) {
      const as = principal();
      faulty.actsFor.add(`${as.clientId} globex`);
      const file = await uploaded(faulty, PICTURE, { as });
      const commit = () => faulty.call(`${file.commitLink}?tenant=globex`, { as, method: "POST" });
      // The calls are: owner, write.
      bindings.plan(name === "lost" ? ["done", "lost"] : ["done", "done", "late", "late"]);
      const answers = await Promise.all(name === "lost" ? [commit()] : [commit(), commit()]);
      expect([name, ...answers.map(({ status }) => status)]).toEqual([name, ...answers.map(() => 202)]);
      expect((await faulty.call(`${file.path}/metadata`, { as: { ...as, tenant: "globex" } })).status).toBe(200);
    }
  });

  it("takes a round trip, as do creation and upload; all three are 4 statements and 11 rows with three attributes", async () => {
    const { env: counted, tally, reset } = counting(env);
    const own = mediaApp({ db: counted.DB, bucket: counted.MEDIA });
    const as = principal();
    for (let time = 0; time < 2; time++) {
      const costs: number[][] = [];
      const costOf = async <T>(answer: Promise<T>): Promise<T> => {
        const given = await answer;
        await own.settle();
        costs.push([tally.d1RoundTrips, tally.d1Statements, tally.d1RowsWritten]);
        reset();
        return given;
      };
      reset();
      const file = await expectJson(await costOf(own.call(collection(), { as, method: "POST", json: {} })), 200);
      const headers = { "content-type": "binary/octet-stream", "content-length": "4" };
      const put = own.call(file.uploadLink, { method: "PUT", body: "four", headers });
      expect((await costOf(put)).status).toBe(200);
      const json = { a: "x", b: "y", c: "z" };
      expect((await costOf(own.call(file.commitLink, { as, json }))).status).toBe(202);
      // The first file makes two owners, which takes a round trip each, and its key set.
      if (time === 0) expect(costs.map(([trips]) => trips)).toEqual([2, 1, 2]);
      const expected = [
        [1, 1, 3],
        [1, 2, 0],
        [1, 1, 8],
      ];
      if (time === 1) expect(costs).toEqual(expected);
    }
  });

  // shows: platform/errors-of-every-service/409-conflict_resource
  // shows: media/upload-and-immutability/commit-again
  it("returns 202 again with the same body, 409 with another body or tenant", async () => {
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
    const headers = { "content-type": "application/json" };
    const spaced = await app.call(file.commitLink, { as, method: "POST", body: '{ "a": 1 }', headers });
    const { message } = await expectProblem(spaced, 409, "conflict_resource", [{ type: "already_committed" }]);
    expect(message).toContain("exactly the same body");
    expect(await expectJson(await app.call(`${file.path}/metadata`, { as }), 200)).toEqual({ a: 1 });
  });

  // shows: media/upload-and-immutability/commit-again
  it("returns 202 again after the metadata were replaced, since it compares commits, not the present state", async () => {
    const as = principal();
    const file = await stored(app, PICTURE, { as, metadata: { a: 1 } });
    await expectJson(await app.call(`${file.path}/metadata`, { as, method: "PUT", json: { a: 2 } }), 200);
    await expectJson(await app.call(file.commitLink, { as, json: { a: 1 } }), 202);
    expect(await expectJson(await app.call(`${file.path}/metadata`, { as }), 200)).toEqual({ a: 2 });
  });

  // shows: media/upload-and-immutability/commit-before-the-upload
  it("returns 409 before the upload, and works after it", async () => {
    const as = principal();
    const { id, commitLink } = await expectJson(await app.call(collection(), { as, method: "POST" }), 200);
    const answer = await app.call(commitLink, { as, method: "POST" });
    await expectProblem(answer, 409, "conflict_resource", [{ type: "file_not_uploaded" }]);
    await env.MEDIA.put(`blob/${id}`, "x");
    await expectJson(await app.call(commitLink, { as, method: "POST" }), 202);
  });

  it("returns 404 to a person of another tenant than the file was created for; the client's own tokens reach all pending files", async () => {
    const as = principal();
    const person = { ...as, user: "eve@other.example", subject: "eve@other.example", tenant: "other" };
    const waiting = await uploaded(app, PICTURE, { as });
    const attempts = [
      await app.call(waiting.commitLink, { as: person, method: "POST" }),
      await app.call(`${waiting.commitLink}?tenant=acme`, { as: person, method: "POST" }),
      await app.call(waiting.path, { as: person, method: "DELETE" }),
    ];
    for (const answer of attempts) await expectProblem(answer, 404, "element_resource_non_existing");
    await expectJson(await app.call(waiting.commitLink, { as: { ...person, tenant: "acme" }, method: "POST" }), 202);
    const persons = await stored(app, PICTURE, { as: person });
    expect((await app.call(persons.path, { as })).status).toBe(404);
    const another = await uploaded(app, PICTURE, { as });
    const explicit = { ...as, tenant: "other", tenantExplicit: true };
    await expectJson(await app.call(another.commitLink, { as: explicit, method: "POST" }), 202);
  });

  it("wins alone among different parallel commits", async () => {
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

  // shows: media/endpoints/post-p-fileid-commit
  // shows: media/ownership/owner
  // shows: media/ownership/a-token-without-a-named-tenant
  it("accepts the token's tenant; another client's name only tenants that it may act for", async () => {
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
    await expectProblem(nameless, 403, "insufficient_permissions");
    await expectJson(await app.call(`${file.commitLink}?tenant=globex`, { as, method: "POST" }), 202);
    await expectProblem(await app.call(file.path, { as: explicit }), 404, "element_resource_non_existing");
    await expectJson(await app.call(file.path, { as: { ...explicit, tenant: "globex" } }), 200);
  });

  // shows: platform/errors-of-every-service/400-bad_payload_syntax
  // shows: platform/errors-of-every-service/415-unsupported_request_content_type
  // shows: platform/errors-of-every-service/413-bad_payload_size
  it("returns 400 and 413 for metadata that are no JSON object, or too large", async () => {
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

  it("is retried when its answer is lost, and asks for the variants", async () => {
    const as = principal({ tenant: IN_DIRECTORY });
    let losses = 1;
    const db = directoryWith({
      async batch(statements) {
        const results = await env.DB.batch(statements);
        if (losses-- > 0) throw new Error("injected: D1_ERROR: Network connection lost.");
        return results;
      },
    });
    const file = await uploaded(app, PICTURE, { as, query: "?clip=10x10&crop=5x5" });
    const lossy = mediaApp({ db });
    await expectJson(await lossy.call(file.commitLink, { as, json: { a: 1 } }), 202);
    await lossy.settle();
    expect(losses).toBeLessThan(0);
    expect(lossy.jobs.map(({ fileId }) => fileId)).toEqual([file.id, file.id]);
    expect(await app.consume({ jobs: lossy.jobs })).toEqual({ acked: 2, retried: 0 });
    const variants = await expectJson(await app.call(`${file.path}/variants`, { as }), 200);
    expect(variants.map((variant: any) => variant.state)).toEqual(["ready", "ready"]);
    await expectJson(await app.call(file.commitLink, { as, json: { a: 1 } }), 202);
    await app.settle();
    expect(app.jobs.splice(0)).toEqual([]);
  });

  it("asks again for variants whose messages were lost", async () => {
    const as = principal();
    const mute = mediaApp({ jobs: { sendBatch: () => Promise.reject(new Error("injected")) } as unknown as Queue });
    const file = await stored(mute, PICTURE, { as, query: "?clip=10x10" });
    await expectJson(await app.call(file.commitLink, { as, method: "POST" }), 202);
    expect(await app.consume()).toEqual({ acked: 1, retried: 0 });
    expect((await app.call(`${file.path}?clip=10x10`, { as })).status).toBe(200);
  });
});
