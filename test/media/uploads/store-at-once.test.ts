import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { LIMITS } from "../../../src/media/model/limits.ts";
import { counting } from "../../support/counting.ts";
import { encodePng, gradient } from "../../support/images.ts";
import { makeTenantIn } from "../../support/platform/tenants.ts";
import { keysOf } from "../support/keys-of.ts";
import { mediaApp, ORIGIN } from "../support/media-app.ts";
import { principal } from "../support/principal.ts";
import { expectProblem } from "../support/problem.ts";
import { collection } from "../support/stored-file.ts";
import { expectJson } from "../../support/platform/call.ts";
import { inShards } from "../../support/shards.ts";

const app = mediaApp({ maxUploadBytes: 6 * 1024 * 1024 });
const PICTURE = await encodePng(gradient(64, 48));
const TEXT = { "content-type": "text/plain", "content-length": "5" };

const formOf = (parts: Record<string, Blob | string>): FormData => {
  const form = new FormData();
  for (const [name, part] of Object.entries(parts)) form.append(name, part);
  return form;
};
const textFile = (text = "hello"): File => new File([text], "naïve plan.txt", { type: "text/plain" });
const rowsOf = async (client: string): Promise<readonly { readonly id: string; readonly state: string }[]> =>
  (
    await env.DB.prepare("SELECT id, state FROM file WHERE owner_id IN (SELECT id FROM owner WHERE client = ?)")
      .bind(client)
      .all<{ id: string; state: string }>()
  ).results;
/** Makes the client known to the shard, as its first file does. */
const makeOwner = (client: string): Promise<unknown> =>
  env.DB.prepare("INSERT INTO owner (client, tenant, visibility) VALUES (?, '', 'private')").bind(client).run();

/** Returns the states of the client's files that are not removed. */
const statesOf = async (client: string): Promise<readonly string[]> =>
  (await rowsOf(client)).map(({ state }) => state).filter((state) => state !== "removed");

