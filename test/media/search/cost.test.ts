import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { leadingRowPath } from "../../../src/media/metadata/attributes.ts";
import { toBase64Url, utf8 } from "../../../src/platform/text/encoding.ts";
import { mediaApp } from "../support/media-app.ts";
import { principal } from "../support/principal.ts";
import { expectProblem } from "../support/problem.ts";
import { expectJson } from "../../support/platform/call.ts";
import { makeOwner } from "./listing-files.ts";

/** The rows read and round trips that D1 reports. */
const cost = { rowsRead: 0, roundTrips: 0 };
const measured = (results: readonly D1Result[]): void => {
  cost.roundTrips += 1;
  for (const { meta } of results) cost.rowsRead += meta.rows_read;
};
const REAL = Symbol("real statement");
const measuring = (statement: D1PreparedStatement): D1PreparedStatement =>
  new Proxy(statement, {
    get(target, name) {
      if (name === REAL) return target;
      if (name === "bind") return (...values: unknown[]) => measuring(target.bind(...values));
      return async () => {
        const result = await target.all<any>();
        measured([result]);
        return name === "first" ? (result.results[0] ?? null) : result;
      };
    },
  });
const db = new Proxy(env.DB, {
  get(target, name) {
    if (name === "prepare") return (sql: string) => measuring(target.prepare(sql));
    return async (statements: any[]) => {
      const results = await target.batch(statements.map((statement) => statement[REAL] as D1PreparedStatement));
      measured(results);
      return results;
    };
  },
});

const app = mediaApp({ db });
const { caller, ownerId } = await makeOwner();
const as = principal({ clientName: caller.client });

/**
 * Inserts files `from` to `to`. `tie` has five values; `unique` differs in each file, and each tenth file lacks it; ten
 * files are `rare`. The order of the index makes it several times faster.
 */
async function makeFiles(from: number, to: number): Promise<void> {
  const type = `CASE WHEN n % 3 = 0 THEN 'image/png' ELSE 'text/plain' END`;
  const values = {
    ".tie": "n % 5",
    ".unique": "CASE WHEN n % 10 > 0 THEN n * 7919 % 1000003 END",
    ".rare": "CASE WHEN n % 100 = 1 AND n < 1000 THEN 'yes' END",
    "#type": type,
    "#keys": "CASE WHEN n % 10 > 0 THEN 'with' ELSE 'without' END",
  };
  const keys = Object.entries(values);
  const counter = `(WITH RECURSIVE counter (n) AS (SELECT ?2 UNION ALL SELECT n + 1 FROM counter WHERE n + 1 < ?3)
    SELECT n FROM counter)`;
  const all = keys.map(([key, value]) => `json_array('${key}', ${value}, 1)`).join(", ");
  const rows = `(SELECT json_group_array(json(value)) FROM json_each(json_array(${all})) WHERE value ->> 1 IS NOT NULL)`;
  const at = `json_object('${labelOf(".tie")}', 0, '${labelOf("#type")}', 3)`;
  const inOrder = (sql: string) => env.DB.prepare(sql).bind(ownerId, from, to);
  // Index rows that exist already cost the triggers of the files less.
  const file = inOrder(
    `INSERT INTO file (id, owner_id, state, content_type, created_at, committed_at, size_bytes, etag, metadata, attributes)
      SELECT printf('%012x%012x', n, ?1), ?1, 'committed', ${type}, 1, 2, 3, 'e', '{}', json_object('rows', ${rows},
        'at', CASE WHEN n % 10 > 0 THEN json_set(${at}, '$."${labelOf(".unique")}"', 1) ELSE ${at} END)
      FROM ${counter}`,
  );
  await env.DB.batch([
    ...keys.map(([key, value]) =>
      inOrder(
        `INSERT INTO attribute (owner_id, key, value, file_id, leads)
        SELECT ?1, '${key}', value, printf('%012x%012x', n, ?1), 1 FROM (SELECT n, ${value} AS value FROM ${counter})
        WHERE value IS NOT NULL ORDER BY value, n`,
      ),
    ),
    env.DB.prepare(
      `INSERT INTO key_set (owner_id, digest, keys) VALUES
      (?1, 'with', '[".tie",".unique","#type"]'), (?1, 'without', '[".tie","#type"]') ON CONFLICT DO NOTHING`,
    ).bind(ownerId),
    file,
    env.DB.prepare(`UPDATE owner SET files = ?2 WHERE id = ?1`).bind(ownerId, to),
  ]);
}

