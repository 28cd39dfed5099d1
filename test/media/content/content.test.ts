import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { counting } from "../../support/counting.ts";
import { encodePng, gradient } from "../../support/images.ts";
import { mediaApp, ORIGIN, START_MS } from "../support/media-app.ts";
import { principal } from "../support/principal.ts";
import { expectProblem } from "../support/problem.ts";
import { stored, uploaded, type StoredFile } from "../support/stored-file.ts";
import { expectJson } from "../../support/platform/call.ts";
import { directoryWith } from "../../support/directory.ts";
import { shardsOf } from "../../../src/platform/storage/shards.ts";
import { inShards } from "../../support/shards.ts";

const app = mediaApp();
const as = principal();
const TEXT = "0123456789abcdef";
const BYTES = new TextEncoder().encode(TEXT) as Uint8Array<ArrayBuffer>;
const LAST_MODIFIED = "Fri, 20 Nov 2026 00:00:00 GMT";
let secret: StoredFile;
let open: StoredFile;

beforeAll(async () => {
  const common = { as, type: "text/plain", disposition: 'attachment; filename="naïve \\"plan\\".txt"' };
  secret = await stored(app, BYTES, common);
  open = await stored(app, BYTES, { ...common, visibility: "public" });
});

const privateLink = async (): Promise<string> => (await expectJson(await app.call(secret.path, { as }), 200)).link;
const publicLink = async (): Promise<string> => (await app.call(open.path)).headers.get("location")!;

/** The scans that a statement may do: over its parameters, over a part with a limit, and over pending files. */
const BOUNDED_SCAN =
  /\bSCAN (json_each|value|CONSTANT|\w+ VIRTUAL TABLE|(?:page|walk)$|\(subquery-\d+\)|file USING INDEX file_pending$)/;