describe("a file in one request", () => {
  // shows: media/endpoints/post-p-with-bytes
  it("is stored and committed by its bytes alone: 202 with its address, its type and its name", async () => {
    const as = principal();
    const headers = { ...TEXT, "content-disposition": 'attachment; filename="a b.txt"' };
    const answer = await app.call(collection(), { as, method: "POST", body: "hello", headers });
    const { id, link } = await expectJson<{ id: string; link: string }>(answer, 202);
    expect(link).toBe(`${ORIGIN}${collection()}/${id}`);
    const [file] = await expectJson<any[]>(await app.call(`${collection()}?tenant=${as.tenant}`, { as }), 200);
    expect(file).toMatchObject({ id, "Content-Type": "text/plain", size: 5, fileName: "a b.txt", metadata: {} });
    const { link: content } = await expectJson<{ link: string }>(await app.call(`${collection()}/${id}`, { as }), 200);
    expect(await (await app.call(content)).text()).toBe("hello");
  });

  // shows: media/endpoints/post-p-with-bytes
  it("may come in a form with its metadata, and be shared, public, and have variants", async () => {
    const as = principal();
    const form = formOf({ file: textFile(), metadata: '{"album": "summer", "n": 1.50}' });
    const { id } = await expectJson<{ id: string }>(
      await app.call(`${collection()}?shared=tenant&tenant=${as.tenant}`, { as, method: "POST", body: form }),
      202,
    );
    expect(await (await app.call(`${collection()}/${id}/metadata`, { as })).text()).toBe(
      '{"album": "summer", "n": 1.50}',
    );
    const shared = await expectJson<any[]>(await app.call(`${collection()}?tenant=${as.tenant}&q=n:1.5`, { as }), 200);
    expect(shared).toMatchObject([{ id, fileName: "naïve plan.txt", size: 5 }]);

    const picture = new File([PICTURE], "p.png", { type: "image/png" });
    const path = `${collection("public")}?clip=10x10`;
    const made = await app.call(path, { as, method: "POST", body: formOf({ file: picture }) });
    const pictureId = (await expectJson<{ id: string }>(made, 202)).id;
    await app.settle();
    expect(app.jobs.filter(({ fileId }) => fileId === pictureId)).toHaveLength(1);
  });

  it("costs two round trips, the rows of a file in three requests, and one operation of R2", async () => {
    const { env: counted, tally, reset } = counting(env);
    const own = mediaApp({ db: counted.DB, bucket: counted.MEDIA });
    const as = principal({ tenant: await makeTenantIn(0) });
    await env.DB.prepare("UPDATE tenant SET quota_bytes = 1000 WHERE id = ?").bind(as.tenant).run();
    const bytes = { body: "hello", headers: TEXT };
    const form = () => ({ body: formOf({ file: textFile(), metadata: '{"a": 1, "b": 2, "c": 3}' }) });
    const counts = { d1RoundTrips: 2, d1Statements: 2, r2Operations: { put: 1 } };
    for (const [init, rows] of [
      [() => bytes, 8],
      [form, 11],
    ] as const)
      for (let time = 0; time < 2; time++) {
        reset();
        expect((await own.call(collection(), { as, method: "POST", ...init() })).status).toBe(202);
        await own.settle();
        // The first file makes rows that the others share.
        if (time === 1) expect(tally).toMatchObject({ ...counts, d1RowsWritten: rows });
      }
  });

  it("is refused before there is a row, as a creation or a commit would be", async () => {
    const as = principal();
    const send = (query: string, body: BodyInit, headers: Record<string, string> = {}) =>
      app.call(`${collection()}${query}`, { as, method: "POST", body, headers });
    const file = textFile();
    const two = formOf({ file });
    two.append("file", file);
    for (const [answer, status, type] of [
      [await send("?tenant=foreign", "hello", TEXT), 404, "element_resource_non_existing"],
      [await send("?clip=10x10", "hello", TEXT), 400, "business_error"],
      [await send("", "hello", { ...TEXT, "content-type": "no type" }), 400, "validation_violation"],
      [await send("", "hello", { ...TEXT, "content-encoding": "gzip" }), 415, "unsupported_request_content_type"],
      [await send("", "hello", { ...TEXT, "content-range": "bytes 0-4/9" }), 400, "validation_violation"],
      [await send("", "hello", { ...TEXT, "content-length": "6291457" }), 413, "bad_payload_size"],
      [
        await send("", "a=b", { "content-type": "application/x-www-form-urlencoded" }),
        415,
        "unsupported_request_content_type",
      ],
      [
        await send("", "hello", { "content-type": "application/json; charset=latin1" }),
        415,
        "unsupported_request_content_type",
      ],
      [await send("", "no form", { "content-type": "multipart/form-data; boundary=x" }), 400, "bad_payload_syntax"],
      [await send("", formOf({ metadata: "{}" })), 400, "validation_violation"],
      [await send("", formOf({ file: "no file" })), 400, "validation_violation"],
      [await send("", two), 400, "validation_violation"],
      [await send("", formOf({ file, more: "x" })), 400, "validation_violation"],
      [await send("", formOf({ file, metadata: "[]" })), 400, "validation_violation"],
      [await send("", formOf({ file, metadata: "{" })), 400, "bad_payload_syntax"],
      [await send("", formOf({ file: textFile("x".repeat(LIMITS.formMaxBytes)) })), 413, "bad_payload_size"],
    ] as const)
      expect(await expectJson(answer, status)).toMatchObject({ type });
    expect(await statesOf(as.clientName)).toEqual([]);
  });

  inShards("leaves nothing if its bytes differ from the announced ones, or the quota has no space", async () => {
    const as = principal({ tenant: await makeTenantIn(0) });
    const digest = { ...TEXT, "content-md5": "1B2M2Y8AsgTpgAmY7PhCfg==" };
    const wrong = await app.call(collection(), { as, method: "POST", body: "hello", headers: digest });
    const { message } = await expectProblem(wrong, 400, "validation_violation", [
      { type: "invalid_header", field: "Content-MD5" },
    ]);
    expect(message).not.toContain("link");
    await env.DB.prepare("UPDATE tenant SET quota_bytes = 4 WHERE id = ?").bind(as.tenant).run();
    const full = await app.call(collection(), { as, method: "POST", body: "hello", headers: TEXT });
    await expectProblem(full, 413, "bad_payload_size", [{ type: "quota_exceeded" }]);
    expect(await statesOf(as.clientName)).toEqual([]);
    for (const { id } of await rowsOf(as.clientName)) expect(await keysOf(id)).toEqual([]);
  });

  inShards("reserves its bytes with its row: of many at once, the quota's number is stored, and no other", async () => {
    const as = principal({ tenant: await makeTenantIn(0) });
    await env.DB.prepare("UPDATE tenant SET quota_bytes = 12 WHERE id = ?").bind(as.tenant).run();
    const send = (headers: Record<string, string> = {}) =>
      app.call(collection(), { as, method: "POST", body: "hello", headers: { ...TEXT, ...headers } });
    const answers = await Promise.all(Array.from({ length: 6 }, () => send()));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([202, 202, 413, 413, 413, 413]);
    await env.DB.prepare("UPDATE tenant SET quota_bytes = 15 WHERE id = ?").bind(as.tenant).run();
    // A failed one holds neither bytes nor a place, before any sweep.
    await env.DB.prepare("UPDATE tenant SET quota_files = 3 WHERE id = ?").bind(as.tenant).run();
    expect((await send({ "content-md5": "1B2M2Y8AsgTpgAmY7PhCfg==" })).status).toBe(400);
    expect((await send()).status).toBe(202);
    expect(await statesOf(as.clientName)).toEqual(["committed", "committed", "committed"]);
  });

  it("for another tenant counts for that tenant alone: with its row and its commit, also of a person", async () => {
    const [own, other] = [await makeTenantIn(0), await makeTenantIn(0)];
    const as = principal({ tenant: own });
    const person = { ...as, user: "ada@x.example", subject: "ada@x.example" };
    app.actsFor.add(`${as.clientId} ${other}`);
    const limit = (tenant: string, bytes: number) =>
      env.DB.prepare("UPDATE tenant SET quota_bytes = ?, quota_files = 2 WHERE id = ?").bind(bytes, tenant).run();
    await limit(own, 4);
    const send = (by: typeof as) =>
      app.call(`${collection()}?tenant=${other}`, { as: by, method: "POST", body: "hello", headers: TEXT });
    expect((await send(as)).status).toBe(202);
    expect((await send(person)).status).toBe(202);
    await limit(own, 100);
    await limit(other, 4);
    for (const most of [2, 9]) {
      await env.DB.prepare("UPDATE tenant SET quota_files = ? WHERE id = ?").bind(most, other).run();
      const bytes = (await env.MEDIA.list()).objects.length;
      await expectProblem(await send(as), 413, "bad_payload_size", [{ type: "quota_exceeded" }]);
      expect((await env.MEDIA.list()).objects).toHaveLength(bytes);
    }
    expect(await statesOf(as.clientName)).toEqual(["committed", "committed"]);
  });

  inShards(
    "leaves nothing reserved, and in the end no row, if the answer of the database to a row is lost, or a commit cannot be",
    async () => {
      for (const [hasFiles, at, runs] of [
        [true, [1], true],
        [false, [2], true],
        [true, [2, 3], false],
      ] as const) {
        const as = principal({ tenant: await makeTenantIn(0) });
        if (hasFiles) await makeOwner(as.clientName);
        await env.DB.prepare("UPDATE tenant SET quota_bytes = 5 WHERE id = ?").bind(as.tenant).run();
        let batches = 0;
        const db = new Proxy(env.DB, {
          get(target, name) {
            const own = Reflect.get(target, name) as (...args: unknown[]) => unknown;
            if (name !== "batch") return own.bind(target);
            return async (statements: D1PreparedStatement[]) => {
              const isLost = (at as readonly number[]).includes(++batches);
              const done = !isLost || runs ? await target.batch(statements) : [];
              if (isLost) throw new Error("D1_ERROR: Network connection lost.");
              return done;
            };
          },
        });
        const send = (to: typeof app) => to.call(collection(), { as, method: "POST", body: "hello", headers: TEXT });
        expect((await send(mediaApp({ db }))).status).toBeGreaterThanOrEqual(500);
        expect(batches).toBe(Math.max(...at));
        const rows = await rowsOf(as.clientName);
        expect(rows).toMatchObject([{ state: "removed" }]);
        await app.media.sweep(app.clock.nowMs + 1);
        expect(await keysOf(rows[0]!.id)).toEqual([]);
        await app.media.sweep(app.clock.nowMs + LIMITS.uncommittedTtlMs);
        expect(await rowsOf(as.clientName)).toEqual([]);
        expect([at, (await send(app)).status]).toEqual([at, 202]);
      }
    },
  );

  it.each([
    [
      "of an unknown length",
      () => ({ body: new Blob(["x"]).stream(), headers: { "content-type": "text/plain" } }),
      202,
    ],
    ["that gets a link", () => ({ json: {} }), 200],
  ])("%s holds no place if the answer of the database to its row is lost", async (_, init, status) => {
    const as = principal({ tenant: await makeTenantIn(0) });
    await env.DB.prepare("UPDATE tenant SET quota_files = 1 WHERE id = ?").bind(as.tenant).run();
    await makeOwner(as.clientName);
    let left = 1;
    const db = new Proxy(env.DB, {
      get(target, name) {
        const own = Reflect.get(target, name) as (...args: unknown[]) => unknown;
        if (name !== "batch") return own.bind(target);
        return async (statements: D1PreparedStatement[]) => {
          const done = await target.batch(statements);
          if (left-- > 0) throw new Error("D1_ERROR: Network connection lost.");
          return done;
        };
      },
    });
    const lost = await mediaApp({ db }).call(collection(), { as, method: "POST", ...init() });
    expect(lost.status).toBeGreaterThanOrEqual(500);
    expect(await rowsOf(as.clientName)).toMatchObject([{ state: "removed" }]);
    expect((await app.call(collection(), { as, method: "POST", ...init() })).status).toBe(status);
  });

  it("counts bytes of an unknown length as they arrive", async () => {
    const as = principal({ tenant: await makeTenantIn(0) });
    await env.DB.prepare("UPDATE tenant SET quota_bytes = 9 WHERE id = ?").bind(as.tenant).run();
    const send = (text: string) =>
      app.call(collection(), {
        as,
        method: "POST",
        body: new Blob([text]).stream(),
        headers: { "content-type": "text/plain" },
      });
    await expectProblem(await send("ten bytes."), 413, "bad_payload_size", [{ type: "quota_exceeded" }]);
    expect((await send("nine byte")).status).toBe(202);
  });
});
