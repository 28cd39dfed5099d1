import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { LIMITS } from "../../../src/media/model/limits.ts";
import { systemRandom } from "../../../src/platform/runtime/random.ts";
import { createSealer } from "../../../src/platform/secrets/seal.ts";
import { keysOf } from "../support/keys-of.ts";
import { mediaApp, START_MS } from "../support/media-app.ts";
import { principal } from "../support/principal.ts";
import { expectProblem } from "../support/problem.ts";
import { collection } from "../support/stored-file.ts";
import { expectJson } from "../../support/platform/call.ts";
import { BINARY, bytesOf, chunked, create, equal, withLength } from "../support/upload-bodies.ts";
import { makeTenantIn } from "../../support/platform/tenants.ts";
import { everywhere } from "../../support/shards.ts";
import { casesOf } from "../../support/model-runs.ts";

const MAX_BYTES = 20 * 1024 * 1024;
const app = mediaApp({ maxUploadBytes: MAX_BYTES });

const storedBytes = async (id: string): Promise<Uint8Array> =>
  new Uint8Array(await (await env.MEDIA.get(`blob/${id}`))!.arrayBuffer());

describe("an upload", () => {
  // shows: media/states-of-a-file/pending-put-of-content
  // shows: media/upload/put-to-uploadlink
  // shows: media/upload/transfer-encoding
  // shows: media/upload-and-immutability/upload-link
  // shows: media/upload-and-immutability/length-missing
  it("returns 200 with the ETag for exactly the bytes, with a length, without one, and empty", async () => {
    for (const [size, hasLength] of [
      [0, true],
      [0, false],
      [1, true],
      [70_000, true],
      [70_000, false],
    ] as const) {
      const { id, uploadLink } = await create(app);
      const answer = await app.call(uploadLink, {
        method: "PUT",
        body: hasLength ? bytesOf(size) : chunked(size),
        headers: hasLength ? withLength(size) : BINARY,
      });
      expect([answer.status, await answer.text()]).toEqual([200, ""]);
      expect(answer.headers.get("etag")).toBe((await env.MEDIA.head(`blob/${id}`))!.httpEtag);
      expect(equal(await storedBytes(id), bytesOf(size))).toBe(true);
    }
  });

  // shows: media/upload/transfer-encoding
  // shows: platform/errors-of-every-service/chunked-bodies
  it("in chunks, larger than memory holds, is moved in one piece and leaves nothing behind", async () => {
    const { id, uploadLink } = await create(app);
    const size = LIMITS.partBytes * 2 + 12_345;
    const answer = await app.call(uploadLink, { method: "PUT", body: chunked(size), headers: BINARY });
    expect(answer.status).toBe(200);
    expect(equal(await storedBytes(id), bytesOf(size))).toBe(true);
    expect(await keysOf(id)).toEqual([`blob/${id}`]);
  });

  it("accepts the type in another spelling, and sanitizes the name", async () => {
    const as = principal();
    const { uploadLink, commitLink, id } = await create(app, as, "text/plain; charset=utf-8");
    const headers = {
      "content-type": "Text/Plain;charset=UTF-8",
      "content-disposition": "attachment; filename=\"x.txt\"; filename*=UTF-8''..%2f%e2%82%ac%00%20a%22.txt",
    };
    expect((await app.call(uploadLink, { method: "PUT", body: "hi", headers })).status).toBe(200);
    await expectJson(await app.call(commitLink, { as, method: "POST" }), 202);
    const row = await everywhere.prepare("SELECT file_name FROM file WHERE id = ?").bind(id).first();
    expect(row).toEqual({ file_name: '€ a".txt' });
  });
});

describe("older keys", () => {
  it("verify their links as long as they are configured", async () => {
    const [older, newer] = [3, 4].map((fill) => ({ id: `k${fill}`, bytes: new Uint8Array(32).fill(fill) }));
    const withKeys = (...keys: (typeof older)[]) =>
      mediaApp({
        sealer: createSealer(
          keys.filter((key) => key !== undefined),
          systemRandom,
        ),
      });
    const [before, rotated, after] = [withKeys(older), withKeys(newer, older), withKeys(newer)];
    const as = principal();
    const put = (on: typeof before, link: string) => on.call(link, { method: "PUT", body: "x", headers: BINARY });
    const { id, uploadLink, commitLink } = await create(before, as);
    expect((await put(after, uploadLink)).status).toBe(403);
    expect((await put(rotated, uploadLink)).status).toBe(200);
    await expectJson(await before.call(commitLink, { as, method: "POST" }), 202);
    const { link } = await expectJson(await before.call(`${collection()}/${id}`, { as }), 200);
    expect([await after.call(link), await rotated.call(link)].map(({ status }) => status)).toEqual([403, 200]);
    const signedAnew = await create(rotated, as);
    expect((await put(after, signedAnew.uploadLink)).status).toBe(200);
  });
});