describe("fetching a file", () => {
  // shows: media/what-the-service-does/private-files
  // shows: media/file-link-response/link
  // shows: media/endpoints/get-p-fileid-private
  // shows: media/caching/etag
  // shows: media/caching/cache-control
  // shows: media/fetch/private
  it("returns a link to a private file that works without a token for 15 minutes", async () => {
    const answer = await app.call(secret.path, { as });
    expect(answer.headers.get("cache-control")).toBe("no-cache, private");
    expect(answer.headers.get("etag")).toBe(secret.etag);
    const body = await expectJson(answer, 200);
    expect(Object.keys(body)).toEqual(["link"]);
    expect(body.link).toContain(`${ORIGIN}/media/v2/content/${secret.id}?`);
    expect(await (await app.call(body.link)).text()).toBe(TEXT);
    const late = mediaApp();
    late.clock.nowMs = START_MS + 15 * 60_000 - 1;
    expect((await late.call(body.link)).status).toBe(200);
    late.clock.nowMs += 1;
    const { message } = await expectProblem(await late.call(body.link), 403, "insufficient_permissions");
    expect(message).toContain("expired");
  });

  // shows: media/what-the-service-does/public-files
  // shows: media/endpoints/get-p-fileid-public
  // shows: media/caching/etag
  // shows: media/caching/cache-control
  // shows: media/fetch/public
  it("redirects to a public file without a token, by a link that does not expire", async () => {
    const answer = await app.call(open.path);
    expect([answer.status, await answer.text(), answer.headers.get("content-type")]).toEqual([302, "", null]);
    expect(answer.headers.get("location")).toBe(`${ORIGIN}/media/v2/content/${open.id}`);
    expect(answer.headers.get("cache-control")).toBe("no-cache, private");
    expect(answer.headers.get("etag")).toBe(open.etag);
    const late = mediaApp();
    late.clock.nowMs = START_MS + 1000 * 86_400_000;
    expect(await (await late.call(await publicLink())).text()).toBe(TEXT);
  });

  // shows: media/endpoints/get-p-fileid-if-none-match
  // shows: media/caching/if-none-match-equal
  // shows: platform/errors-of-every-service/no-body-no-content-type
  // shows: media/fetch/if-none-match
  it("returns 304 without a body for the ETag, weak or in a list, and for *", async () => {
    for (const [path, caller] of [
      [secret.path, { as }],
      [open.path, {}],
    ] as const) {
      for (const given of [secret.etag, `W/${secret.etag}`, `"a", ${secret.etag} ,"b"`, "*"]) {
        const answer = await app.call(path, { ...caller, headers: { "if-none-match": given } });
        expect([answer.status, await answer.text(), answer.headers.get("content-type")]).toEqual([304, "", null]);
        expect(answer.headers.get("etag")).toBe(secret.etag);
        expect(answer.headers.get("cache-control")).toBe("no-cache, private");
      }
      for (const given of ['"other"', "", `"x${secret.etag.slice(1)}`]) {
        const answer = await app.call(path, { ...caller, headers: { "if-none-match": given } });
        expect(answer.status).not.toBe(304);
      }
    }
  });

  // shows: media/endpoints/get-p-fileid-tenant
  // shows: media/shapes/tenant-on-a-fetch
  it("accepts the file's own tenant; another returns 404, a malformed one 400", async () => {
    for (const [path, caller, status] of [
      [secret.path, { as }, 200],
      [open.path, {}, 302],
    ] as const) {
      expect((await app.call(`${path}?tenant=acme`, caller)).status).toBe(status);
      await expectProblem(await app.call(`${path}?tenant=globex`, caller), 404, "element_resource_non_existing");
      const bad = await app.call(`${path}?tenant=A`, caller);
      await expectProblem(bad, 400, "validation_violation", [{ type: "invalid_query_parameter", field: "tenant" }]);
    }
  });

  // shows: media/what-the-service-does/addresses
  // shows: media/endpoints/get-p-fileid-clip-crop
  // shows: platform/errors-of-every-service/details-missing_query_parameter-invalid_query_parameter
  it("returns 404 for other clients, other paths and pending files, 400 for several variants and a malformed fallback", async () => {
    const missing = [
      app.call(secret.path, { as: principal() }),
      app.call(secret.path, { as: { ...as, tenant: "globex", tenantExplicit: true } }),
      app.call(secret.path.replace("/files", "/public/files")),
      app.call(open.path.replace("/public/files", "/files"), { as }),
      app.call("/media/v2/public/files/%F0%9F%98%80"),
    ];
    for (const answer of missing) await expectProblem(await answer, 404, "element_resource_non_existing");
    for (const query of ["clip=1x1,2x2", "clip=1x1&crop=1x1"])
      await expectProblem(await app.call(`${open.path}?${query}`), 400, "validation_violation", [
        { type: "invalid_query_parameter", field: "clip" },
      ]);
    await expectProblem(await app.call(`${open.path}?fallback=1`), 400, "validation_violation", [
      { type: "invalid_query_parameter", field: "fallback" },
    ]);
  });

  // shows: media/endpoints/get-p-fileid-fallback
  it("returns 404 for an unknown variant, or the master with fallback", async () => {
    const answer = await app.call(`${open.path}?crop=10x10`);
    await expectProblem(answer, 404, "element_resource_non_existing");
    expect(answer.headers.get("retry-after")).toBeNull();
    const fallback = await app.call(`${open.path}?crop=10x10&fallback=true`);
    expect([fallback.status, fallback.headers.get("etag")]).toEqual([302, open.etag]);
    expect(fallback.headers.get("location")).toBe(await publicLink());
    await expectProblem(await app.call(`${open.path}?crop=10x10&fallback=false`), 404, "element_resource_non_existing");
  });

  // shows: media/endpoints/get-p-fileid-clip-crop
  // shows: media/endpoints/get-p-fileid-fallback
  // shows: media/caching/etag-of-a-variant
  // shows: media/caching/if-none-match-wrong
  // shows: media/fetch/variant-not-ready
  it("handles pending, ready and failed variants of both kinds; a variant has its own ETag, with fallback the master's until it is ready", async () => {
    for (const visibility of ["private", "public"] as const) {
      const found = visibility === "private" ? 200 : 302;
      const file = await stored(app, await encodePng(gradient(9, 9)), { as, visibility, query: "?crop=3x3" });
      const fetch = (query: string, etag?: string) =>
        app.call(`${file.path}?${query}`, { as, headers: etag === undefined ? {} : { "if-none-match": etag } });
      const content = `/media/v2/content/${file.id}/crop-3x3`;
      const pending = await fetch("crop=3x3");
      await expectProblem(pending, 404, "element_resource_non_existing");
      expect(pending.headers.get("retry-after")).toBe("2");
      if (visibility === "public") expect((await app.call(content)).headers.get("retry-after")).toBe("2");
      const instead = await fetch("crop=3x3&fallback=true");
      expect([instead.status, instead.headers.get("etag")]).toEqual([found, file.etag]);
      expect((await fetch("crop=3x3&fallback=true", file.etag)).status).toBe(304);

      await app.consume();
      const ready = await fetch("crop=3x3&fallback=true");
      const etag = ready.headers.get("etag")!;
      expect([ready.status, etag === file.etag]).toEqual([found, false]);
      expect((await fetch("crop=3x3", etag)).status).toBe(304);
      expect((await fetch("crop=3x3", file.etag)).status).toBe(found);
      expect((await fetch("", etag)).status).toBe(found);
      if (visibility === "public") expect((await app.call(content)).headers.get("etag")).toBe(etag);

      const broken = await stored(app, BYTES, { as, visibility, query: "?crop=3x3" });
      await app.consume();
      const failed = await app.call(`${broken.path}?crop=3x3`, { as });
      await expectProblem(failed, 404, "element_resource_non_existing");
      expect(failed.headers.get("retry-after")).toBeNull();
      expect((await app.call(`${broken.path}?crop=3x3&fallback=true`, { as })).status).toBe(found);
    }
  });
});

