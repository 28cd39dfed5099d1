import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse as parseToml } from "smol-toml";
import { expect, test } from "vitest";
import { parse as parseYaml } from "yaml";
import { GLOBAL_OPTIONS } from "../../cli/command-line/program.ts";
import { allCommands } from "../../cli/commands.ts";
import { ROOT } from "../../scripts/lib/root.ts";

/**
 * Every block of the documents is run by a test, checked here, or says why it is not:
 *
 *   ```sh, ```ts tab …   run, by the test that RUN names for the page
 *   ```json, yaml, toml  parsed here
 *   ``` without a word   commands: npm scripts, words and options of the command line must exist; else run or marked
 *   ```text, mermaid     pictures and output, which nobody types
 *   anything else        below `<!-- not run: why -->`
 */
interface Block {
  readonly page: string;
  readonly info: string;
  readonly text: string;
  readonly reason: string | undefined;
}

const read = (page: string): string => readFileSync(join(ROOT, page), "utf8");
const PAGES = globSync(["*.md", "docs/**/*.md", "packages/*/README.md", "examples/**/README.md"], {
  cwd: ROOT,
  exclude: (path) => path.includes("node_modules"),
}).filter((page) => !/^(CHANGELOG\.md|docs\/(decisions\/|coverage\.md))/.test(page));

const BLOCK = /(?:^ *<!-- not run: (.+?) -->\n+)?^( *)```([^\n]*)\n([^]*?)^\2```$/gm;
const BLOCKS: readonly Block[] = PAGES.flatMap((page) =>
  Array.from(read(page).matchAll(BLOCK), ([, reason, indent = "", info = "", text = ""]) => ({
    page,
    info,
    text: text.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
    reason,
  })),
);

/** Pages whose blocks a test takes from the page and runs: its name, with what it takes. */
const RUN: readonly { readonly test: string; readonly pages: RegExp; readonly info: RegExp }[] = [
  {
    test: "nightly/readme",
    pages: /^(README|docs\/quickstart|docs\/(guides|operate)\/[\w-]+)\.md$/,
    info: /^sh( tab)?$/,
  },
  { test: "nightly/typed-client", pages: /^docs\/guides\/typed-client\.md$/, info: /^(ts)?$/ },
  { test: "nightly/quickstarts", pages: /^docs\/(quickstart|guides\/[\w-]+)\.md$/, info: /^(ts|python) tab$/ },
  { test: "nightly/quickstarts", pages: /^docs\/start\//, info: / title="/ },
  { test: "nightly/quickstarts", pages: /^packages\/python\/README\.md$/, info: /^python$/ },
  { test: "nightly/quickstarts", pages: /^packages\/sdk\/README\.md$/, info: /^ts$/ },
  { test: "nightly/integrations", pages: /^docs\/integrations\//, info: /^/ },
  { test: "nightly/stranger", pages: /^docs\/start\/(node|browser-app|hono-workers|python)\.md$/, info: /^$/ },
];
const PARSED: Readonly<Record<string, (text: string) => unknown>> = {
  json: JSON.parse,
  yaml: (text) => parseYaml(text),
  toml: parseToml,
};
const NO_CODE = ["text", "mermaid"];

test("every block of the documents is run, is checked, or says why not", () => {
  expect(BLOCKS.length).toBeGreaterThan(150);
  const faults: string[] = [];
  for (const { page, info, text, reason } of BLOCKS) {
    const say = (fault: string) => faults.push(`${page}: ${fault}\n  ${text.split("\n", 1)[0]}`);
    const isRun = RUN.some((one) => one.pages.test(page) && one.info.test(info));
    if (reason !== undefined) {
      if (isRun) say("is run and says that it is not");
      if (reason.length < 10) say("gives no reason");
    } else if (!isRun && !NO_CODE.includes(info)) {
      if (info in PARSED) parsed(info, text, say);
      else if (info === "") for (const fault of faultsOfCommands(text)) say(fault);
      else say(`a block of ${info} is neither run nor marked: <!-- not run: why -->`);
    }
  }
  expect(faults.join("\n")).toBe("");
});

test("the tests that run blocks are there and look at the pages", () => {
  for (const { test: name, pages, info } of RUN) {
    expect(read(`test/${name}.test.ts`), name).toMatch(/docs\/|README|blocks|"integrations"/);
    expect(
      BLOCKS.some((block) => pages.test(block.page) && info.test(block.info)),
      `${name}: ${pages} ${info}`,
    ).toBe(true);
  }
});

function parsed(info: string, text: string, say: (fault: string) => void): void {
  try {
    PARSED[info]!(text);
  } catch (error) {
    say(`is no ${info}: ${(error as Error).message.split("\n", 1)[0]}`);
  }
}

const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
const COMMANDS = allCommands();
const OURS =
  /^(?:OPERATOR_\w+=\S+ |PLINTH_\w+=\S+ )*(?:npm run (?:-s )?(?:plat|plinth) --|npx plinth|npx \S*\/packages\/cli|plinth|plat) /;

/** What is wrong with commands that nobody runs, a line each. */
function faultsOfCommands(text: string): string[] {
  const lines = text
    .replaceAll(/\\\n\s*/g, " ")
    .split("\n")
    .map((line) => line.replace(/(^|\s{1,})#.*$/, "").trim())
    .filter((line) => line !== "");
  return lines.flatMap((line) => {
    if (OURS.test(`${line} `)) return faultsOfWords(line.replace(OURS, ""));
    const [, script] = /^(?:[A-Z][A-Z0-9_]*=\S+ )*npm (?:run (?:-s )?)?([\w:-]+)/.exec(line) ?? [];
    if (script === undefined) return [`"${line}" is neither run nor known: mark the block`];
    const isKnown = script in scripts || ["install", "ci", "version"].includes(script);
    return isKnown ? [] : [`there is no npm script ${script}`];
  });
}

function faultsOfWords(line: string): string[] {
  const [command = ""] = line.split(/ [|>&;]/);
  const words = command.split(/\s+/).filter((word) => word !== "");
  const found =
    COMMANDS.find(({ words: [first, second] }) => first === words[0] && second === words[1] && second !== undefined) ??
    COMMANDS.find((one) => one.words.length === 1 && one.words[0] === words[0]);
  if (found === undefined)
    return words.every((word) => word.startsWith("--")) ? [] : [`there is no command ${words.slice(0, 2).join(" ")}`];
  const known = new Set([...found.options, ...GLOBAL_OPTIONS].map(({ flag }) => `--${flag}`)).add("--help");
  return words
    .filter((word) => word.startsWith("--") && word.length > 2)
    .map((word) => word.split("=", 1)[0]!)
    .filter((word) => !known.has(word))
    .map((word) => `${found.words.join(" ")} has no option ${word}`);
}