describe("a second upload", () => {
  // shows: media/upload-and-immutability/worker-mode
  it("loses: one of 20 parallel uploads to one link wins, complete", async () => {
    for (const hasLength of [true, false]) {
      const { id, uploadLink } = await create(app);
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, index) => {
          const body = bytesOf(5000 + index, index);
          return app.call(uploadLink, {
            method: "PUT",
            body: hasLength ? body : new Blob([body]).stream(),
            headers: hasLength ? withLength(body.length) : BINARY,
          });
        }),
      );
      const won = answers.findIndex((answer) => answer.status === 200);
      const statuses = answers.map((answer) => answer.status).toSorted((a, b) => a - b);
      expect(statuses).toEqual([200, ...Array.from({ length: 19 }, () => 409)]);
      expect(equal(await storedBytes(id), bytesOf(5000 + won, won))).toBe(true);
      const lost = answers.find((answer) => answer.status === 409)!;
      await expectProblem(lost, 409, "conflict_resource", [{ type: "already_uploaded" }]);
    }
  });

  it.each([
    ["upload_changed", "before"],
    ["already_uploaded", "after"],
  ])("at the same time, in chunks: one is stored, and the other gets 409 %s %s it", async (type, when) => {
    const { id, uploadLink } = await create(app);
    const collected = Promise.withResolvers<void>();
    const answered = Promise.withResolvers<void>();
    let uploads = 0;
    const bucket = new Proxy(env.MEDIA, {
      get(target, name) {
        if (name !== "get") return (target as any)[name].bind(target);
        return async (key: string, options: { onlyIf: { etagMatches: string } }) => {
          if (++uploads === 2) collected.resolve();
          await collected.promise;
          const isLast = (await env.MEDIA.head(key))?.etag === options.onlyIf.etagMatches;
          if (isLast === (when === "before")) await answered.promise;
          return env.MEDIA.get(key, options);
        };
      },
    });
    const on = mediaApp({ bucket });
    const sizes = [LIMITS.partBytes + 1000, LIMITS.partBytes + 2000];
    const answers = await Promise.all(
      sizes.map(async (size) => {
        const answer = await on.call(uploadLink, { method: "PUT", body: chunked(size), headers: BINARY });
        answered.resolve();
        return answer;
      }),
    );
    const won = answers.findIndex((answer) => answer.status === 200);
    await expectProblem(answers[1 - won]!, 409, "conflict_resource", [{ type }]);
    expect((await storedBytes(id)).length).toBe(sizes[won]);
    expect(await keysOf(id)).toEqual([`blob/${id}`]);
  });

  // shows: media/what-the-service-does/immutable
  // shows: media/upload-and-immutability/worker-mode
  it("returns 409 and changes nothing, before and after the commit", async () => {
    const as = principal();
    const { id, uploadLink, commitLink } = await create(app, as);
    await app.call(uploadLink, { method: "PUT", body: "first", headers: BINARY });
    const again = () => app.call(uploadLink, { method: "PUT", body: "second", headers: BINARY });
    await expectProblem(await again(), 409, "conflict_resource", [{ type: "already_uploaded" }]);
    await expectJson(await app.call(commitLink, { as, method: "POST" }), 202);
    await expectProblem(await again(), 409, "conflict_resource", [{ type: "already_uploaded" }]);
    expect(new TextDecoder().decode(await storedBytes(id))).toBe("first");
  });

  it("returns 409 although the quota has no space for it twice, or its digest is wrong", async () => {
    const as = principal({ tenant: await makeTenantIn(0) });
    await env.DB.prepare("UPDATE tenant SET quota_bytes = 10 WHERE id = ?").bind(as.tenant).run();
    const { uploadLink } = await create(app, as);
    const put = (headers: Record<string, string> = {}) =>
      app.call(uploadLink, { method: "PUT", body: bytesOf(6), headers: { ...withLength(6), ...headers } });
    expect((await put()).status).toBe(200);
    const others: Record<string, string>[] = [{}, { "content-md5": "1B2M2Y8AsgTpgAmY7PhCfg==" }];
    for (const headers of others)
      await expectProblem(await put(headers), 409, "conflict_resource", [{ type: "already_uploaded" }]);
  });
});

