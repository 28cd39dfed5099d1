import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../scripts/lib/root.ts";
import { WARNINGS, type Explained } from "./explanations.ts";
import { PLANS } from "./plans.ts";

const PAGE = join(ROOT, "docs", "conformance.md");
const HEAD = "## Results\n";
const WORDS = { PASSED: "passed", REVIEW: "passed, page", SKIPPED: "skipped", WARNING: "warned", FAILED: "failed" };

interface Run {
  readonly version: string;
  readonly revision: string;
  readonly date: Date;
}

/** Replaces the results in docs/conformance.md. */
export function writeReport(
  { version, revision, date }: Run,
  outcomes: Readonly<Record<string, readonly Explained[]>>,
) {
  const [before = ""] = readFileSync(PAGE, "utf8").split(HEAD);
  const numbers = new Map(Object.keys(WARNINGS).map((condition, at) => [condition, at + 1]));
  const row = ({ module, result, findings, why }: Explained): string => {
    const notes = findings.flatMap((one) => (one.result === "WARNING" ? (numbers.get(one.condition) ?? []) : []));
    const note =
      result === "SKIPPED" ? why.join(" ") : [...new Set(notes)].toSorted((one, other) => one - other).join(", ");
    return `| \`${module}\` | ${WORDS[result]} | ${note} |`;
  };
  const plans = PLANS.flatMap(({ key, title, name }) => {
    const modules = outcomes[key] ?? [];
    if (modules.length === 0) return [];
    return [
      `### ${title}`,
      "",
      `\`${name}\``,
      "",
      "| Module | Result | Why |",
      "| - | - | - |",
      ...modules.map(row),
      "",
    ];
  });
  const notes = [...numbers].map(([condition, number]) => `${number}. \`${condition}\`: ${WARNINGS[condition] ?? ""}`);
  const day = date.toISOString().slice(0, 10);
  const lines = [
    HEAD,
    `${day}, version ${version} of the suite (commit \`${revision}\`). A number is a warning; "page": the suite keeps the page for a person to look`,
    "at, after the script found the words on it that have to be there.",
    "",
    ...plans,
    "### The warnings",
    "",
    ...notes,
    "",
  ];
  writeFileSync(PAGE, before + lines.join("\n"));
}
