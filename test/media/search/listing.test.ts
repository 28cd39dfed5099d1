import LinkHeader from "http-link-header";
import parseLinkHeader from "parse-link-header";
import { describe, expect, it } from "vitest";
import { encodePng, gradient } from "../../support/images.ts";
import { mediaApp, ORIGIN, type MediaCall } from "../support/media-app.ts";
import { testPlacement } from "../support/placement.ts";
import { principal } from "../support/principal.ts";
import { expectProblem } from "../support/problem.ts";
import { collection, stored, uploaded } from "../support/stored-file.ts";
import { expectJson } from "../../support/platform/call.ts";
import { addFiles, makeOwner, type PlainFile } from "./listing-files.ts";
import { shardDb } from "../../support/shards.ts";

const app = mediaApp();
/** The database of the only tenant of these tests. */
const db = shardDb(await testPlacement.shardOf("acme", 0));
const PICTURE = await encodePng(gradient(8, 8));

const listPath = (query = "", visibility: "private" | "public" = "private") =>
  `${collection(visibility)}?tenant=acme${query}`;
const idsOf = async (as: MediaCall["as"], query = ""): Promise<string[]> =>
  (await expectJson<{ id: string }[]>(await app.call(listPath(query), { as }), 200)).map(({ id }) => id);
const nextOf = (answer: Response): string | undefined =>
  parseLinkHeader(answer.headers.get("link") ?? "")?.["next"]?.url;

