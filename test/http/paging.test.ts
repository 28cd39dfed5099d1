import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { pageLinks, readPaging, type CursorPart, type Paging } from "../../src/http/input/paging.ts";
import { runs } from "../support/model-runs.ts";
import { anyText } from "../support/any-text.ts";

const SELF = new URL("https://x.example/things?filter=a%20b&cursor=old");
const paging = (pageNumber: number, pageSize: number): Paging => ({
  pageNumber,
  pageSize,
  skip: (pageNumber - 1) * pageSize,
  cursor: undefined,
  filters: ["filter"],
});
const linksOf = (asked: Paging, page: Parameters<typeof pageLinks>[2]): Record<string, URL> =>
  Object.fromEntries(
    pageLinks(SELF, asked, page)
      .split(", ")
      .map((link) => /^<(.*)>; rel="(.*)"$/.exec(link)!)
      .map(([, url, rel]) => [rel, new URL(url!, SELF)]),
  );

describe("the links of a page", () => {
  it("carry the cursor in next unchanged, for sort keys of any length on any page", () => {
    // The media index keeps 280 bytes of a text at most. JSON writes a control character in six characters.
    const longest = "\u0001".repeat(280);
    const text = fc.oneof(anyText({ maxLength: 70 }), fc.constant(longest));
    const value = fc.oneof(text, fc.double({ noNaN: true, noDefaultInfinity: true }), fc.constant(null));
    const cursor = fc.tuple(fc.array(value, { maxLength: 4 }), fc.string({ maxLength: 24 }));
    fc.assert(
      fc.property(cursor, fc.integer({ min: 1, max: 1_000_000 }), fc.nat(999), ([values, id], pageNumber, size) => {
        const next: CursorPart[] = [...values, id];
        const { next: url } = linksOf(paging(pageNumber, size + 1), { items: [1], next });
        const read = readPaging(url!.searchParams);
        const expected = { pageSize: size + 1, skip: 0, cursor: JSON.parse(JSON.stringify(next)) as CursorPart[] };
        expect(read).toMatchObject({ ok: true, value: expected });
        expect(url!.searchParams.get("filter")).toBe("a b");
        expect(url!.href.length).toBeLessThan(16_000);
      }),
      { numRuns: runs(7), examples: [[[Array<CursorPart>(4).fill(longest), "f".repeat(24)], 1_000_000, 999]] },
    );
  });

  // shows: platform/paging/link
  it.each([
    ["the first page", paging(1, 5), { items: [1], next: undefined }, ["self"]],
    ["a later page", paging(3, 5), { items: [1], next: ["x"] }, ["next", "prev", "self"]],
    ["an empty page", paging(3, 5), { items: [], next: undefined }, ["self"]],
    ["an empty page behind one that is not", paging(3, 5), { items: [], hasRowsBefore: true }, ["prev", "self"]],
    ["a page whose previous one is as far in as a number goes", paging(4, 5), { maxSkip: 10 }, ["prev", "self"]],
    ["a page whose previous one is too far in for a number", paging(5, 5), { maxSkip: 10 }, ["self"]],
    ["the second page, whose previous one is the first", paging(2, 5), { maxSkip: 0 }, ["prev", "self"]],
  ] as const)("of %s", (_, asked, page, rels) => {
    expect(Object.keys(linksOf(asked, { items: [1], next: undefined, ...page })).sort()).toEqual(rels);
  });

  // shows: platform/paging/jumping-by-pagenumber
  it("lead back by number, without the cursor of the page", () => {
    const { prev } = linksOf({ ...paging(3, 5), skip: 0, cursor: ["x"] }, { items: [1], next: undefined });
    expect(prev!.search).toBe("?filter=a+b&pageNumber=2&pageSize=5");
  });

  // shows: platform/paging/link
  it("repeat the route's parameters and no others", () => {
    const asked = new URL(`${SELF.href}&x=${"a".repeat(8_000)}&other=1`);
    const page = { items: [1], next: ["x"] };
    expect(pageLinks(asked, paging(3, 5), page)).toBe(pageLinks(SELF, paging(3, 5), page));
  });

  // shows: platform/paging/link
  it.each([
    ["fit", 2_600, ["self", "prev", "next"]],
    ["do not fit with prev", 2_800, ["self", "next"]],
    ["do not fit with a long self", 7_900, ["self", "next"]],
  ])("that %s keep a way to go on", (_, chars, rels) => {
    const asked = new URL(`https://x.example/things?filter=${"a".repeat(chars)}`);
    const link = pageLinks(asked, paging(3, 5), { items: [1], next: ["x"] });
    expect(link.length).toBeLessThanOrEqual(8 * 1024);
    expect(Array.from(link.matchAll(/rel="(\w+)"/g), ([, rel]) => rel)).toEqual(rels);
    const [self, next] = ["self", "next"].map((rel) => new RegExp(`<([^<>]*)>; rel="${rel}"`).exec(link)![1]!);
    expect(new URL(self!, asked).searchParams.get("filter")).toBe("a".repeat(chars));
    expect(new URL(next!).searchParams.get("pageNumber")).toBe("4");
  });
});