describe("content", () => {
  // shows: media/file/content-type
  // shows: media/caching/etag
  // shows: platform/other-origins-caches-headers/upload-and-content-addresses
  // shows: media/fetch/content
  // shows: media/fetch/content-headers
  // shows: media/fetch/public-content
  it("returns 200 with the bytes and every header; HEAD returns the headers", async () => {
    for (const [link, cacheControl] of [
      [await privateLink(), "private, no-store"],
      [await publicLink(), "public, max-age=300"],
    ] as const)
      for (const method of ["GET", "HEAD"]) {
        const answer = await app.call(link, { method });
        expect([answer.status, await answer.text()]).toEqual([200, method === "GET" ? TEXT : ""]);
        expect(Object.fromEntries(answer.headers)).toMatchObject({
          "content-type": "text/plain",
          "content-length": "16",
          etag: secret.etag,
          "last-modified": LAST_MODIFIED,
          "cache-control": cacheControl,
          "accept-ranges": "bytes",
          "content-disposition": `inline; filename="na_ve _plan_.txt"; filename*=UTF-8''na%C3%AFve%20%22plan%22.txt`,
          "content-security-policy": "sandbox",
          "x-content-type-options": "nosniff",
          "access-control-allow-origin": "*",
        });
      }
  });

  // shows: media/fetch/content-headers
  it("is a download if a browser would run it", async () => {
    for (const type of [
      "text/html",
      "image/svg+xml",
      "application/xhtml+xml",
      "text/xml",
      "text/javascript",
      "Text/HTML; charset=utf-8",
      "x/y",
    ]) {
      const file = await stored(app, BYTES, { as, type, visibility: "public" });
      const answer = await app.call(`/media/v2/content/${file.id}`, { method: "HEAD" });
      expect([answer.headers.get("content-type"), answer.headers.get("content-disposition")]).toEqual([
        type,
        "attachment",
      ]);
    }
  });

  // shows: media/fetch/content
  it.each([
    ["bytes=0-3", 206, "0123", "bytes 0-3/16"],
    ["bytes=4-", 206, "456789abcdef", "bytes 4-15/16"],
    ["bytes=-3", 206, "def", "bytes 13-15/16"],
    ["bytes=-99", 206, TEXT, "bytes 0-15/16"],
    ["bytes=15-999999999999999999999", 206, "f", "bytes 15-15/16"],
    ["bytes=3-2", 200, TEXT, null],
    ["bytes=0-3,3-4", 200, TEXT, null],
    ["lines=0-1", 200, TEXT, null],
    ["bytes=", 200, TEXT, null],
  ])("serves Range %s with %i", async (range, status, text, contentRange) => {
    const answer = await app.call(await publicLink(), { headers: { range } });
    expect([answer.status, await answer.text(), answer.headers.get("content-range")]).toEqual([
      status,
      text,
      contentRange,
    ]);
    expect(answer.headers.get("content-length")).toBe(String(text.length));
    expect(answer.headers.get("etag")).toBe(open.etag);
    const head = await app.call(await publicLink(), { method: "HEAD", headers: { range } });
    expect([head.status, head.headers.get("content-length")]).toEqual([200, "16"]);
  });

  // shows: media/fetch/content
  it("returns 416 with the size for a range beyond the end", async () => {
    for (const range of ["bytes=16-", "bytes=99999999999999999999-", "bytes=-0"]) {
      const answer = await app.call(await publicLink(), { headers: { range } });
      await expectProblem(answer, 416, "range_not_satisfiable");
      expect(answer.headers.get("content-range")).toBe("bytes */16");
    }
  });

  it("evaluates conditions as RFC 9110 orders them", async () => {
    const link = await publicLink();
    const [before, after] = ["Thu, 19 Nov 2026 23:59:59 GMT", "Fri, 20 Nov 2026 00:00:01 GMT"];
    const { etag } = open;
    const cases: [Record<string, string>, number][] = [
      [{ "if-none-match": etag }, 304],
      [{ "if-none-match": `W/${etag}` }, 304],
      [{ "if-none-match": '"x"' }, 200],
      [{ "if-modified-since": LAST_MODIFIED }, 304],
      [{ "if-modified-since": before }, 200],
      [{ "if-modified-since": "yesterday" }, 200],
      [{ "if-none-match": '"x"', "if-modified-since": after }, 200],
      [{ "if-match": etag }, 200],
      [{ "if-match": "*" }, 200],
      [{ "if-match": `"x", ${etag}` }, 200],
      [{ "if-match": `W/${etag}` }, 412],
      [{ "if-match": '"x"' }, 412],
      [{ "if-unmodified-since": before }, 412],
      [{ "if-unmodified-since": LAST_MODIFIED }, 200],
      [{ "if-match": etag, "if-unmodified-since": before }, 200],
      [{ "if-match": '"x"', "if-none-match": etag }, 412],
      [{ "if-match": etag, "if-none-match": etag }, 304],
      [{ "if-none-match": etag, range: "bytes=99-" }, 304],
      [{ "if-range": etag, range: "bytes=0-1" }, 206],
      [{ "if-range": `W/${etag}`, range: "bytes=0-1" }, 200],
      [{ "if-range": '"x"', range: "bytes=0-1" }, 200],
      [{ "if-range": '"x"', range: "bytes=99-" }, 200],
      [{ "if-range": LAST_MODIFIED, range: "bytes=0-1" }, 206],
      [{ "if-range": before, range: "bytes=0-1" }, 200],
    ];
    for (const [headers, status] of cases)
      for (const method of ["GET", "HEAD"]) {
        const answer = await app.call(link, { method, headers });
        const text = await answer.text();
        expect([headers, answer.status]).toEqual([headers, method === "HEAD" && status === 206 ? 200 : status]);
        if (status === 412 && method === "GET") expect(JSON.parse(text)).toMatchObject({ type: "precondition_failed" });
        if (status === 304) expect([text, answer.headers.get("content-type")]).toEqual(["", null]);
      }
  });

  it("serves an empty file", async () => {
    const file = await stored(app, new Uint8Array(0), { as, type: "text/plain", visibility: "public" });
    const link = `/media/v2/content/${file.id}`;
    const answer = await app.call(link);
    expect([answer.status, answer.headers.get("content-length"), await answer.text()]).toEqual([200, "0", ""]);
    await expectProblem(await app.call(link, { headers: { range: "bytes=0-0" } }), 416, "range_not_satisfiable");
  });

  it("returns the same 404 and 403 for private and unknown files; no link opens another file or variant", async () => {
    const link = await privateLink();
    const { search } = new URL(link);
    for (const path of [
      secret.id,
      "0123456789abcdef01234567",
      `${secret.id}/clip-10x10`,
      `${open.id}/clip-0x1`,
      `${open.id}/clip-10x10`,
      `${open.id}/x`,
    ])
      await expectProblem(await app.call(`/media/v2/content/${path}`), 404, "element_resource_non_existing");
    for (const path of [open.id, "0123456789abcdef01234567", `${secret.id}/clip-10x10`])
      await expectProblem(await app.call(`/media/v2/content/${path}${search}`), 403, "insufficient_permissions");
    for (const [from, to] of [
      ["expires=1", "expires=2"],
      ["signature=", "signature=A"],
      [/&signature=.*/, ""],
    ] as const)
      await expectProblem(await app.call(link.replace(from, to)), 403, "insufficient_permissions");
  });

  // shows: platform/deployment-variables/content_url
  // shows: media/fetch/content_url
  it("is served on an origin of its own, behind the path prefix", async () => {
    const apart = mediaApp({ contentUrl: "https://content.test", pathPrefix: "/hybris" });
    const answer = await apart.call(`/hybris${open.path}`);
    expect(answer.headers.get("location")).toBe(`https://content.test/hybris/media/v2/content/${open.id}`);
    const { link } = await expectJson(await apart.call(`/hybris${secret.path}`, { as }), 200);
    expect(link).toContain(`https://content.test/hybris/media/v2/content/${secret.id}?`);
    expect(await (await apart.call(link)).text()).toBe(TEXT);
  });
});