describe("a listing", () => {
  // shows: media/file/fields-in-a-listing
  // shows: media/endpoints/get-p
  // shows: media/endpoints/public-operations
  // shows: media/shapes/file
  it("shows the whole file: a link only on public ones, variants as in their own list, metadata as sent", async () => {
    const as = principal();
    const text = `{"n": 1.50e2,\n "a":"\\u00e4", "a": 12345678901234567890}`;
    for (const visibility of ["private", "public"] as const) {
      const file = await uploaded(app, PICTURE, {
        as,
        visibility,
        query: "?clip=4x4&crop=2x2",
        disposition: 'attachment; filename="a \\"b\\".png"',
      });
      app.clock.nowMs += 5000;
      const headers = { "content-type": "application/json" };
      await expectJson(await app.call(file.commitLink, { method: "POST", as, body: text, headers }), 202);
      await app.consume();
      const answer = await app.call(listPath("", visibility), { as });
      expect(answer.headers.get("content-type")).toBe("application/json");
      expect(answer.headers.get("cache-control")).toBe("no-cache, private");
      const body = await answer.text();
      expect(body).toContain(`"metadata":${text},`);
      const variants = await expectJson(await app.call(`${file.path}/variants`, { as }), 200);
      expect(variants.map(({ state }: { state: string }) => state)).toEqual(["ready", "ready"]);
      const shape = {
        id: file.id,
        "Content-Type": "image/png",
        size: PICTURE.byteLength,
        etag: file.etag,
        fileName: 'a "b".png',
        tenant: "acme",
        createdAt: app.clock.nowMs - 5000,
        committedAt: app.clock.nowMs,
        metadata: JSON.parse(text) as unknown,
        variants,
      };
      const link = `${ORIGIN}/media/v2/content/${file.id}`;
      expect(JSON.parse(body)).toEqual([visibility === "public" ? { ...shape, link } : shape]);
      expect((await app.call(link)).status).toBe(visibility === "public" ? 200 : 404);
    }
  });

  // shows: media/what-the-service-does/apart-per-client-and-tenant
  // shows: media/endpoints/get-p
  it("has only committed files of the caller's client, tenant and visibility, or is empty", async () => {
    const as = principal();
    expect(await idsOf(as)).toEqual([]);
    const mine = await stored(app, PICTURE, { as, metadata: { a: 1 } });
    await uploaded(app, PICTURE, { as });
    await stored(app, PICTURE, { as, visibility: "public", metadata: { a: 1 } });
    await stored(app, PICTURE, { as: principal(), metadata: { a: 1 } });
    for (const query of ["", "&q=a:1", "&sort=a", "&q=a:1&sort=a:desc", "&content-type=image/png"])
      expect([query, await idsOf(as, query)]).toEqual([query, [mine.id]]);
    await app.call(mine.path, { as, method: "DELETE" });
    for (const query of ["", "&q=a:1", "&sort=a", "&sort=b"]) expect(await idsOf(as, query)).toEqual([]);
  });

  // shows: media/what-the-service-does/one-token-for-all-tenants
  // shows: media/ownership/a-token-without-a-named-tenant
  it("is available to a service's client for each tenant that it may act for", async () => {
    const as = principal({ tenant: "home" });
    app.actsFor.add(`${as.clientId} acme`);
    const committed = await uploaded(app, PICTURE, { as });
    await expectJson(await app.call(`${committed.commitLink}?tenant=acme`, { as, method: "POST" }), 202);
    expect(await idsOf(as)).toEqual([committed.id]);
    expect(await expectJson(await app.call(`${collection()}?tenant=home`, { as }), 200)).toEqual([]);
  });

  // shows: media/file/metadata
  // shows: media/endpoints/put-p-fileid-metadata
  it("follows an update of the metadata in search and order", async () => {
    const as = principal();
    const many = Object.fromEntries(Array.from({ length: 80 }, (_, at) => [`k${at}`, `v${at}`]));
    const file = await stored(app, PICTURE, { as, metadata: { color: "red", ...many } });
    const other = await stored(app, PICTURE, { as, metadata: { color: "green" } });
    expect(await idsOf(as, "&q=color:red k79:v79")).toEqual([file.id]);
    await expectJson(await app.call(`${file.path}/metadata`, { as, method: "PUT", json: { color: "blue" } }), 200);
    expect(await idsOf(as, "&q=color:red")).toEqual([]);
    expect(await idsOf(as, "&q=k79:v79")).toEqual([]);
    expect(await idsOf(as, "&q=k1:v1")).toEqual([]);
    expect(await idsOf(as, "&q=color:blue")).toEqual([file.id]);
    expect(await idsOf(as, "&sort=color")).toEqual([file.id, other.id]);
    const rows = await db.prepare("SELECT key, value FROM attribute WHERE file_id = ?").bind(file.id).all();
    expect(rows.results).toHaveLength(3);
    const foreign = principal();
    await expectProblem(
      await app.call(`${file.path}/metadata`, { as: foreign, method: "PUT", json: { color: "x" } }),
      404,
      "element_resource_non_existing",
    );
    expect(await idsOf(as, "&q=color:blue")).toEqual([file.id]);
  });

  // shows: media/query/numbers-and-booleans
  it("finds numbers as they were written, and sorts long ones, which stay distinct, by their value", async () => {
    const as = principal();
    const ids: string[] = [];
    for (const id of ["12345678901234567891", "12345678901234567890", "1234567890123456789", "7.50", "1e3"]) {
      const file = await uploaded(app, PICTURE, { as });
      const headers = { "content-type": "application/json" };
      await expectJson(await app.call(file.commitLink, { method: "POST", as, body: `{"id":${id}}`, headers }), 202);
      ids.push(file.id);
    }
    const found = async (id: string) => (await idsOf(as, `&q=id:${id}`)).map((of) => ids.indexOf(of));
    expect(await found("12345678901234567890")).toEqual([1]);
    expect(await found("12345678901234567891")).toEqual([0]);
    // JavaScript reads both numbers as this one.
    expect(await found("12345678901234567000")).toEqual([]);
    expect(await found("1234567890123456789")).toEqual([2]);
    expect([await found("7.50"), await found("7.5"), await found("1e3"), await found("1000")]).toEqual([
      [3],
      [3],
      [4],
      [4],
    ]);
    // JavaScript reads the two longest as one number, so the ids decide the order.
    const alike = [0, 1].toSorted((a, b) => (ids[a]! < ids[b]! ? -1 : 1));
    for (const [order, expected] of [
      ["id", [3, 4, 2, ...alike]],
      ["id:desc", [...alike, 2, 4, 3]],
      ["id,x", [3, 4, 2, ...alike]],
    ] as const) {
      const seen: number[] = [];
      let path: string | undefined = listPath(`&sort=${order}&pageSize=1`);
      while (path !== undefined && seen.length < 9) {
        const answer: Response = await app.call(path, { as });
        for (const { id } of await expectJson<{ id: string }[]>(answer, 200)) seen.push(ids.indexOf(id));
        path = nextOf(answer);
      }
      expect([order, seen]).toEqual([order, expected]);
    }
  });

  it("finds each of 2500 attributes of a file; more are refused and change nothing", async () => {
    const as = principal();
    const values = (count: number) => ({ a: Array.from({ length: count }, (_, at) => at) });
    const file = await uploaded(app, PICTURE, { as });
    const commit = (json: unknown) => app.call(file.commitLink, { method: "POST", as, json });
    const replace = (json: unknown) => app.call(`${file.path}/metadata`, { method: "PUT", as, json });
    const refused = [{ type: "too_many_attributes" }];
    await expectProblem(await commit(values(2501)), 400, "business_error", refused);
    await expectJson(await commit(values(2500)), 202);
    expect(await idsOf(as, "&q=a:0 a:2499")).toEqual([file.id]);
    expect(await idsOf(as, "&q=a:2500")).toEqual([]);
    await expectProblem(await replace(values(2501)), 400, "business_error", refused);
    expect(await idsOf(as, "&q=a:0 a:2499&sort=a")).toEqual([file.id]);
    await expectJson(await replace(values(100)), 200);
    expect(await idsOf(as, "&q=a:99")).toEqual([file.id]);
    expect(await idsOf(as, "&q=a:2499")).toEqual([]);
    // Repeated values are one attribute.
    await expectJson(await replace({ a: Array(3000).fill(1) }), 200);
  });
});

