import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { eventsBench } from "../../bench/events/bench.ts";
import { exchange, repeated } from "../../bench/lib/exchange.ts";
import { load, type Answered } from "../../bench/lib/load.ts";
import { missing } from "../../bench/lib/program.ts";
import type { Report } from "../../bench/lib/report.ts";
import { gatewayBench } from "../../bench/gateway/bench.ts";
import { mediaBench } from "../../bench/media/bench.ts";
import { oauthBench } from "../../bench/oauth/bench.ts";
import { npm } from "./support/platform-process.ts";

/** The benches run; what they measure decides nothing here. */
const out = mkdtempSync(join(tmpdir(), "plinth-bench-test-"));

afterAll(() => rmSync(out, { recursive: true, force: true }));

/** Processes that run in an environment with this variable, so every descendant of who was started with it. */
function processesWith(variable: string): string[] {
  return readdirSync("/proc").flatMap((pid) => {
    try {
      const isOurs = readFileSync(`/proc/${pid}/environ`, "utf8").split("\0").includes(variable);
      return isOurs ? [readFileSync(`/proc/${pid}/comm`, "utf8").trim()] : [];
    } catch {
      return [];
    }
  });
}

describe("the load generator", () => {
  async function against(listener: RequestListener): Promise<Answered> {
    const server = createServer(listener).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const asked = exchange({ method: "GET", path: "/", host: "x", holds: (body) => body.right === "é".repeat(9_000) });
    const stopping = new AbortController().signal;
    try {
      return await load(repeated(asked, { host: "127.0.0.1", port }), { clients: 3, durationMs: 50, stopping });
    } finally {
      server.closeAllConnections();
      server.close();
    }
  }
  const body = JSON.stringify({ right: "é".repeat(9_000) });

  test.for([
    ["with a length", { "content-length": Buffer.byteLength(body) }],
    ["in chunks", {}],
  ] as const)("counts answers %s", async ([, headers]) => {
    const { requests, latenciesMs } = await against((_, response) => {
      response.writeHead(200, headers).write(body.slice(0, 5_000));
      setTimeout(() => response.end(body.slice(5_000)), 5);
    });
    expect(requests).toBeGreaterThan(3);
    expect(latenciesMs).toHaveLength(requests);
    expect(latenciesMs[0]).toBeGreaterThan(3);
  });

  test.for([
    ["another status", (response) => response.writeHead(401).end(body), "status 401"],
    ["another body", (response) => response.end('{"right":"é"}'), "not the answer"],
    ["no JSON", (response) => response.end("right"), "not JSON"],
    ["no answer", (response) => response.destroy(), "closed the connection"],
  ] as const satisfies [string, (response: Parameters<RequestListener>[1]) => void, string][])(
    "ends at %s",
    async ([, answer, message]) => {
      await expect(against((_, response) => void answer(response))).rejects.toThrow(message);
    },
  );
});