describe("an upload that is too large", () => {
  // shows: media/upload-and-immutability/length-missing
  // shows: media/upload-and-immutability/over-the-limit
  it("returns 413, announced or found while reading, and stores nothing; the link still works", async () => {
    const small = mediaApp({ maxUploadBytes: 1000 });
    const { id, uploadLink } = await create(small);
    const announced = await small.call(uploadLink, { method: "PUT", body: bytesOf(1001), headers: withLength(1001) });
    await expectProblem(announced, 413, "bad_payload_size");
    const counted = await small.call(uploadLink, { method: "PUT", body: chunked(1001), headers: BINARY });
    await expectProblem(counted, 413, "bad_payload_size");
    expect(await keysOf(id)).toEqual([]);
    const right = await small.call(uploadLink, { method: "PUT", body: chunked(1000), headers: BINARY });
    expect(right.status).toBe(200);
  });

  it("is not read beyond the part in which that was found", async () => {
    const { id, uploadLink } = await create(app);
    const limit = MAX_BYTES + 2 * LIMITS.partBytes;
    let isOver = false;
    const long = chunked(3 * MAX_BYTES, Infinity, (sentBytes) => (isOver = sentBytes > limit));
    const answer = await app.call(uploadLink, { method: "PUT", body: long, headers: BINARY });
    await expectProblem(answer, 413, "bad_payload_size");
    expect(isOver).toBe(false);
    expect(await keysOf(id)).toEqual([]);
  });
});

describe("an upload that breaks off", () => {
  // shows: media/upload/content-length
  // shows: platform/errors-of-every-service/details-invalid_header
  it("or has another length than announced returns 400 and stores nothing; the link still works", async () => {
    const { id, uploadLink } = await create(app);
    const bodies = [
      { body: chunked(200_000, 100_000), headers: withLength(200_000) },
      { body: chunked(100_000), headers: withLength(100_001) },
      { body: chunked(100_001), headers: withLength(100_000) },
      { body: chunked(200_000, 100_000), headers: BINARY },
      { body: chunked(LIMITS.partBytes * 2, LIMITS.partBytes + 200_000), headers: BINARY },
    ];
    for (const init of bodies) {
      const answer = await app.call(uploadLink, { method: "PUT", ...init });
      await expectProblem(answer, 400, "validation_violation", [{ type: "invalid_header", field: "Content-Length" }]);
      expect(await keysOf(id)).toEqual([]);
    }
    const whole = await app.call(uploadLink, { method: "PUT", body: bytesOf(10), headers: withLength(10) });
    expect(whole.status).toBe(200);
  });
});

