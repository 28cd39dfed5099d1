import { globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { ROOT } from "../lib/root.ts";

/**
 * The pages of the documentation site: every Markdown file below docs/, and the few beside the code. Links between
 * files become links between pages; a link to a file that is no page becomes its path as code.
 */
export interface Page {
  /** `docs/guides/push.md`, relative to the checkout. */
  readonly file: string;
  /** `guides/push`: its address below `/docs`. */
  readonly slug: string;
  readonly title: string;
  /** The first sentences, for search engines and `/llms.txt`. */
  readonly description: string;
  /** Markdown below the title, with links as they are in the file. */
  readonly body: string;
}

/** Pages that lie beside the code. */
const BESIDE: Readonly<Record<string, string>> = {
  "ARCHITECTURE.md": "contributing/architecture",
  "CONTRIBUTING.md": "contributing",
  "CHANGELOG.md": "contributing/changelog",
  "SECURITY.md": "contributing/security",
  "examples/catalog-service/README.md": "examples/catalog-service",
};

/** Pages that are not on the site: a long table that only contributors need. */
const LEFT_OUT = ["docs/coverage.md"];

/** The index, whose sections are those of the sidebar. */
export const INDEX = "docs/README.md";

/** Files that the pages are made of. */
export const SOURCES = [
  "docs",
  ...Object.keys(BESIDE),
  "packages/sdk/README.md",
  "packages/cli/README.md",
  "packages/python/README.md",
] as const;

export function readPages(): readonly Page[] {
  const files = [
    ...globSync("docs/**/*.md", { cwd: ROOT }),
    ...globSync("packages/*/README.md", { cwd: ROOT }),
    ...Object.keys(BESIDE),
  ];
  return files
    .filter((file) => !LEFT_OUT.includes(file))
    .toSorted()
    .map(readPage);
}

function slugOf(file: string): string {
  if (file === INDEX) return "contents";
  if (BESIDE[file] !== undefined) return BESIDE[file];
  return file.replace(/^docs\//, "").replace(/(\/README)?\.md$/, "");
}

function readPage(file: string): Page {
  const text = readFileSync(join(ROOT, file), "utf8");
  const [heading = "", title = ""] = /^# (.*)\n/m.exec(text) ?? [];
  if (title === "") throw new Error(`${file} has no title`);
  const body = withoutMarks(text.slice(text.indexOf(heading) + heading.length).trimStart());
  return { file, slug: slugOf(file), title: plain(title), description: descriptionOf(body), body };
}

/** Removes the marks for test/acceptance/samples.test.ts, which readers of the site do not need. */
const withoutMarks = (body: string): string => body.replaceAll(/^ *<!-- not run: .* -->\n+/gm, "");

/** The first paragraph that is text, cut at a sentence. */
function descriptionOf(body: string): string {
  const paragraph = body.split(/\n{2,}/).find((part) => /^[\p{L}`[*]/u.test(part)) ?? "";
  const sentences = plain(paragraph.replaceAll("\n", " ")).match(/[^.]+(?:\.(?! )[^.]*)*\.?/g) ?? [];
  let found = "";
  for (const sentence of sentences) if ((found + sentence).length <= 180 || found === "") found += sentence;
  return found.trim();
}

const plain = (markdown: string): string => markdown.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").replaceAll(/[`*]/g, "");

/** Rewrites the links of a page. `toPage` says where a page is, `toImage` where a file is. */
export function rewriteLinks(
  { file, body }: Pick<Page, "file" | "body">,
  pages: ReadonlyMap<string, Page>,
  to: { readonly page: (slug: string) => string; readonly other: (path: string) => string | undefined },
): string {
  return outsideCode(body, (text) =>
    text.replaceAll(
      /(!?)\[((?:[^[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)/g,
      (whole, image: string, words: string, link: string) => {
        if (/^([a-z]+:|\/)/.test(link)) return whole;
        const [path = "", anchor] = link.split("#");
        const target = path === "" ? file : normalize(join(dirname(file), path));
        const hash = anchor === undefined ? "" : `#${anchor}`;
        if (target === "README.md") return `[${words}](${to.page("")}${hash})`;
        const page = pages.get(target);
        if (page !== undefined) return `[${words}](${to.page(page.slug)}${hash})`;
        const other = to.other(target);
        if (other !== undefined) return `${image}[${words}](${other})`;
        return words.includes(target) || words.startsWith("`") ? words : `${words} (\`${target}\`)`;
      },
    ),
  );
}

/** Changes only the text outside of fenced blocks. */
export const outsideCode = (markdown: string, change: (text: string) => string): string =>
  markdown
    .split(/(^```[^]*?^```$)/m)
    .map((part, at) => (at % 2 === 1 ? part : change(part)))
    .join("");