describe("paging", () => {
  // shows: media/what-the-service-does/listing-and-filtering
  // shows: media/endpoints/get-p-pagesize-pagenumber
  // shows: media/endpoints/get-p-link
  // shows: platform/paging/link
  // shows: platform/paging/jumping-by-pagenumber
  it("has Links that two parsers agree on: self always, prev and next if there is such a page, with all parameters", async () => {
    const { caller, ownerId } = await makeOwner(db);
    const as = principal({ clientName: caller.client });
    await addFiles(ownerId, plainFiles(5), db);
    const query = `&q=${encodeURIComponent('kind:"a, b; c"')}&sort=n:desc&pageSize=2`;
    const pages: string[][] = [];
    let path: string | undefined = listPath(query);
    while (path !== undefined) {
      const answer: Response = await app.call(path, { as });
      pages.push((await expectJson<{ id: string }[]>(answer, 200)).map(({ id }) => id));
      const [one, other] = [readLinks(answer), LinkHeader.parse(answer.headers.get("link") ?? "")];
      expect(other.refs.map(({ rel }) => rel).sort()).toEqual(Object.keys(one).sort());
      for (const { rel, uri } of other.refs) expect(one[rel]).toBe(uri);
      expect(Object.keys(one).sort()).toEqual(
        ["self", ...(pages.length > 1 ? ["prev"] : []), ...(pages.length < 3 ? ["next"] : [])].sort(),
      );
      for (const uri of Object.values(one)) {
        const { searchParams } = new URL(uri);
        expect(searchParams.get("q")).toBe('kind:"a, b; c"');
        expect(searchParams.get("sort")).toBe("n:desc");
      }
      path = one["next"];
    }
    expect(pages.map(({ length }) => length)).toEqual([2, 2, 1]);
    const jumped = await app.call(listPath(`${query}&pageNumber=2`), { as });
    expect((await expectJson<{ id: string }[]>(jumped, 200)).map(({ id }) => id)).toEqual(pages[1]);
  });

  // shows: platform/paging/link
  it.each(["", "&q=all:x", "&q=few:x", "&sort=n", "&sort=n:desc,all", "&q=few:x&sort=n", "&q=all:none"])(
    "%s: has prev beyond the last page if the page before has files",
    async (query) => {
      const { caller, ownerId } = await makeOwner(db);
      const as = principal({ clientName: caller.client });
      const metadata = (at: number) => ({ n: at, all: "x", few: at < 10 ? "x" : "y" });
      await addFiles(
        ownerId,
        plainFiles(12).map((file, at) => ({ ...file, metadata: metadata(at) })),
        db,
      );
      const lastPage = query.includes("none") ? 0 : 3;
      const relsOf = async (pageNumber: number, pageSize = 4) => {
        const answer = await app.call(listPath(`${query}&pageSize=${pageSize}&pageNumber=${pageNumber}`), { as });
        const { length } = await expectJson<unknown[]>(answer, 200);
        return [length > 0, ...Object.keys(readLinks(answer)).sort()];
      };
      expect(await relsOf(lastPage + 1)).toEqual([false, ...(lastPage > 0 ? ["prev"] : []), "self"]);
      for (const pageNumber of [lastPage + 2, 100]) expect(await relsOf(pageNumber)).toEqual([false, "self"]);
      expect(await relsOf(2, 12)).toEqual(lastPage > 0 ? [false, "prev", "self"] : [false, "self"]);
    },
  );

  // shows: platform/paging/link
  it("has prev on a page that became empty only if it leads somewhere", async () => {
    const narrow = mediaApp({ queryRowBudget: 120 });
    const { caller, ownerId } = await makeOwner(db);
    const as = principal({ clientName: caller.client });
    const files = plainFiles(80);
    await addFiles(ownerId, files, db);
    const nextTimes = async (count: number): Promise<string> => {
      let path = listPath("&pageSize=2");
      for (let at = 0; at < count; at++) path = nextOf(await narrow.call(path, { as }))!;
      return path;
    };
    const emptied = { early: await nextTimes(3), late: await nextTimes(39) };
    const ids = files.map(({ id }) => id).sort();
    const remove = (id: string) =>
      db.prepare("UPDATE file SET state = 'removed', removed_at = 0 WHERE id = ?").bind(id).run();
    for (const id of ids.slice(78)) await remove(id);
    const late = await narrow.call(emptied.late, { as });
    expect(await expectJson(late, 200)).toEqual([]);
    expect(Object.keys(readLinks(late))).toEqual(["self"]);
    for (const id of ids.slice(6)) await remove(id);
    const early = await narrow.call(emptied.early, { as });
    expect(await expectJson(early, 200)).toEqual([]);
    const prev = await narrow.call(readLinks(early)["prev"]!, { as });
    expect((await expectJson<{ id: string }[]>(prev, 200)).map(({ id }) => id)).toEqual(ids.slice(4, 6));
  });

  // shows: media/endpoints/get-p-link
  // shows: platform/paging/following-next
  it.each(["", "&sort=n", "&sort=n:desc", "&sort=n:desc,kind", "&q=kind:x", "&q=kind:x&sort=n", "&sort=some"])(
    "%s: skips and repeats no file while files come and go",
    async (query) => {
      const { caller, ownerId } = await makeOwner(db);
      const as = principal({ clientName: caller.client });
      const files = plainFiles(60).map((file, at) => ({
        ...file,
        metadata: { n: (at * 7) % 5, kind: "x", ...(at % 3 === 0 ? { some: at % 2 } : {}) },
      }));
      await addFiles(ownerId, files, db);
      const [gone, staying] = [files.filter((_, at) => at % 4 === 1), files.filter((_, at) => at % 4 !== 1)];
      const seen: string[] = [];
      let path: string | undefined = listPath(`${query}&pageSize=7`);
      for (let page = 0; path !== undefined; page++) {
        const answer: Response = await app.call(path, { as });
        seen.push(...(await expectJson<{ id: string }[]>(answer, 200)).map(({ id }) => id));
        path = nextOf(answer);
        const removed = gone.splice(0, 2).map(({ id }) => id);
        for (const id of removed)
          await db.prepare("UPDATE file SET state = 'removed', removed_at = 0 WHERE id = ?").bind(id).run();
        if (page < 6)
          await addFiles(
            ownerId,
            plainFiles(2).map((file, at) => ({ ...file, metadata: { n: (page + at) % 5, kind: "x" } })),
            db,
          );
      }
      expect(new Set(seen).size).toBe(seen.length);
      expect(staying.filter(({ id }) => !seen.includes(id))).toEqual([]);
    },
  );
});

