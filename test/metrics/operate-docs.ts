/** A function of Vite, which runs the tests. */
interface Glob {
  glob(pattern: string, options: object): Record<string, string>;
}

/** The documentation of the metrics. */
export const [page = ""] = Object.values(
  (import.meta as unknown as Glob).glob("../../docs/operate/metrics.md", {
    query: "?raw",
    import: "default",
    eager: true,
  }),
);

/** The dashboard for Grafana. */
export const [dashboard] = Object.values(
  (import.meta as unknown as Glob).glob("../../docs/operate/grafana.json", { import: "default", eager: true }),
) as unknown as [{ panels: readonly { title: string; description?: string; targets: readonly { expr: string }[] }[] }];