const labelOf = (key: string): string => leadingRowPath(key).slice('$.at."'.length, -1);

interface Measured {
  readonly rowsRead: number;
  readonly roundTrips: number;
  readonly ids: readonly string[];
  readonly next: string | undefined;
}

async function listed(path: string): Promise<Measured> {
  Object.assign(cost, { rowsRead: 0, roundTrips: 0 });
  const answer = await app.call(path, { as });
  const files = await expectJson<{ id: string }[]>(answer, 200);
  const next = /<([^>]*)>; rel="next"/.exec(answer.headers.get("link") ?? "")?.[1];
  return { ...cost, ids: files.map(({ id }) => id), next };
}

const PAGE = 20;
const first = (query: string) => listed(`/media/v2/files?tenant=acme&pageSize=${PAGE}${query}`);

/**
 * Queries, and the number of rows that a page may read, by the size of the page and the matches of the rarest term.
 */
const PAGE_ROWS = 4 * (PAGE + 1) + 6;
const CASES: readonly (readonly [query: string, maxRows: number])[] = [
  ["", PAGE_ROWS],
  ["&sort=tie", PAGE_ROWS],
  ["&sort=tie:desc", PAGE_ROWS + 6],
  ["&sort=unique", PAGE_ROWS],
  ["&sort=unique:desc", 2 * PAGE_ROWS],
  ["&sort=Content-Type", PAGE_ROWS],
  ["&sort=Content-Type:desc", PAGE_ROWS + 6],
  ["&sort=unique,tie", 4 * PAGE_ROWS],
  ["&sort=unknown", 3 * PAGE_ROWS],
  ["&q=rare:yes", 60],
  ["&q=rare:yes&sort=unique:desc", 160],
  ["&q=tie:1 rare:yes", 160],
  ["&q=tie:1", 2 * PAGE_ROWS],
  ["&content-type=image/png", PAGE_ROWS + 20],
  ["&content-type=image/png,text/plain", 3 * PAGE_ROWS],
  ["&q=nothing:1", 20],
  // Common terms are counted far enough to know that they are common.
  ["&q=tie:1&sort=unique", 4000],
  ["&q=tie:4&sort=tie:desc", 4000],
  ["&q=tie:1&content-type=image/png", 6000],
  ["&q=tie:1&content-type=image/png&sort=unique:desc", 8000],
];