describe("an error", () => {
  const as = principal();

  // shows: media/endpoints/get-p
  // shows: platform/errors-of-every-service/details-missing_query_parameter-invalid_query_parameter
  it("is returned for a missing, malformed or unreachable tenant", async () => {
    const missing = [{ type: "missing_query_parameter", field: "tenant" }];
    await expectProblem(await app.call(collection(), { as }), 400, "validation_violation", missing);
    const invalid = [{ type: "invalid_query_parameter", field: "tenant" }];
    for (const tenant of ["", "A", "a'--", "acme,acme"])
      await expectProblem(
        await app.call(`${collection()}?tenant=${encodeURIComponent(tenant)}`, { as }),
        400,
        "validation_violation",
        invalid,
      );
    await expectProblem(await app.call(`${collection()}?tenant=other`, { as }), 404, "element_resource_non_existing");
  });

  // shows: media/endpoints/get-p-q
  // shows: media/query-rules-for-q/no-or-no-not
  // shows: media/query/20-terms
  // shows: media/query/malformed
  it("describes the mistake and its place in q, content-type and sort", async () => {
    const said: [string, string, string][] = [
      ["q", "red", "q needs key:value at character 1."],
      ["q", "color:", "q needs a value at the end."],
      ["q", ":red", "q needs a key at character 1."],
      ["q", "a:1 OR b:2", "q needs key:value at character 5, or quotation marks around a value with spaces before it."],
      ["q", 'a:"red', "q leaves the quotation mark at character 3 open."],
      ["q", 'a:"red"b', "q needs a space before character 8."],
      ["q", 'a:r"ed"', "q needs a space before character 4."],
      ["q", "a:b:c", "q needs quotation marks around the value at character 3, since it has a colon."],
      ["q", Array.from({ length: 21 }, (_, at) => `k${at}:1`).join(" "), "q has more than 20 terms."],
      ["content-type", "", "content-type must be content types such as image/png, separated by commas."],
      ["content-type", "png", "content-type must be content types such as image/png, separated by commas."],
      ["sort", "a:up", "sort needs name:asc or name:desc, separated by commas, at character 1."],
      ["sort", "a,,b", "sort needs the name of an attribute at character 3."],
      ["sort", "a,b,c,d,e", "sort names more than 4 attributes."],
    ];
    for (const [field, text, message] of said) {
      const answer = await app.call(listPath(`&${field}=${encodeURIComponent(text)}`), { as });
      const problem = await expectProblem(answer, 400, "validation_violation", [
        { type: "invalid_query_parameter", field },
      ]);
      expect(problem.message).toBe(message);
    }
  });

  // shows: media/endpoints/get-p-pagesize-pagenumber
  // shows: media/limits/page-size
  // shows: platform/errors-of-every-service/details-out_of_range_parameter
  // shows: platform/paging/else
  it("is returned for malformed pages, not for cursors of another order", async () => {
    for (const [name, value] of [
      ["pageSize", "0"],
      ["pageSize", "1001"],
      ["pageSize", "x"],
      ["pageNumber", "-1"],
    ])
      await expectProblem(await app.call(listPath(`&${name}=${value}`), { as }), 400, "validation_violation", [
        { type: "out_of_range_parameter", field: name! },
      ]);
    const cursorOf = (parts: unknown) => btoa(JSON.stringify(parts)).replaceAll("=", "");
    for (const cursor of [
      "x",
      "!",
      "",
      cursorOf([]),
      cursorOf(["a", "b"]),
      cursorOf([1]),
      cursorOf({}),
      cursorOf([[]]),
    ])
      await expectProblem(await app.call(listPath(`&cursor=${cursor}`), { as }), 400, "validation_violation", [
        { type: "invalid_query_parameter", field: "cursor" },
      ]);
    // A cursor of another order does no harm and shows nothing of others.
    expect(await idsOf(as, `&sort=a&cursor=${cursorOf(["' OR 1=1", "x"])}`)).toEqual([]);
  });

  // shows: platform/errors-of-every-service/400-business_error
  // shows: media/query/row-budget
  it("is returned for a query that reads too many files, by terms alone and in an order", async () => {
    const narrow = mediaApp({ queryRowBudget: 140 });
    const { caller, ownerId } = await makeOwner(db);
    const owned = principal({ clientName: caller.client });
    await addFiles(
      ownerId,
      plainFiles(80).map((file, at) => ({ ...file, metadata: { half: at < 40 ? 0 : 1, third: at < 40 ? 1 : 0, at } })),
      db,
    );
    for (const [query, advice] of [
      ["&q=half:1 third:1", /Add a term/],
      ["&q=half:1 third:1&sort=at", /Leave out sort, or add a term/],
      ["&sort=half,at&pageSize=5", /Leave out sort/],
      ["&pageNumber=5", /follow the next links/],
      ["&sort=at&pageNumber=5", /follow the next links/],
    ] as const) {
      const answer = await narrow.call(listPath(query), { as: owned });
      const { message } = await expectProblem(answer, 400, "business_error", [{ type: "query_too_broad" }]);
      expect(message).toMatch(advice);
    }
    for (const query of ["&pageSize=10", "&sort=at:desc&pageSize=10", "&q=half:1&pageSize=5", "&q=half:1 third:1 at:3"])
      expect((await narrow.call(listPath(query), { as: owned })).status).toBe(200);
  });

  it.each([
    "",
    "&sort=at",
    "&sort=at:desc",
    "&sort=eighth,at",
    "&q=all:x",
    "&q=all:x&sort=at",
    "&q=all:x half:1",
    "&q=few:x&sort=at",
  ])("%s: does not occur on prev, which is left out if it would be too far in", async (query) => {
    const narrow = mediaApp({ queryRowBudget: query.includes("half") ? 400 : 120 });
    const { caller, ownerId } = await makeOwner(db);
    const owned = principal({ clientName: caller.client });
    const few = (at: number) => (at % 40 === 0 ? { few: "x" } : {});
    const metadata = (at: number) => ({ at, all: "x", half: at % 2, eighth: Math.floor(at / 8), ...few(at) });
    await addFiles(
      ownerId,
      plainFiles(80).map((file, at) => ({ ...file, metadata: metadata(at) })),
      db,
    );
    const prevs: boolean[] = [];
    let path: string | undefined = listPath(`${query}&pageSize=2`);
    while (path !== undefined) {
      const answer: Response = await narrow.call(path, { as: owned });
      await expectJson(answer, 200);
      const links = readLinks(answer);
      const prev = links["prev"] === undefined ? undefined : await narrow.call(links["prev"], { as: owned });
      if (prev !== undefined) expect(await expectJson<unknown[]>(prev, 200)).toHaveLength(2);
      prevs.push(prev !== undefined);
      path = links["next"];
    }
    if (!query.includes("few")) expect(prevs).toHaveLength(query.includes("half") ? 20 : 40);
    // Page 1 has no prev, the next pages have one, and pages beyond the reach of a number have none.
    expect(prevs.indexOf(true)).toBe(prevs.length > 1 ? 1 : -1);
    expect(prevs.slice(prevs.lastIndexOf(true) + 1)).not.toContain(true);
    expect(prevs.at(-1)).toBe(false);
  });

  // shows: media/authentication/authorization-bearer
  it("is 403 for a token without a client", async () => {
    const nobody = principal({ clientName: "" });
    await expectProblem(await app.call(listPath(), { as: nobody }), 403, "insufficient_permissions");
  });
});