describe("digests", () => {
  const [MD5, SHA256, SHA512] = ["MD5", "SHA-256", "SHA-512"].map(
    (algorithm) => async (bytes: Uint8Array<ArrayBuffer>) =>
      new Uint8Array(await crypto.subtle.digest(algorithm, bytes)).toBase64(),
  );
  const size = LIMITS.partBytes + 1000;
  const [small, large, other] = [bytesOf(3), bytesOf(size), bytesOf(3, 1)];
  /** The ways of writing to R2. */
  const ways = [
    { bytes: small, body: () => small, headers: withLength(3) },
    { bytes: small, body: () => chunked(3), headers: BINARY },
    { bytes: large, body: () => chunked(size), headers: withLength(size) },
    { bytes: large, body: () => chunked(size), headers: BINARY },
  ];

  // shows: media/upload/put-to-uploadlink
  it.each([
    ["Content-MD5", (bytes) => MD5!(bytes)],
    ["Content-Digest", async (bytes) => `sha-256=:${await SHA256!(bytes)}:`],
    [
      "Repr-Digest",
      async (bytes) => `crc32c=:AAAAAA==:, sha-512=:${await SHA512!(bytes)}:;a=1, sha-256=:${await SHA256!(other)}:`,
    ],
  ] satisfies [string, (bytes: Uint8Array<ArrayBuffer>) => Promise<string>][])(
    "%s: return 400 for other bytes and store nothing; for the right bytes 200",
    async (header, write) => {
      for (const { bytes, body, headers } of header === "Content-Digest" ? ways : casesOf(ways, 2)) {
        const { id, uploadLink } = await create(app);
        const put = async (said: Uint8Array<ArrayBuffer>) =>
          app.call(uploadLink, { method: "PUT", body: body(), headers: { ...headers, [header]: await write(said) } });
        const { message } = await expectProblem(await put(other), 400, "validation_violation", [
          { type: "invalid_header", field: header },
        ]);
        expect(message).toContain("Nothing was stored");
        expect(await keysOf(id)).toEqual([]);
        expect((await put(bytes)).status).toBe(200);
        expect(equal(await storedBytes(id), bytes)).toBe(true);
      }
    },
  );

  it("that R2 cannot check return 400 before the bytes are read", async () => {
    const { id, uploadLink } = await create(app);
    for (const [header, text] of [
      ["Content-MD5", ""],
      ["Content-MD5", "x"],
      ["Content-MD5", "1B2M2Y8AsgTpgAmY7PhC"],
      ["Content-MD5", await SHA256!(small)],
      ["Content-Digest", await SHA256!(small)],
      ["Content-Digest", `sha-256=${await SHA256!(small)}`],
      ["Content-Digest", `sha-256=:${await MD5!(small)}:`],
      ["Repr-Digest", `sha-256=:${await SHA256!(small)}:,`],
      ["Repr-Digest", ""],
    ] as const) {
      const headers = { ...withLength(3), [header]: text };
      const answer = await app.call(uploadLink, { method: "PUT", body: small, headers });
      const problem = await expectProblem(answer, 400, "validation_violation", [
        { type: "invalid_header", field: header },
      ]);
      expect(problem.message).toContain("must be like");
    }
    expect(await keysOf(id)).toEqual([]);
    // A digest with a deprecated algorithm is ignored.
    const headers = { ...withLength(3), "content-digest": `md5=:${await MD5!(other)}:` };
    expect((await app.call(uploadLink, { method: "PUT", body: small, headers })).status).toBe(200);
  });
});

describe("a part of a file", () => {
  // shows: media/upload/put-to-uploadlink
  it("returns 400 for any Content-Range and stores nothing; the link still works", async () => {
    const { id, uploadLink } = await create(app);
    for (const range of ["bytes 0-2/10", "bytes 0-2/3", "bytes */3", "", "x"]) {
      const headers = { ...withLength(3), "content-range": range };
      const answer = await app.call(uploadLink, { method: "PUT", body: bytesOf(3), headers });
      await expectProblem(answer, 400, "validation_violation", [{ type: "invalid_header", field: "Content-Range" }]);
      expect(await keysOf(id)).toEqual([]);
    }
    const whole = await app.call(uploadLink, { method: "PUT", body: bytesOf(3), headers: withLength(3) });
    expect(whole.status).toBe(200);
  });
});

describe("a wrong type", () => {
  // shows: media/upload/put-to-uploadlink
  // shows: media/upload-and-immutability/wrong-type
  it("returns 415, also if it is missing or there is an encoding", async () => {
    const { uploadLink } = await create(app, undefined, "image/png");
    const png = { "content-type": "image/png" };
    const wrong: Record<string, string>[] = [
      { "content-type": "image/jpeg" },
      {},
      { ...png, "content-encoding": "gzip" },
    ];
    for (const headers of wrong) {
      const answer = await app.call(uploadLink, { method: "PUT", body: bytesOf(3), headers });
      await expectProblem(answer, 415, "unsupported_request_content_type");
    }
  });

  it("says the default, since a misspelt member of the creation is ignored", async () => {
    const creation = await app.call("/media/v2/files", { as: principal(), json: { contentType: "image/png" } });
    const { uploadLink } = await expectJson(creation, 200);
    const headers = { "content-type": "image/png" };
    const answer = await app.call(uploadLink, { method: "PUT", body: bytesOf(3), headers });
    const { message } = await expectProblem(answer, 415, "unsupported_request_content_type");
    expect(message).toMatch(/^Send the file as binary\/octet-stream, .*default/);
  });
});