describe("the rows that a page reads, and its round trips", () => {
  const seen = new Map<string, number[]>();

  // shows: media/query/cost
  it.each([
    [0, 1000],
    [1000, 10_000],
    [10_000, 100_000],
  ])("stay below the limit with %i files and more, up to %i", { timeout: 60_000 }, async (from, to) => {
    await makeFiles(from, to);
    for (const [query, maxRows] of CASES) {
      const page = await first(query);
      expect([query, page.rowsRead <= maxRows ? maxRows : page.rowsRead]).toEqual([query, maxRows]);
      expect(page.roundTrips).toBe(2);
      seen.set(query, [...(seen.get(query) ?? []), page.rowsRead]);
      if (page.next === undefined) continue;
      const second = await listed(page.next);
      expect([query, second.rowsRead <= maxRows + 10]).toEqual([query, true]);
      expect(second.ids).toHaveLength(PAGE);
    }
  });

  // shows: media/query/cost
  it("do not grow with the files unless many of them are counted", () => {
    for (const [query, maxRows] of CASES)
      if (maxRows < 1000) expect([query, new Set(seen.get(query)?.slice(1)).size]).toEqual([query, 1]);
  });

  it("are the same deep within an order, at its end, and among files without the attribute", async () => {
    const half = cursorOf([500_000, ""]);
    for (const query of [`&sort=unique&cursor=${half}`, `&sort=unique:desc&cursor=${half}`]) {
      const page = await first(query);
      expect(page.ids).toHaveLength(PAGE);
      expect(page.rowsRead).toBeLessThan(2 * PAGE_ROWS);
    }
    for (const order of ["asc", "desc"]) {
      const tail = await first(`&sort=unique:${order}&cursor=${cursorOf([null, idOf(50_000)])}`);
      expect(tail.ids).toEqual(Array.from({ length: PAGE }, (_, at) => idOf(50_000 + 10 * (at + 1))));
      expect(tail.rowsRead).toBeLessThan(2 * PAGE_ROWS);
      const last = await first(`&sort=unique:${order}&cursor=${cursorOf([null, idOf(99_900)])}`);
      expect([last.ids.length, last.next]).toEqual([9, undefined]);
      expect(last.rowsRead).toBeLessThan(2 * PAGE_ROWS);
    }
    const ties = await first(`&sort=tie&cursor=${cursorOf([3, idOf(90_003)])}`);
    expect(ties.ids[0]).toBe(idOf(90_008));
    expect(ties.rowsRead).toBeLessThan(2 * PAGE_ROWS);
  });

  it("are one round trip more for long metadata, and two after a walk that was cut", async () => {
    // This value is too common for the first count, and comes after all files that a walk of another condition passes.
    await env.DB.prepare(
      `INSERT INTO attribute (owner_id, key, value, file_id, leads)
      SELECT owner_id, '.late', 'yes', id, 1 FROM file WHERE owner_id = ?1 AND id >= ?2 AND id < ?3`,
    )
      .bind(ownerId, idOf(95_000), idOf(96_450))
      .run();
    const late = "&q=tie:1 late:yes";
    const cut = await first(late);
    expect([cut.ids.length, cut.ids[0], cut.roundTrips]).toEqual([PAGE, idOf(95_001), 4]);
    const long = JSON.stringify({ text: "x".repeat(5000) });
    const lengthen = (id: string) => env.DB.prepare("UPDATE file SET metadata = ?2 WHERE id = ?1").bind(id, long).run();
    await lengthen(idOf(0));
    await lengthen(idOf(95_001));
    expect((await first("")).roundTrips).toBe(3);
    expect((await first(late)).roundTrips).toBe(5);
  });

  it.each([
    // Each term matches a fifth of the files, and no file matches both.
    "&q=tie:1 tie:2&sort=unique",
    // These page numbers are just near enough, just too far, and beyond all files.
    ...["", "&sort=unique", "&sort=unique:desc", "&q=tie:1", "&sort=tie,unique", "&q=tie:1&sort=tie,unique"].flatMap(
      (query) => [500, 625, 1875, 50_000].map((pageNumber) => `${query}&pageNumber=${pageNumber}`),
    ),
    "&sort=tie,unique",
    "&sort=Content-Type,tie,unique",
  ])("stay within the budget: %s", async (query) => {
    Object.assign(cost, { rowsRead: 0 });
    const answer = await app.call(`/media/v2/files?tenant=acme&pageSize=${PAGE}${query}`, { as });
    const isNear = /^(?:&sort=unique)?&pageNumber=500$/.test(query);
    if (isNear) expect(await expectJson<unknown[]>(answer, 200)).toHaveLength(PAGE);
    else await expectProblem(answer, 400, "business_error", [{ type: "query_too_broad" }]);
    expect(cost.rowsRead).toBeLessThan(100_000);
  });
});

const idOf = (n: number): string => [n, ownerId].map((part) => part.toString(16).padStart(12, "0")).join("");
const cursorOf = (parts: readonly unknown[]): string => toBase64Url(utf8(JSON.stringify(parts)));