describe("content without storage", () => {
  // shows: platform/errors-of-every-service/503-service_temporarily_unavailable
  it("returns 503 with Retry-After", async () => {
    const get = () => Promise.reject(new Error("injected: get: internal error (10001)"));
    const broken = mediaApp({ bucket: { get } as unknown as R2Bucket, edgeCache: undefined });
    for (const [link, range] of [
      [await privateLink(), "bytes=0-"],
      [await publicLink(), "bytes=0-1"],
      [await publicLink(), "bytes=0-1,5-6"],
    ] as const) {
      const answer = await broken.call(link, { headers: { range } });
      await expectProblem(answer, 503, "service_temporarily_unavailable");
      expect(answer.headers.get("retry-after")).toMatch(/^([5-9]|10)$/);
    }
  });
});

describe("the cost", () => {
  inShards(
    "is one D1 round trip for a fetch and one R2 operation more for content; upload and commit stay within theirs",
    async () => {
      const { env: counted, tally, reset } = counting(env);
      // edge-cache.test.ts counts the cost of copies.
      const costed = mediaApp({ shards: shardsOf(counted), bucket: counted.MEDIA, edgeCache: undefined });
      const cost = async (work: () => Promise<Response>) => {
        reset();
        await (await work()).text();
        return { d1: tally.d1RoundTrips, statements: tally.d1Statements, r2: tally.r2Operations };
      };
      const [link, direct] = [await privateLink(), await publicLink()];
      const etag = { "if-none-match": open.etag };
      expect(await cost(() => costed.call(secret.path, { as }))).toEqual({ d1: 1, statements: 1, r2: {} });
      expect(await cost(() => costed.call(`${secret.path}?clip=1x1&fallback=true`, { as }))).toEqual({
        d1: 1,
        statements: 1,
        r2: {},
      });
      expect(await cost(() => costed.call(open.path))).toEqual({ d1: 1, statements: 1, r2: {} });
      expect(await cost(() => costed.call(open.path, { headers: etag }))).toEqual({ d1: 1, statements: 1, r2: {} });
      expect(await cost(() => costed.call(link))).toEqual({ d1: 1, statements: 1, r2: { get: 1 } });
      expect(await cost(() => costed.call(direct, { headers: { range: "bytes=0-1" } }))).toEqual({
        d1: 1,
        statements: 1,
        r2: { get: 1 },
      });
      expect(await cost(() => costed.call(direct, { headers: etag }))).toEqual({ d1: 1, statements: 1, r2: {} });
      expect(await cost(() => costed.call(direct, { method: "HEAD" }))).toEqual({ d1: 1, statements: 1, r2: {} });
      expect(await cost(() => costed.call(link.replace("expires=1", "expires=2")))).toEqual({
        d1: 0,
        statements: 0,
        r2: {},
      });
      for (const path of ["/media/v2/content/robots.txt", "/media/v2/public/files/wp-login.php"])
        expect([await cost(() => costed.call(path)), (await costed.call(path)).status]).toEqual([
          { d1: 0, statements: 0, r2: {} },
          404,
        ]);
    },
  );

  it("of a fetch is three rows by index, however many files are stored", async () => {
    const picture = await encodePng(gradient(8, 8));
    const file = await stored(app, picture, { as, query: "?clip=4x4" });
    const read: number[] = [];
    const db = {
      prepare: (sql: string) => ({
        bind: (...values: unknown[]) => ({
          async first() {
            const result = await env.DB.prepare(sql)
              .bind(...values)
              .all();
            read.push(result.meta.rows_read);
            return result.results[0] ?? null;
          },
        }),
      }),
    } as unknown as D1Database;
    await mediaApp({ db }).call(`${file.path}?clip=4x4&fallback=true`, { as });
    expect(read).toHaveLength(1);
    expect(read[0]).toBeLessThanOrEqual(4);
  });

  it("stays low because every statement finds its rows by an index", async () => {
    const statements = new Set<string>();
    const db = directoryWith({
      prepare(sql) {
        statements.add(sql);
        return env.DB.prepare(sql);
      },
    });
    const recorded = mediaApp({ db });
    const picture = await encodePng(gradient(20, 20));
    const file = await stored(recorded, picture, { as, query: "?clip=5x5,6x6" });
    await expectJson(await recorded.call(file.commitLink, { as, method: "POST" }), 202);
    await recorded.consume();
    await recorded.call(`${file.path}?clip=5x5`, { as });
    await recorded.call(`${file.path}/metadata`, { as });
    await recorded.call(`${file.path}/metadata`, { as, method: "PUT", json: {} });
    await recorded.call(`${file.path}/variants?crop=5x5`, { as, method: "POST" });
    await recorded.consume({ dead: true });
    await recorded.call(`${file.path}/variants?clip=5x5`, { as, method: "DELETE" });
    await recorded.call(`${file.path}/variants?clip=7x7`, { as, method: "POST" });
    await uploaded(recorded, picture, { as });
    await recorded.media.sweep(START_MS + 86_400_000);
    await recorded.call(file.path, { as, method: "DELETE" });
    await recorded.settle();
    await recorded.media.sweep(START_MS + 2 * 86_400_000);
    await recorded.media.usage("acme");

    // test/statements.test.ts explains the statements of the other operations.
    expect(statements.size).toBeGreaterThan(50);
    for (const sql of statements) {
      const parameters = Math.max(...[...sql.matchAll(/\?(\d+)/g)].map(([, index]) => Number(index)));
      const values = Array.from({ length: parameters }, () => null);
      const explained = env.DB.prepare(`EXPLAIN QUERY PLAN ${sql}`).bind(...values);
      const plan = await explained.all<{ detail: string }>();
      const scans = plan.results
        .map(({ detail }) => detail)
        .filter((detail) => /\bSCAN /.test(detail) && !BOUNDED_SCAN.test(detail));
      expect([sql, scans]).toEqual([sql, []]);
    }
  });
});
