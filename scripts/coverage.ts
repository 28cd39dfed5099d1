import { globSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { parseAst } from "vitest/node";
import { ROOT } from "./lib/root.ts";

/**
 * `node scripts/coverage.ts` holds docs/coverage.md to its word: it has every row of the specifications
 * (scripts/data/specification.txt, an outline of them) and no other, each names the tests that show it, and each of
 * these tests stands in the sources under that name and runs. It reads titles from the syntax tree and starts nothing:
 * listing the tests by Vitest would load every file of them. Whether they pass, their own stages say.
 */
interface Row {
  readonly place: string;
  readonly shownBy: string;
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
}

interface Call {
  readonly title: string;
  readonly isGroup: boolean;
  readonly rest: readonly Node[];
  /** The modifier that keeps it from running, if there is one. */
  readonly stops: string | undefined;
}

const DOCUMENT = join(ROOT, "docs", "coverage.md");
const OUTLINE = join(ROOT, "scripts", "data", "specification.txt");
const TESTS = join(ROOT, "test");
/** What a row says that no test can show: it is not there, or nobody has looked yet. */
const WITHOUT_TEST = /^(not built|open): ./;
/** Modifiers of a test or a group that do not keep it from running. */
const RUNS = new Set(["each", "for", "concurrent", "sequential", "fails"]);

const faults: string[] = [];
const titles = readTitles();
const rows = readRows();
compare(
  rows.map(({ place }) => place),
  readOutline(),
);
let named = 0;
let withoutTest = 0;
for (const { place, shownBy } of rows) check(place, shownBy);
for (const fault of faults) console.error(`✗ ${fault}`);
if (faults.length > 0) process.exitCode = 1;
else console.log(`${rows.length} rows, ${named} names of tests, ${withoutTest} rows without a test`);

function check(place: string, shownBy: string): void {
  if (WITHOUT_TEST.test(shownBy)) {
    withoutTest += 1;
    return;
  }
  for (const text of shownBy.split("<br>")) {
    // A title with such marks stands between two of them.
    const name = /^(`{1,2})(.+)\1$/.exec(text.trim())?.[2];
    if (name === undefined) faults.push(`${place}: neither \`file › group › title\` nor "not built: …": ${text}`);
    else if (!titles.has(name)) faults.push(`${place}: no test that runs has this name: ${name}`);
    else named += 1;
  }
}

/** Both must have the same rows, whatever their order, none twice. */
function compare(documented: readonly string[], specified: readonly string[]): void {
  for (const place of specified) if (!documented.includes(place)) faults.push(`not in docs/coverage.md: ${place}`);
  for (const place of documented) if (!specified.includes(place)) faults.push(`not in the specification: ${place}`);
  const twice = documented.filter((place, at) => documented.indexOf(place) !== at);
  for (const place of twice) faults.push(`twice in docs/coverage.md: ${place}`);
}

/** Tables below `## service` and `### section`, of three columns: the row's name, what is said, the tests. */
function readRows(): Row[] {
  let [service, section] = ["", ""];
  const found: Row[] = [];
  for (const line of readFileSync(DOCUMENT, "utf8").split("\n")) {
    if (line.startsWith("## ")) [service, section] = [line.slice(3), ""];
    else if (line.startsWith("### ")) section = line.slice(4);
    if (!line.startsWith("| ") || line.startsWith("| Row |")) continue;
    const [name, , shownBy, ...more] = line
      .slice(2, -2)
      .split(/(?<!\\)\|/)
      .map((cell) => cell.trim().replaceAll(String.raw`\|`, "|"));
    if (name === undefined || shownBy === undefined || more.length > 0) faults.push(`not three columns: ${line}`);
    else found.push({ place: `${service} › ${section} › ${name}`, shownBy });
  }
  return found;
}

function readOutline(): string[] {
  let [service, section] = ["", ""];
  const found: string[] = [];
  for (const line of readFileSync(OUTLINE, "utf8").split("\n")) {
    if (line.startsWith("# ")) service = line.slice(2);
    else if (line.startsWith("## ")) section = line.slice(3);
    else if (line !== "") found.push(`${service} › ${section} › ${line}`);
  }
  return found;
}

/** `file › group › title` of every test that runs, titles as they stand in the source (`%s` and all). */
function readTitles(): Set<string> {
  const found = new Set<string>();
  for (const path of reachable(globSync(join(TESTS, "**/*.test.ts")))) {
    const text = readFileSync(path, "utf8");
    const file = relative(TESTS, path).replace(/(\.test)?\.ts$/, "");
    const walk = (node: unknown, place: string): void => {
      if (typeof node !== "object" || node === null) return;
      const call = Array.isArray(node) ? undefined : readCall(node as Node, text);
      if (call === undefined) for (const inner of Object.values(node)) walk(inner, place);
      else if (call.stops !== undefined && call.stops !== "skipIf" && call.stops !== "runIf")
        faults.push(`${file}: .${call.stops} of "${call.title}": every test runs`);
      else if (call.stops === undefined) {
        const inside = `${place} › ${call.title}`;
        if (!call.isGroup) found.add(inside);
        for (const inner of call.rest) walk(inner, inside);
      }
    };
    walk(parseAst(text, { lang: "ts" }), file);
  }
  return found;
}

/** A call of `describe`, `it` or `test` with a title. */
function readCall(node: Node, text: string): Call | undefined {
  if (node.type !== "CallExpression") return undefined;
  const [title, ...rest] = node["arguments"] as Node[];
  const modifiers: string[] = [];
  let callee = node["callee"] as Node;
  while (callee.type === "CallExpression" || callee.type === "MemberExpression") {
    if (callee.type === "MemberExpression") modifiers.push((callee["property"] as Node)["name"] as string);
    callee = (callee.type === "CallExpression" ? callee["callee"] : callee["object"]) as Node;
  }
  const isTest = ["describe", "it", "test"].includes(callee["name"] as string);
  const stops = modifiers.find((name) => !RUNS.has(name));
  // `it.each(cases)` is called once more, with the title; `it.todo(title)` is not.
  if (!isTest || title === undefined || (rest.length === 0 && stops === undefined)) return undefined;
  const shown = title.type === "Literal" ? String(title["value"]) : text.slice(title.start, title.end);
  return {
    title: shown.replace(/^`|`$/g, ""),
    isGroup: callee["name"] === "describe",
    rest,
    stops,
  };
}

/** Tests may stand in modules that a test file imports. */
function reachable(paths: readonly string[]): Set<string> {
  const found = new Set<string>();
  const visit = (path: string): void => {
    if (found.has(path) || !path.startsWith(TESTS)) return;
    found.add(path);
    for (const [, to] of readFileSync(path, "utf8").matchAll(/from "(\.[^"]+\.ts)"/g)) visit(join(dirname(path), to!));
  };
  for (const path of paths) visit(path);
  return found;
}