describe("a link", () => {
  it("returns 403 if any part of it is changed or missing", async () => {
    const { uploadLink, id } = await create(app, undefined, "image/png");
    const other = await create(app, undefined, "image/png");
    const changed = (name: string, value: string): string => {
      const url = new URL(uploadLink);
      url.searchParams.set(name, value);
      return url.href;
    };
    const signature = new URL(uploadLink).searchParams.get("signature")!;
    const links = [
      `/media/v2/uploads/${id}`,
      uploadLink.replace(id, other.id),
      uploadLink.replace(id, "%00"),
      changed("expires", "99999999999"),
      changed("expires", ""),
      changed("type", "text/html"),
      changed("signature", ""),
      changed("signature", `${signature}=`),
      changed("signature", signature.slice(0, -1)),
      changed(
        "signature",
        `A${signature.slice(1)}` === signature ? `B${signature.slice(1)}` : `A${signature.slice(1)}`,
      ),
      changed("signature", "\ud800\0"),
    ];
    for (const link of links) {
      const headers = { "content-type": new URL(link, "https://a.test").searchParams.get("type") ?? "image/png" };
      const answer = await app.call(link, { method: "PUT", body: "x", headers });
      const { message } = await expectProblem(answer, 403, "insufficient_permissions");
      expect(message).not.toContain(signature);
    }
    const twice = await app.call(`${uploadLink}&signature=x`, { method: "PUT", body: "x" });
    await expectProblem(twice, 400, "validation_violation", [{ type: "invalid_query_parameter", field: "signature" }]);
  });

  // shows: media/upload-creation-response/uploadlink
  // shows: media/upload-and-immutability/upload-link
  it("returns 403 an hour later", async () => {
    const late = mediaApp();
    const { uploadLink } = await create(late);
    late.clock.nowMs = START_MS + 3_600_000;
    const answer = await late.call(uploadLink, { method: "PUT", body: "x", headers: BINARY });
    const { message } = await expectProblem(answer, 403, "insufficient_permissions");
    expect(message).toContain("expired");
    late.clock.nowMs = START_MS + 3_599_999;
    expect((await late.call(uploadLink, { method: "PUT", body: "x", headers: BINARY })).status).toBe(200);
  });
});

describe("a deleted file", () => {
  it("returns 404, before its bytes arrive or during the upload", async () => {
    const as = principal();
    const before = await create(app, as);
    await app.call(`${collection()}/${before.id}`, { as, method: "DELETE" });
    const answer = await app.call(before.uploadLink, { method: "PUT", body: "x", headers: BINARY });
    await expectProblem(answer, 404, "element_resource_non_existing");

    const during = await create(app, as);
    const bucket = new Proxy(env.MEDIA, {
      get:
        (target, name) =>
        async (...args: unknown[]) => {
          const result = await (target as any)[name](...args);
          if (name !== "put") return result;
          racing.clock.nowMs += 1_000;
          // The removal deletes the bytes just before they arrive.
          await env.MEDIA.delete(`blob/${during.id}`);
          expect((await app.call(`${collection()}/${during.id}`, { as, method: "DELETE" })).status).toBe(204);
          await app.settle();
          return (target as any)[name](args[0], bytesOf(10));
        },
    });
    const racing = mediaApp({ bucket });
    const late = await racing.call(during.uploadLink, { method: "PUT", body: bytesOf(10), headers: withLength(10) });
    await expectProblem(late, 404, "element_resource_non_existing");
    expect(await keysOf(during.id)).toEqual([]);
  });
});

describe("other methods", () => {
  // shows: platform/other-origins-caches-headers/upload-and-content-addresses
  it("return 405, and the link accepts PUT from any origin", async () => {
    const { uploadLink } = await create(app);
    const got = await app.call(uploadLink);
    await expectProblem(got, 405, "unsupported_method");
    expect(got.headers.get("allow")).toBe("PUT, OPTIONS");
    const preflight = await app.call(uploadLink, { method: "OPTIONS", headers: { origin: "https://shop.example" } });
    expect([preflight.status, preflight.headers.get("access-control-allow-origin")]).toEqual([204, "*"]);
    expect(preflight.headers.get("access-control-allow-methods")).toContain("PUT");
  });
});
