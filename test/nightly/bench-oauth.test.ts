import { expect, test } from "vitest";
import { oauthBench } from "../../tools/bench/oauth/bench.ts";
import { runBench } from "../acceptance/support/bench-run.ts";

/** Checks that everything runs; the measured values do not matter. */
test("npm run bench -- oauth measures every subject at each of its operations", async () => {
  const { printed, json, report, markdown } = await runBench("oauth", ["--seconds", "0.1", "--rounds", "1"]);

  expect(printed).toContain(json);
  const measured = report.results.map(({ operation, subject }) => `${operation} ${subject}`);
  const questions = ["tokeninfo", "introspection", "userinfo"];
  expect(measured.toSorted()).toEqual(
    [
      ...["plinth", "bare", "bare-own", "oidc-opaque", "oidc-jwt"].map((subject) => `tokens ${subject}`),
      ...questions.flatMap((question) => ["plinth", "bare", "bare-d1"].map((subject) => `${question} ${subject}`)),
      "introspection oidc-opaque",
      "userinfo oidc-opaque",
    ].toSorted(),
  );
  for (const result of report.results) {
    const { requestsPerSec, p50Ms, p99Ms } = result;
    for (const value of [requestsPerSec.median, p50Ms.median, p99Ms.median])
      expect(value, JSON.stringify(result)).toBeGreaterThan(0);
    expect(p99Ms.median).toBeGreaterThanOrEqual(p50Ms.median);
  }
  // Not every one: a tenth of a second on a busy machine may be below the resolution of processor time.
  if (process.platform === "linux")
    expect(report.results.filter(({ cpuMicrosPerRequest = 0 }) => cpuMicrosPerRequest > 0)).not.toEqual([]);
  expect(report.ratios).toHaveLength(oauthBench.ratios.length);
  for (const { requestsPerSec, mark: asked } of report.ratios) {
    expect(requestsPerSec.median).toBeGreaterThan(0);
    if (asked !== undefined) expect(asked.reached).toBeTypeOf("boolean");
  }
  expect(report.ratios.filter((ratio) => ratio.mark !== undefined)).toHaveLength(2);
  for (const { label } of oauthBench.subjects) expect(markdown).toMatch(new RegExp(`^\\| ${label} +\\|`, "m"));
});
