/** The result for one variant of one image. */
export interface Finding {
  readonly corpus: string;
  readonly path: string;
  /** `clip=100x100` */
  readonly variant: string;
  readonly state: "ready" | "failed" | "pending";
  readonly reason?: string;
  /** The distance from libvips' result, 0 to 255. */
  readonly difference?: number;
  /** The mistake, if there is one. */
  readonly wrong?: string;
}

/** A Markdown table with a row for each corpus. Counts files, each of which has two variants. */
export function tableOf(findings: readonly Finding[]): string {
  const corpora = Map.groupBy(findings, ({ corpus }) => corpus);
  const rows = [...corpora].map(([corpus, own]) => {
    const files = Map.groupBy(own, ({ path }) => path);
    const failed = [...files.values()].filter((variants) => variants.some(({ state }) => state === "failed"));
    const reasons = Map.groupBy(failed, ([first]) => withoutNumbers(first?.reason ?? ""));
    const said = [...reasons].map(([reason, those]) => `${those.length}: ${reason}`).join("<br>");
    const farthest = Math.max(0, ...own.map(({ difference = 0 }) => difference));
    const compared = own.filter(({ difference }) => difference !== undefined).length;
    const wrong = own.filter((finding) => finding.wrong !== undefined).length;
    return [corpus, files.size, files.size - failed.length, said || "0", compared, farthest, wrong];
  });
  const head = [
    "Corpus",
    "Files",
    "Ready",
    "Failed, with the reason",
    "Variants compared",
    "Largest difference",
    "Wrong",
  ];
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

const withoutNumbers = (reason: string): string => reason.replaceAll(/\d+/g, "…");
