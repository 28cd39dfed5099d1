/**
 * What docs/coverage.md has to be: every row of the specifications (their outline, scripts/data/specification.txt) and no
 * other, each with tests that run.
 */
export interface Row {
  /** `service › section › row` */
  readonly place: string;
  readonly shownBy: string;
}

export interface Rows {
  readonly rows: readonly Row[];
  readonly faults: readonly string[];
}

export interface Checked {
  readonly faults: readonly string[];
  readonly named: number;
  readonly withoutTest: number;
}

/** What a row says that no test can show: it is not there, or nobody has looked yet. */
const WITHOUT_TEST = /^(not built|open): ./;

/** Tables below `## service` and `### section`, of three columns: the row's name, what is said, the tests. */
export function rowsOf(page: string): Rows {
  let [service, section] = ["", ""];
  const rows: Row[] = [];
  const faults: string[] = [];
  for (const line of page.split("\n")) {
    if (line.startsWith("## ")) [service, section] = [line.slice(3), ""];
    else if (line.startsWith("### ")) section = line.slice(4);
    if (!line.startsWith("| ") || line.startsWith("| Row |")) continue;
    const [name, , shownBy, ...more] = line
      .slice(2, -2)
      .split(/(?<!\\)\|/)
      .map((cell) => cell.trim().replaceAll(String.raw`\|`, "|"));
    if (name === undefined || shownBy === undefined || more.length > 0) faults.push(`not three columns: ${line}`);
    else rows.push({ place: `${service} › ${section} › ${name}`, shownBy });
  }
  return { rows, faults };
}

/** The places of an outline: `# service`, `## section`, and a line a row. */
export function placesOf(outline: string): string[] {
  let [service, section] = ["", ""];
  const found: string[] = [];
  for (const line of outline.split("\n")) {
    if (line.startsWith("# ")) service = line.slice(2);
    else if (line.startsWith("## ")) section = line.slice(3);
    else if (line !== "") found.push(`${service} › ${section} › ${line}`);
  }
  return found;
}

/** `titles`: of the tests that run. */
export function check(rows: readonly Row[], places: readonly string[], titles: ReadonlySet<string>): Checked {
  const faults = compare(
    rows.map(({ place }) => place),
    places,
  );
  let [named, withoutTest] = [0, 0];
  for (const { place, shownBy } of rows) {
    if (WITHOUT_TEST.test(shownBy)) {
      withoutTest += 1;
      continue;
    }
    for (const text of shownBy.split("<br>")) {
      // A title with such marks stands between two of them.
      const name = /^(`{1,2})(.+)\1$/.exec(text.trim())?.[2];
      if (name === undefined) faults.push(`${place}: neither \`file › group › title\` nor "not built: …": ${text}`);
      else if (!titles.has(name)) faults.push(`${place}: no test that runs has this name: ${name}`);
      else named += 1;
    }
  }
  return { faults, named, withoutTest };
}

/** Both must have the same rows, whatever their order, none twice. */
function compare(documented: readonly string[], specified: readonly string[]): string[] {
  const twice = documented.filter((place, at) => documented.indexOf(place) !== at);
  return [
    ...specified.filter((place) => !documented.includes(place)).map((place) => `not in docs/coverage.md: ${place}`),
    ...documented.filter((place) => !specified.includes(place)).map((place) => `not in the specification: ${place}`),
    ...twice.map((place) => `twice in docs/coverage.md: ${place}`),
  ];
}
