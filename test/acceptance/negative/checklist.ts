import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ROOT } from "../../../scripts/lib/root.ts";

const TESTS = join(ROOT, "test");
const HERE = join(TESTS, "acceptance", "negative");

/** Holds `checklist.md` to what there is: every section is met, and every test that is named exists. */
export function checklistSuite(): void {
  const page = readFileSync(join(HERE, "checklist.md"), "utf8");
  const parts = page.split(/^## /m).map((part) => part.trim());
  const [sections, elsewhere, mustNots, leftOut] = [
    "Sections that apply",
    "Shown elsewhere",
    "What must not be",
    "Left out",
  ].map((title) => parts.find((part) => part.startsWith(title)) ?? "") as [string, string, string, string];

  describe("checklist.md", () => {
    test.each([...rowsOf(elsewhere), ...rowsOf(mustNots)])("%s: %s", (_section, _asks, file, title) => {
      const isThere = readFileSync(join(TESTS, file), "utf8").includes(JSON.stringify(title));
      expect(isThere, `${file} has no test "${title}"`).toBe(true);
    });

    test("every document whose MUST NOTs are listed has some", () => {
      const documents = rowsOf(mustNots).map(([section]) => section.replace(/ [\d.]+$/, ""));
      expect([...new Set(documents)].toSorted()).toEqual(LISTED_ONE_BY_ONE);
    });

    test("every section that applies is shown by a test, or said to be left out", () => {
      const shown = [...ownTitles().flatMap(sectionsOf), ...rowsOf(elsewhere).map(([section]) => section)];
      const met = [...shown, ...rowsOf(leftOut).map(([section]) => section)];
      // What is shown of a part of a section counts for the section.
      const isMet = (section: string) => met.some((one) => one === section || one.startsWith(`${section}.`));
      expect(expected(sections).length).toBeGreaterThan(100);
      expect(expected(sections).filter((section) => !isMet(section))).toEqual([]);
      // What is left out here and shown there would be a line of yesterday.
      expect(rowsOf(leftOut).filter(([section]) => shown.includes(section))).toEqual([]);
    });
  });
}

const LISTED_ONE_BY_ONE = ["9126", "9449", "8628", "8693", "8707", "9728", "7591"]
  .map((number) => `RFC ${number}`)
  .concat("FAPI 2.0")
  .toSorted();

type Row = [section: string, asks: string, file: string, title: string];

const rowsOf = (part: string): Row[] =>
  part
    .split("\n")
    .filter((line) => /^\| (RFC|OIDC|FAPI)/.test(line))
    .map(
      (line) =>
        line
          .split("|")
          .map((cell) => cell.trim())
          .slice(1, -1) as Row,
    );

/** `- RFC 7009: 2 2.1` → `RFC 7009 2`, `RFC 7009 2.1` */
const expected = (part: string): string[] =>
  part.split(/^- /m).flatMap((item) => {
    const [, document, numbers = ""] = /^((?:RFC|OIDC) \w+|FAPI 2\.0): ([\d.\s]+)$/.exec(item.trim()) ?? [];
    return document === undefined ? [] : numbers.split(/\s+/).map((number) => `${document} ${number}`);
  });

const sectionsOf = (title: string): string[] => title.match(/\b(?:RFC \d+|OIDC Core) \d+(?:\.\d+)*/g) ?? [];

/** The titles of the tests in this folder. */
const ownTitles = (): string[] =>
  readdirSync(HERE)
    .filter((name) => name.endsWith(".ts"))
    .flatMap((name) => [
      ...readFileSync(join(HERE, name), "utf8").matchAll(/\btest(?:\.each\([^)]*\))?\(\s*"([^"]+)"/g),
    ])
    .map(([, title = ""]) => title);
