import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "../../scripts/lib/root.ts";
import { INTEGRATIONS } from "../integrations/integrations.ts";
import { draw, PLOTS, type Plot } from "../../tools/bench/plots.ts";

const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const pages = globSync(["*.md", "docs/**/*.md", "examples/**/*.md", "scripts/**/*.md", "tools/**/*.md"], {
  cwd: ROOT,
  exclude: (path) => path.includes("node_modules"),
});

/** As GitHub makes the anchors of headings. */
const anchors = (page: string): string[] =>
  Array.from(read(page).matchAll(/^#{1,6} (.*)$/gm), ([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );

const links = (page: string): string[] =>
  Array.from(
    read(page)
      .replaceAll(/^```.*?^```$/gms, "")
      .matchAll(/\]\(([^()\s]+)\)/g),
    ([, link = ""]) => link,
  );

const target = (page: string, link: string): string =>
  relative(ROOT, resolve(ROOT, dirname(page), link.split("#")[0] || relative(dirname(page), page)));

test("every relative link of the documentation leads to a page and an anchor", () => {
  const dead = pages.flatMap((page) =>
    links(page)
      .filter((link) => !/^[a-z]+:/.test(link))
      .filter((link) => {
        const path = target(page, link);
        const [, anchor] = link.split("#");
        return !existsSync(join(ROOT, path)) || (anchor !== undefined && !anchors(path).includes(anchor));
      })
      .map((link) => `${page}: ${link}`),
  );
  expect(dead).toEqual([]);
});

test("every page below docs/ is reached from docs/README.md", () => {
  const reached = new Set(["docs/README.md"]);
  for (const page of reached)
    for (const link of links(page)) if (link.split("#")[0]?.endsWith(".md")) reached.add(target(page, link));
  expect(pages.filter((page) => page.startsWith("docs/") && !reached.has(page))).toEqual([]);
});

test("every concept has one picture, which says in words what it shows", () => {
  const concepts = pages.filter((page) => page.startsWith("docs/concepts/"));
  expect(concepts.length).toBeGreaterThan(4);
  for (const page of concepts)
    expect(read(page).match(/^!\[[^\]]{40,}\]\(\.\.\/pictures\/[\w-]+\.svg\)$/gm), page).toHaveLength(1);
});

test("every integration has a page, with its commands and the day it was tried", () => {
  const named = Object.keys(INTEGRATIONS).map((name) => `docs/integrations/${name}.md`);
  expect(pages.filter((page) => page.startsWith("docs/integrations/")).toSorted()).toEqual(named.toSorted());
  for (const page of named) {
    expect(read(page), page).toMatch(/^## Tried\n\n20\d\d-\d\d-\d\d, with /m);
    expect(read(page), page).toContain(
      `npm run integrations -- ${page.slice("docs/integrations/".length, -".md".length)}`,
    );
    for (const title of ["Register", "Run"]) expect(read(page), page).toContain(`\`\`\`sh title="${title}"`);
  }
});

test("every file that CONTRIBUTING.md points to exists", () => {
  const named = Array.from(read("CONTRIBUTING.md").matchAll(/`([a-z-]+\/[a-z./-]+\.ts)`/g), ([, path = ""]) => path);
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter((path) => !existsSync(join(ROOT, path)) && !existsSync(join(ROOT, "src", path)))).toEqual([]);
});

test("each decision record is one page with its three parts, and stands in the list once", () => {
  const records = pages.filter((page) => /^docs\/decisions\/\d{4}-/.test(page)).toSorted();
  expect(records.length).toBeGreaterThan(20);
  expect(
    links("docs/decisions/README.md")
      .filter((link) => /^\d{4}-/.test(link))
      .toSorted(),
  ).toEqual(records.map((page) => page.slice("docs/decisions/".length)));
  for (const page of records) {
    expect(read(page).length, page).toBeLessThan(6_000);
    for (const part of ["Context", "Decision", "Consequences"]) expect(read(page), page).toContain(`\n## ${part}`);
  }
});

/** `users/{email}` → `users/{}`. */
const nameless = (path: string): string => path.replaceAll(/\{[^}]*\}/g, "{}");

test("the tables of the operator service list every operation, and no other", () => {
  const { paths } = JSON.parse(read("api/openapi.json")) as { paths: Record<string, Record<string, unknown>> };
  const known = new Set(
    Object.entries(paths)
      .filter(([path]) => path.startsWith("/admin/v1/"))
      .flatMap(([path, item]) => Object.keys(item).map((method) => [method.toUpperCase(), path.slice(10)] as const))
      .filter(([method]) => /^(GET|PUT|POST|DELETE)$/.test(method))
      .map(([method, path]) => `${method} ${nameless(path)}`),
  );
  const rows = Array.from(
    read("docs/reference/operator-service.md").matchAll(/^\| (`[a-z-]+[`/].*?) +\| (.*) \|$/gm),
    ([, names = "", cells = ""]) => ({
      resources: Array.from(names.matchAll(/`([^`]+)`/g), ([, name = ""]) => nameless(name)),
      // The first table has a column for the body of `PUT`; what it says of PUT, GET and DELETE, the text above does.
      said: [
        ...(cells.includes(" | ") ? ["PUT", "GET", "DELETE"] : []),
        ...Array.from(cells.matchAll(/`((?:GET|PUT|POST|DELETE)(?: …[^`]+)?)`/g), ([, one = ""]) => nameless(one)),
      ],
    }),
  );
  const listed = new Set<string>();
  const wrong: string[] = [];
  for (const { resources, said } of rows)
    for (const one of said) {
      const [method = "", suffix = ""] = one.split(" …");
      const above = method === "GET" && suffix === "" ? resources.map((name) => name.replace(/\/\{\}$/, "")) : [];
      const meant = [...resources.map((name) => `${name}${suffix}`), ...above].map((path) => `${method} ${path}`);
      const found = meant.filter((operation) => known.has(operation));
      if (found.length === 0) wrong.push(`${resources.join(", ")}: ${one}`);
      for (const operation of found) listed.add(operation);
    }
  expect(wrong).toEqual([]);
  expect([...known].filter((operation) => !listed.has(operation))).toEqual([]);
});

test("the configuration page names every deployment variable", () => {
  const [, vars = ""] = /^\[vars\]\n(.*?)^\n/ms.exec(read("wrangler.toml")) ?? [];
  const names = Array.from(vars.matchAll(/^([A-Z0-9_]+) =/gm), ([, name]) => name);
  const rows = Array.from(
    read("docs/reference/configuration.md").matchAll(/^\| `([A-Z0-9_]+)` +\| (?!of )/gm),
    ([, name]) => name,
  );
  expect(names.length).toBeGreaterThan(10);
  expect(rows.filter((name) => names.includes(name))).toEqual(expect.arrayContaining(names));
});

test.for(Object.keys(PLOTS) as Plot[])("the plot of %s shows the data beside it", (plot) => {
  expect(read(`docs/benchmarks/${plot}.svg`)).toBe(draw(plot));
});
