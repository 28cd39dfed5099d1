import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import { costBench } from "../../tools/bench/cost/bench.ts";
import { eventsBench } from "../../tools/bench/events/bench.ts";
import { exchange, repeated } from "../../tools/bench/lib/exchange.ts";
import { load, type Answered } from "../../tools/bench/lib/load.ts";
import { missing } from "../../tools/bench/lib/program.ts";
import { gatewayBench } from "../../tools/bench/gateway/bench.ts";
import { mediaBench } from "../../tools/bench/media/bench.ts";
import { oauthBench } from "../../tools/bench/oauth/bench.ts";
import { startBench } from "../acceptance/support/bench-run.ts";
import { npm } from "../acceptance/support/process/program.ts";

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
    for (const [name, { summary }] of Object.entries({
      oauth: oauthBench,
      events: eventsBench,
      media: mediaBench,
      gateway: gatewayBench,
      cost: costBench,
    }))
      expect(bench.output()).toMatch(new RegExp(`^ {2}${name} .* ${summary}$`, "m"));
  });

  test("refuses an unknown operation", async () => {
    const bench = npm("bench", {}, ["--", "oauth", "--only", "tokens,coffee"]);
    expect(await bench.ended).toBe(1);
    expect(bench.output()).toContain("oauth has no operation coffee");
  });

  test("finds out which programs are missing", () => {
    expect(missing("a-program-that-nobody-has")).toBe("a-program-that-nobody-has is not installed");
    expect(missing("sh")).toBeUndefined();
  });

  test("Ctrl-C leaves no process", async () => {
    const { bench, processes } = startBench(["oauth"]);
    await expect.poll(processes, { timeout: 20_000 }).toContain("workerd");
    process.kill(-(bench.child.pid ?? expect.fail("npm has no pid")), "SIGINT");
    expect(await bench.ended).not.toBe(0);
    await expect.poll(processes, { timeout: 5_000 }).toEqual([]);
    expect(bench.output()).toContain("stopped");
  });
});
