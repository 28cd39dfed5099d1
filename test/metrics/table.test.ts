import { describe, expect, it } from "vitest";
import { prometheusName } from "../../src/metrics/prometheus.ts";
import { METRICS, type Metric, type MetricName } from "../../src/platform/ports/metrics.ts";
import { dashboard, page } from "./operate-docs.ts";

const cells = (name: MetricName, { kind, unit, label = "", help }: Metric): string[] => {
  const shown = prometheusName(name);
  return [`\`${name}\``, kind, unit, label, shown === undefined ? "" : `\`${shown}\``, help];
};

describe("docs/operate/grafana.json", () => {
  const labels = new Map(
    (Object.entries(METRICS) as [MetricName, Metric][]).flatMap(([name, { label, kind }]) => {
      const shown = prometheusName(name);
      if (shown === undefined) return [];
      return [[kind === "histogram" ? `${shown}_bucket` : shown, new Set(["service", "le", label])] as const];
    }),
  );
  const queries = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));

  it.each(queries)("asks for an existing metric and labels: %s", (query) => {
    const names = query.match(/plinth_\w+/g) ?? [];
    expect(names.length).toBeGreaterThan(0);
    for (const name of names) {
      expect([...labels.keys()]).toContain(name);
      const asked = [...query.matchAll(/by \(([^)]*)\)|\{(\w+)=/g)].flatMap(
        ([, by = "", one]) => one ?? by.split(", "),
      );
      for (const label of asked) expect(labels.get(name), `${name} ${label}`).toContain(label);
    }
  });

  it("counts by the hour where it says so", () => {
    for (const { title, description = "", targets } of dashboard.panels)
      for (const { expr } of targets)
        expect([title, expr.includes("[1h]")]).toEqual([title, description.startsWith("In an hour")]);
  });

  it("shows every metric", () => {
    const shown = new Set(queries.flatMap((query) => query.match(/plinth_\w+/g) ?? []));
    expect([...shown].toSorted()).toEqual([...labels.keys()].toSorted());
  });
});

describe("docs/operate/metrics.md", () => {
  it("has a row for every metric of the code, and no other", () => {
    const rows = page
      .split("\n")
      .filter((line) => /^\| `[a-z0-9_]*[a-z]` /.test(line))
      .map((line) =>
        line
          .split("|")
          .slice(1, -1)
          .map((cell) => cell.trim()),
      );
    expect(rows).toEqual((Object.entries(METRICS) as [MetricName, Metric][]).map(([name, one]) => cells(name, one)));
  });
});
