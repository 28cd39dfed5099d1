import { describe, expect, test } from "vitest";
import { check, placesOf, rowsOf } from "../../scripts/lib/coverage.ts";
import { titlesIn } from "../../scripts/lib/test-titles.ts";

/** What stage `coverage` of `npm test` finds: a test that does not run, and a row that is not there or shown by none. */
const FILE = 'describe("lock", () => {\n  it("is kept", () => {});\n});\n';
const NAME = "events/lock › lock › is kept";
const OUTLINE = "# Events\n\n## Lock\nlocked\nfree\n";
const PAGE = `## Events\n\n### Lock\n\n| Row | What is said | Shown by |\n|---|---|---|\n| locked | x \\| y | \`${NAME}\` |\n| free | z | not built: later |\n`;

const titles = (text: string) => titlesIn(text, "events/lock");
const faultsOf = (page: string, outline = OUTLINE, file = FILE): readonly string[] => {
  const { rows, faults } = rowsOf(page);
  return [...faults, ...check(rows, placesOf(outline), titles(file).titles).faults];
};

describe("tests that run", () => {
  test.each([
    ["a test", 'it("t", () => {});', ["t"]],
    ["a group", 'describe("g", () => { test("t", async () => {}); });', ["g › t"]],
    ["a table", 'describe.each([1])("g %i", () => { it.for([1])("t %s", () => {}); });', ["g %i › t %s"]],
    ["a template", "it(`t ${x}`, () => {});", ["t ${x}"]],
    ["a time limit", 'it("t", { timeout: 5 }, () => {}); it("u", () => {}, 5);', ["t", "u"]],
    ["a suite that is called", 'export const suite = () => { it("t", () => {}); };', ["t"]],
    ["one for some machines", 'it.skipIf(x)("t", () => {}); it.runIf(x)("u", () => {});', []],
    ["one that is to fail", 'it.fails("t", () => {});', []],
  ])("%s", (_, text, found) => {
    expect(titles(text)).toEqual({ titles: new Set(found.map((title) => `events/lock › ${title}`)), faults: [] });
  });

  test.each([
    ["skip", 'it.skip("t", () => {});'],
    ["skip", 'it("t", { skip: true }, () => {});'],
    ["skip", 'describe.skip("g", () => { it("t", () => {}); });'],
    ["skip", 'it.skip.each([1])("t", () => {});'],
    ["only", 'it.only("t", () => {});'],
    ["todo", 'it.todo("t");'],
  ])("none that says %s: %s", (modifier, text) => {
    const { titles: found, faults } = titles(text);
    expect([...found]).toEqual([]);
    expect(faults).toEqual([expect.stringMatching(new RegExp(`^events/lock: ${modifier} of "[gt]"`))]);
  });

  test.each(["({ skip }) => { skip(); }", "(context) => { if (x) context.skip(); }"])("none that skips: %s", (body) => {
    expect(titles(`it("t", ${body});`).faults).toEqual(["events/lock › t calls skip: every test runs"]);
  });
});

describe("rows", () => {
  test("that are all there, each with a test or a reason, are fine", () => {
    expect(faultsOf(PAGE)).toEqual([]);
  });

  test.each<[string, string, string, string, string]>([
    ["a renamed test", PAGE, OUTLINE, FILE.replace("is kept", "stays"), `no test that runs has this name: ${NAME}`],
    ["a skipped test", PAGE, OUTLINE, FILE.replace("it(", "it.skip("), "no test that runs has this name"],
    [
      "a row that went",
      PAGE.replace(/^\| free.*\n/m, ""),
      OUTLINE,
      FILE,
      "not in docs/coverage.md: Events › Lock › free",
    ],
    ["a row of its own", PAGE, "# Events\n## Lock\nlocked\n", FILE, "not in the specification: Events › Lock › free"],
    ["a row that is there twice", `${PAGE}| free | z | open: later |\n`, OUTLINE, FILE, "twice in docs/coverage.md"],
    ["a row without a test", PAGE.replace("not built: later", ""), OUTLINE, FILE, "free: neither"],
    ["a row of four columns", `${PAGE}| a | b | c | d |\n`, OUTLINE, FILE, "not three columns"],
  ])("%s is found", (_, page, outline, file, says) => {
    expect(faultsOf(page, outline, file).join("\n")).toContain(says);
  });
});
