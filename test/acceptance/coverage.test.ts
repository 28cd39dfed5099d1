import { describe, expect, test } from "vitest";
import { findFaults, makePage, readOutline, readTags } from "../../scripts/lib/coverage.ts";

const OUTLINE =
  "# events: Events\n\n## The lock\nis kept, once | by one reader\nis free | after 60 s | not built: later\n";
const ID = "events/the-lock/is-kept-once";
const tagged = (next: string) => readTags(`  // shows: ${ID}\n  // A reason.\n  ${next}\n`, "events/lock.test.ts");
const faultsOf = (outline: string, next: string): readonly string[] => {
  const { tags, faults } = tagged(next);
  return [...faults, ...findFaults(readOutline(outline), tags)];
};

describe("a row", () => {
  test.each(['it("t", () => {});', "it.each([1])(`t %i`, () => {});", "describe.each(cases)(", 'test("t",'])(
    "is shown by the test below its tag: %s",
    (next) => {
      expect(faultsOf(OUTLINE, next)).toEqual([]);
    },
  );

  test.each([
    ["has no tag", OUTLINE.replace("once", "twice"), 'it("t",', "no test shows events/the-lock/is-kept-twice"],
    ["is not there", "# events: Events\n", 'it("t",', `events/lock.test.ts: no row is ${ID}`],
    ["is there twice", `${OUTLINE}is kept once | again\n`, 'it("t",', `two rows are ${ID}`],
    ["is shown and not built", OUTLINE.replace("reader", "reader | not built: no"), 'it("t",', `a test shows ${ID}`],
    ["has a test that is skipped", OUTLINE, 'it.skip("t",', "does not run everywhere"],
    ["has a test that runs only at night", OUTLINE, 'itAtNight("t",', "does not run everywhere"],
    ["has a test for some machines", OUTLINE, 'test.runIf(x)("t",', "does not run everywhere"],
    ["has a tag above nothing", OUTLINE, "const x = 1;", "no test follows the tag"],
  ])("that %s is found", (_, outline, next, says) => {
    expect(faultsOf(outline, next).join("\n")).toContain(says);
  });

  test("stands in the page with its tests, or with the reason why it has none", () => {
    const page = makePage(readOutline(OUTLINE), tagged('it("t",').tags);
    expect(page).toContain(
      "| is kept, once | by one reader | events/lock |\n| is free | after 60 s | not built: later |\n",
    );
  });
});
