import { describe, expect, it } from "vitest";
import { prometheusName } from "../../src/metrics/prometheus.ts";
import { METRICS, type Metric, type MetricName } from "../../src/platform/metrics.ts";

/** A function of Vite, which runs the tests. */
interface Glob {
  glob(pattern: string, options: object): Record<string, string>;
}
const [page = ""] = Object.values(
  (import.meta as unknown as Glob).glob("../../docs/operate/metrics.md", {
    query: "?raw",
    import: "default",
    eager: true,
  }),
);

const cells = (name: MetricName, { kind, unit, label = "", help }: Metric): string[] => {
  const shown = prometheusName(name);
  return [`\`${name}\``, kind, unit, label, shown === undefined ? "" : `\`${shown}\``, help];
};

describe("docs/operate/metrics.md", () => {
  it("has a row for every metric of the code, and no other", () => {
    const rows = page
      .split("\n")
      .filter((line) => line.startsWith("| `"))
      .map((line) =>
        line
          .split("|")
          .slice(1, -1)
          .map((cell) => cell.trim()),
      );
    expect(rows).toEqual((Object.entries(METRICS) as [MetricName, Metric][]).map(([name, one]) => cells(name, one)));
  });
});