describe("npm run bench", () => {
  test("lists the benches", async () => {
    const bench = npm("bench", {});
    expect(await bench.ended).toBe(0);
    expect(bench.output()).toContain(`oauth           ${oauthBench.summary}`);
    expect(bench.output()).toContain(`events          ${eventsBench.summary}`);
    expect(bench.output()).toContain(`media           ${mediaBench.summary}`);
    expect(bench.output()).toContain(`gateway         ${gatewayBench.summary}`);
  });

  test("says what it does not know", async () => {
    const bench = npm("bench", {}, ["--", "oauth", "--only", "tokens,coffee"]);
    expect(await bench.ended).toBe(1);
    expect(bench.output()).toContain("oauth has no operation coffee");
  });

  test("leaves out what the machine does not have", () => {
    expect(missing("a-program-that-nobody-has")).toBe("a-program-that-nobody-has is not installed");
    expect(missing("sh")).toBeUndefined();
  });

  test("oauth: every subject at every operation that it has, and the ratios", async () => {
    const mark = randomUUID();
    const options = ["--json", "--seconds", "0.1", "--rounds", "1", "--out", out];
    const bench = npm("bench", { BENCH_TEST: mark }, ["--", "oauth", ...options]);
    expect(await bench.ended, bench.output()).toBe(0);
    expect(processesWith(`BENCH_TEST=${mark}`)).toEqual([]);

    const written = readFileSync(join(out, "oauth.json"), "utf8");
    expect(bench.output()).toContain(written);
    const report = JSON.parse(written) as Report;
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
    // Not of each: a tenth of a second on a busy machine may be less than the clock of processor time tells apart.
    if (process.platform === "linux")
      expect(report.results.filter(({ cpuMicrosPerRequest = 0 }) => cpuMicrosPerRequest > 0)).not.toEqual([]);
    expect(report.ratios).toHaveLength(oauthBench.ratios.length);
    for (const { requestsPerSec, mark: asked } of report.ratios) {
      expect(requestsPerSec.median).toBeGreaterThan(0);
      if (asked !== undefined) expect(asked.reached).toBeTypeOf("boolean");
    }
    expect(report.ratios.filter((ratio) => ratio.mark !== undefined)).toHaveLength(2);
    const table = readFileSync(join(out, "oauth.md"), "utf8");
    for (const { label } of oauthBench.subjects) expect(table).toContain(`| ${label} |`);
  });

  test("events: Plinth beside bare Workers, the marks, and what is no comparison", async () => {
    const mark = randomUUID();
    // Each kind, size and number of clients in one of them.
    const operations = ["publish-1-by-1", "publish-100-by-16", "read-1-by-16", "read-100-by-1"];
    const only = [...operations, "whole", "growth", "push"].join(",");
    const little = ["--seconds", "0.05", "--rounds", "1", "--events", "200", "--only", only];
    const options = ["--json", "--subjects", "plinth,bare,bare-one", ...little, "--out", out];
    const bench = npm("bench", { BENCH_TEST: mark }, ["--", "events", ...options]);
    expect(await bench.ended, bench.output()).toBe(0);
    expect(processesWith(`BENCH_TEST=${mark}`)).toEqual([]);

    const report = JSON.parse(readFileSync(join(out, "events.json"), "utf8")) as Report;
    expect(report.results.map(({ operation, subject }) => `${operation} ${subject}`)).toEqual(
      operations.flatMap((operation) => ["plinth", "bare", "bare-one"].map((subject) => `${operation} ${subject}`)),
    );
    for (const result of report.results) expect(result.clients).toBe(Number(result.operation.split("-by-")[1]));
    expect(report.ratios.map(({ operation, mark: asked }) => [operation, asked?.atLeast])).toEqual(
      operations.flatMap((operation) => [
        [operation, 0.7],
        [operation, undefined],
      ]),
    );
    const [level] = report.levels;
    expect(level?.eventsPerSec.median).toBeCloseTo(
      100 * report.results.find((result) => result.operation === level?.operation)!.requestsPerSec.median,
    );
    expect(report.findings.map(({ id, marks }) => [id, marks.length])).toEqual([
      ["whole", 1],
      ["growth", 2],
      ["push", 0],
    ]);
    for (const { tables } of report.findings)
      for (const [, ...numbers] of tables.flatMap(({ rows }) => rows))
        for (const cell of numbers) expect(Number.parseFloat(cell), cell).toBeGreaterThanOrEqual(0);
    const text = readFileSync(join(out, "events.md"), "utf8");
    for (const { label } of eventsBench.studies ?? []) expect(text).toContain(`### ${label}`);
  });

  test("media: Plinth beside the bare Worker, clips beside sharp, pages of a growing archive", async () => {
    const mark = randomUUID();
    // Each kind in one of them.
    const kinds = ["upload-by-16", "link-by-1", "redirect-by-16", "not-modified-by-16", "content-private-by-16"];
    const operations = [...kinds, "content-missed-by-16", "content-cached-by-1", "list-by-1", "list-query-by-16"];
    const only = [...operations, "variants", "growth"].join(",");
    const little = ["--seconds", "0.05", "--rounds", "1", "--events", "2000", "--only", only];
    const bench = npm("bench", { BENCH_TEST: mark }, ["--", "media", "--json", ...little, "--out", out]);
    expect(await bench.ended, bench.output()).toBe(0);
    expect(processesWith(`BENCH_TEST=${mark}`)).toEqual([]);

    const report = JSON.parse(readFileSync(join(out, "media.json"), "utf8")) as Report;
    expect(report.results.map(({ operation, subject }) => `${operation} ${subject}`)).toEqual(
      operations.flatMap((operation) => ["plinth", "bare"].map((subject) => `${operation} ${subject}`)),
    );
    for (const result of report.results) expect(result.clients).toBe(Number(result.operation.split("-by-")[1]));
    expect(report.ratios.map(({ operation, mark: asked }) => [operation, asked?.atLeast])).toEqual(
      operations.map((operation) => [operation, 0.7]),
    );
    expect(report.findings.map(({ id }) => id)).toEqual(["variants", "growth"]);
    for (const { tables } of report.findings)
      for (const [, ...numbers] of tables.flatMap(({ rows }) => rows))
        for (const cell of numbers) expect(Number.parseFloat(cell), cell).toBeGreaterThan(0);
    const growing = report.findings.at(-1);
    expect(growing?.marks).toHaveLength(growing?.tables[0]?.rows.length ?? 0);
    const text = readFileSync(join(out, "media.md"), "utf8");
    for (const { label } of mediaBench.studies ?? []) expect(text).toContain(`### ${label}`);
  });

  test("gateway: Plinth beside the bare Worker, bodies rewritten beside untouched ones, memory", async () => {
    const mark = randomUUID();
    const little = ["--seconds", "0.02", "--rounds", "1", "--only", "open-by-16,token-by-1,sparse,gigabyte"];
    const bench = npm("bench", { BENCH_TEST: mark }, ["--", "gateway", "--json", ...little, "--out", out]);
    expect(await bench.ended, bench.output()).toBe(0);
    expect(processesWith(`BENCH_TEST=${mark}`)).toEqual([]);

    const report = JSON.parse(readFileSync(join(out, "gateway.json"), "utf8")) as Report;
    expect(report.ratios.map(({ operation, of, to, mark: asked }) => [operation, of, to, asked?.atLeast])).toEqual([
      ["open-by-16", "plinth", "bare", 0.7],
      ["token-by-1", "plinth", "bare", 0.7],
      ["sparse", "plinth", "untouched", 0.5],
    ]);
    expect(report.results).toHaveLength(6);
    const [memory] = report.findings;
    expect([memory?.id, memory?.marks.length]).toEqual(["gigabyte", 1]);
    for (const cell of memory?.tables[0]?.rows[0]?.slice(1) ?? []) expect(Number(cell)).toBeGreaterThan(0);
    expect(readFileSync(join(out, "gateway.md"), "utf8")).toContain(`### ${memory?.label}`);
  });

  test("Ctrl-C leaves no process", async () => {
    const mark = `BENCH_TEST=${randomUUID()}`;
    const bench = npm("bench", { BENCH_TEST: mark.slice("BENCH_TEST=".length) }, ["--", "oauth", "--out", out]);
    await expect.poll(() => processesWith(mark), { timeout: 20_000 }).toContain("workerd");
    process.kill(-(bench.child.pid ?? expect.fail("npm has no pid")), "SIGINT");
    expect(await bench.ended).not.toBe(0);
    await expect.poll(() => processesWith(mark), { timeout: 5_000 }).toEqual([]);
    expect(bench.output()).toContain("stopped");
  });
});
