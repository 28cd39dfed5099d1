import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { CursorPart } from "../../../src/http/input/paging.ts";
import { metadataCondition, typeCondition } from "../../../src/media/metadata/attributes.ts";
import type { FileCaller } from "../../../src/media/model/file.ts";
import { createListingStore } from "../../../src/media/search/listing-store.ts";
import { createFilterStore } from "../../../src/media/search/filter-store.ts";
import { parseSort } from "../../../src/media/search/sort-parameter.ts";
import { unique } from "../../support/platform/unique.ts";
import { addFiles, makeOwner } from "./listing-files.ts";
import { modelListing, type ModelQuery } from "./listing-model.ts";
import { runs } from "../../support/model-runs.ts";

/** There are few values, so that ties occur. Some values compare in unusual ways. */
const scalar = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom<unknown>(1, 2, "1", "a", true) },
  {
    weight: 2,
    arbitrary: fc.constantFrom<unknown>(
      "true",
      false,
      null,
      -1,
      0.1,
      1e300,
      // This number has more than 53 bits: the database reads it as an integer, JavaScript as another number.
      Number("1234567890123456789"),
      -0,
      "",
      "A",
      "\u{1F600}",
      "\uffff",
      "\u{10000}",
      "a\u0000b",
      "ä".repeat(200),
      `${"ä".repeat(200)}b`.slice(1),
      "'; --",
    ),
  },
);
const value = fc.oneof(
  { weight: 8, arbitrary: scalar },
  { weight: 2, arbitrary: fc.array(scalar, { maxLength: 3 }) },
  { weight: 1, arbitrary: fc.array(fc.array(scalar, { maxLength: 2 }), { maxLength: 2 }) },
);
const metadata = fc.oneof(
  {
    weight: 9,
    arbitrary: fc.record({ a: value, b: value, "c.d": value, c: fc.record({ d: value }) }, { requiredKeys: [] }),
  },
  // This file has more pairs than the index takes. The sort keys come first.
  {
    weight: 1,
    arbitrary: fc.record({ a: scalar, b: scalar, c: fc.constant(Array.from({ length: 70 }, (_, at) => ({ d: at }))) }),
  },
);
const file = fc.record({
  metadata,
  type: fc.constantFrom("image/png", "image/jpeg", "text/plain;charset=utf-8", "text/plain"),
});
const KEYS = ["a", "b", "c.d", "zz"];
const query: fc.Arbitrary<ModelQuery> = fc.record({
  terms: fc.array(
    fc.record({
      key: fc.oneof(
        { weight: 9, arbitrary: fc.constantFrom("a", "b") },
        { weight: 2, arbitrary: fc.constantFrom(...KEYS) },
      ),
      value: fc.oneof(
        { weight: 9, arbitrary: fc.constantFrom("1", "a", "true", "2") },
        { weight: 3, arbitrary: scalar.map((given) => (typeof given === "string" ? given : JSON.stringify(given))) },
        { weight: 1, arbitrary: fc.constantFrom("69", "1.0", "null") },
      ),
    }),
    { maxLength: 2 },
  ),
  types: fc.option(fc.subarray(["image/png", "text/plain", "text/plain;charset=utf-8"], { minLength: 1 }), {
    nil: undefined,
    freq: 3,
  }),
  sort: fc.uniqueArray(fc.record({ name: fc.constantFrom(...KEYS, "Content-Type"), descending: fc.boolean() }), {
    maxLength: 4,
    selector: ({ name }) => name,
  }),
});
const request = fc.record({ query, pageSize: fc.constantFrom(3, 7, 16, 100), budget: fc.constantFrom(1000, 100_000) });

const conditionsOf = ({ terms, types }: ModelQuery) => [
  ...terms.map(({ key, value: text }) => metadataCondition(key, text)),
  ...(types === undefined ? [] : [typeCondition(types)]),
];
const sortOf = ({ sort }: ModelQuery) => {
  const parsed = parseSort(sort.map(({ name, descending }) => `${name}:${descending ? "desc" : "asc"}`).join(","));
  return parsed.ok ? parsed.value : [];
};

const storeWith = (budget: number) => createListingStore(env.DB, createFilterStore(env.DB, budget), budget);

type Asked = Pick<{ query: ModelQuery; pageSize: number; budget: number }, "query" | "pageSize" | "budget">;

/** Returns the ids of one page and the cursor of the next; undefined: the query is too broad. */
async function pageOf(caller: FileCaller, asked: Asked, cursor: readonly CursorPart[] | undefined, skip = 0) {
  const paging = { pageSize: asked.pageSize, skip, cursor };
  const conditions = conditionsOf(asked.query);
  const page = await storeWith(asked.budget).page(caller, { conditions, sort: sortOf(asked.query), paging });
  if (page === "too_broad") return undefined;
  return { ids: page.items.map(({ id }) => id), next: page.next };
}

/** Returns the ids of all pages along their cursors; undefined: the query is too broad. */
async function allPages(caller: FileCaller, asked: Asked): Promise<string[] | undefined> {
  const seen: string[] = [];
  let cursor: readonly CursorPart[] | undefined;
  do {
    // The cursor returns in an address, as JSON.
    if (cursor !== undefined) cursor = JSON.parse(JSON.stringify(cursor)) as CursorPart[];
    const page = await pageOf(caller, asked, cursor);
    if (page === undefined) return undefined;
    seen.push(...page.ids);
    cursor = page.next;
  } while (cursor !== undefined);
  return seen;
}

describe("a listing", () => {
  // shows: media/what-the-service-does/listing-and-filtering
  // shows: media/endpoints/get-p-q
  // shows: media/endpoints/get-p-content-type
  // shows: media/endpoints/get-p-sort
  // shows: media/sorting/content-type-and-attributes
  // shows: media/sorting/name-asc-name-desc
  // shows: media/sorting/several
  // shows: media/query/unknown-sort-attributes
  it("equals the model for any files, terms, types, orders and pages, by cursors and by numbers", async () => {
    let [broad, whole] = [0, 0];
    await fc.assert(
      fc.asyncProperty(
        fc.array(file, { maxLength: 60, minLength: 20, size: "max" }),
        fc.array(request, { minLength: 5, maxLength: 5 }),
        fc.nat({ max: 12 }),
        async (plain, requests, skip) => {
          const { caller, ownerId } = await makeOwner();
          const files = plain.map((given) => ({ ...given, id: unique("f") }));
          await addFiles(ownerId, files);
          for (const asked of requests) {
            const expected = modelListing(files, asked.query);
            const got = await allPages(caller, asked);
            if (got === undefined) expect(((broad += 1), asked.budget)).toBe(1000);
            else expect(((whole += 1), got)).toEqual(expected);
            const jumped = await pageOf(caller, asked, undefined, skip);
            if (jumped === undefined) expect(asked.budget).toBe(1000);
            else expect(jumped.ids).toEqual(expected.slice(skip, skip + asked.pageSize));
          }
        },
      ),
      { numRuns: runs(3) },
    );
    expect(whole).toBeGreaterThan(broad);
  });
});