const plainFiles = (count: number): PlainFile[] =>
  Array.from({ length: count }, (_, at) => ({
    id: [...crypto.getRandomValues(new Uint8Array(12))].map((byte) => byte.toString(16).padStart(2, "0")).join(""),
    metadata: { n: at, kind: "a, b; c" },
    type: "image/png",
  }));

const readLinks = (answer: Response): Record<string, string> =>
  Object.fromEntries(
    Object.entries(parseLinkHeader(answer.headers.get("link") ?? "") ?? {}).map(([rel, link]) => [rel, link.url]),
  );

describe("a query over HTTP", () => {
  // shows: media/endpoints/get-p-q
  // shows: media/endpoints/get-p-content-type
  // shows: media/endpoints/get-p-sort
  // shows: media/sorting/content-type-and-attributes
  // shows: media/sorting/name-asc-name-desc
  // shows: media/sorting/several
  it("combines q, several content types, and an order by type and attributes, up and down", async () => {
    const as = principal();
    const make = async (type: string, metadata: object) => (await stored(app, PICTURE, { as, type, metadata })).id;
    const pngLate = await make("image/png", { n: 2, of: "a b" });
    const pngEarly = await make("image/png", { n: 1, of: "a b" });
    const text = await make("text/plain", { n: 3, of: "a b" });
    const gif = await make("image/gif", { n: 4, of: "a b" });
    await make("image/png", { n: 5, of: "c" });
    const svg = await make("image/svg+xml", { n: 6, of: "c" });
    const ofAll = '&q=of:"a b"';
    for (const [query, expected] of [
      [`${ofAll}&content-type=image/png,text/plain&sort=n`, [pngEarly, pngLate, text]],
      [`${ofAll}&content-type=image/gif&sort=n`, [gif]],
      [`${ofAll}&sort=n:desc`, [gif, text, pngLate, pngEarly]],
      [`${ofAll}&sort=Content-Type,n:asc`, [gif, pngEarly, pngLate, text]],
      [`${ofAll}&sort=Content-Type:desc,n:desc`, [text, pngLate, pngEarly, gif]],
      [`${ofAll} n:3&sort=n`, [text]],
      [`${ofAll}&content-type=video/mp4`, []],
      ["&content-type=image/svg+xml", [svg]],
      ["&content-type=image/svg%2Bxml", [svg]],
    ] as const)
      expect([query, await idsOf(as, query)]).toEqual([query, expected]);
  });
});
