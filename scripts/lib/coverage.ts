/**
 * docs/coverage.md lists the rows of the specifications with the tests that show them. It is made from the outline of
 * the rows (test/specification.txt) and the tags above the tests, `// shows: <service>/<section>/<row>`.
 */
export interface Row {
  /** The id in the tags: `oauth/post-token/no-scope`. */
  readonly id: string;
  readonly service: string;
  readonly section: string;
  readonly name: string;
  readonly said: string;
  /** Why it is not built, so that no test shows it. Undefined: it is built. */
  readonly reason: string | undefined;
}

export interface Tag {
  readonly id: string;
  /** Below test/. */
  readonly file: string;
}

export interface Tags {
  readonly tags: readonly Tag[];
  readonly faults: readonly string[];
}

/** `# id: service`, `## section`, and a line a row: `name | what is said`, and `| not built: why`. */
export function readOutline(outline: string): Row[] {
  const rows: Row[] = [];
  let [id, service, section] = ["", "", ""];
  for (const line of outline.split("\n").filter((one) => one !== "")) {
    const heading = /^# ([a-z]+): (.*)$/.exec(line);
    if (heading !== null) [, id = "", service = ""] = heading;
    else if (line.startsWith("## ")) section = line.slice(3);
    else {
      const [name = "", said = "", reason] = line.split(" | ");
      rows.push({ id: `${id}/${slug(section)}/${slug(name)}`, service, section, name, said, reason });
    }
  }
  return rows;
}

const slug = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^a-z0-9_.]+/g, "-")
    .replaceAll(/^-+|-+$/g, "");

/** A tag belongs to the test or group that follows it, which must run. */
export function readTags(text: string, file: string): Tags {
  const tags: Tag[] = [];
  const faults: string[] = [];
  const lines = text.split("\n");
  for (const [at, line] of lines.entries()) {
    const id = /^\s*\/\/ shows: (\S+)$/.exec(line)?.[1];
    if (id === undefined) continue;
    const next = lines.slice(at + 1).find((one) => !/^\s*\/\//.test(one)) ?? "";
    if (!/^\s*(it|test|describe|itAtNight|inShards)\b/.test(next))
      faults.push(`${file}:${at + 1}: no test follows the tag ${id}`);
    else if (/^\s*(itAtNight|\w+\.(skip|todo|only|skipIf|runIf|fails))\b/.test(next))
      faults.push(`${file}:${at + 1}: the test of the tag ${id} does not run everywhere`);
    else tags.push({ id, file });
  }
  return { tags, faults };
}

export function findFaults(rows: readonly Row[], tags: readonly Tag[]): string[] {
  const ids = new Set(rows.map(({ id }) => id));
  const shown = new Set(tags.map(({ id }) => id));
  return [
    ...rows.filter(({ id }, at) => rows.findIndex((row) => row.id === id) !== at).map(({ id }) => `two rows are ${id}`),
    ...tags.filter(({ id }) => !ids.has(id)).map(({ id, file }) => `${file}: no row is ${id}`),
    ...rows.filter(({ id, reason }) => reason === undefined && !shown.has(id)).map(({ id }) => `no test shows ${id}`),
    ...rows
      .filter(({ id, reason }) => reason !== undefined && shown.has(id))
      .map(({ id }) => `a test shows ${id}, which says that it is not built`),
  ];
}

const HEAD = `# What the specifications say, and the tests that show it

Made by \`npm run coverage\` from the outline \`test/specification.txt\` and the tags above the tests. To find the tests of
a row, look for its tag: \`grep -rn "shows: oauth/post-token" test\`.
`;

export function makePage(rows: readonly Row[], tags: readonly Tag[]): string {
  let page = HEAD;
  let [service, section] = ["", ""];
  for (const row of rows) {
    if (row.service !== service) page += `\n## ${row.service}\n`;
    if (row.service !== service || row.section !== section)
      page += `\n### ${row.section}\n\n| Row | What is said | Tests |\n|---|---|---|\n`;
    [service, section] = [row.service, row.section];
    const files = new Set(tags.filter(({ id }) => id === row.id).map(({ file }) => file.replace(/(\.test)?\.ts$/, "")));
    const cells = [row.name, row.said, row.reason ?? [...files].toSorted().join(", ")];
    page += `| ${cells.map((cell) => cell.replaceAll("|", String.raw`\|`)).join(" | ")} |\n`;
  }
  return page;
}
