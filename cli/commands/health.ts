import { getDeepHealth, getHealth, type DeepHealth, type HealthCheck } from "../../api/plinth.ts";
import { AdminRefusal } from "../client/admin-client.ts";
import type { Command, Invocation } from "../command-line/command.ts";
import { printRecord } from "../command-line/print.ts";
import { asFetch, send } from "../client/send.ts";
import type { Paint } from "../../scripts/lib/terminal.ts";
import { toJson } from "../terminal/values.ts";

const TIMEOUT_MS = 10_000;

/** `health` asks a public endpoint and needs no secret. `--deep` asks as an operator. */
export const healthCommand: Command = {
  words: ["health"],
  summary: "Check whether the platform answers; with --deep, whether its parts work.",
  args: [],
  options: [{ flag: "deep", help: "check database, bucket, objects, queue, sweeps … (needs the operator's secret)" }],
  notes: ["Exit code 0 if it works, 1 if it does not or gives no answer. A warning is no failure."],
  examples: ["health", "health --url https://plinth.example.com", "health --deep"],
  async run(invocation) {
    if (invocation.options.has("deep")) return runDeep(invocation);
    const { base } = invocation;
    const startedMs = performance.now();
    const { status, data } = await getHealth({
      baseUrl: base,
      fetch: asFetch((url, request) => send(url, request, TIMEOUT_MS)),
    });
    const tookMs = Math.round(performance.now() - startedMs);
    if (status !== 200 || data?.status !== "ok") throw notHealth(`${base}/health`, status, data);
    await printRecord(invocation, { url: base, tookMs, ...data });
  },
};

/** Runs the deep check. A failed check is a 503, which is an answer here: it is not retried like others. */
async function runDeep({ io, options, client }: Invocation): Promise<number> {
  const { base, bearer } = await client();
  const found = await getDeepHealth({
    baseUrl: base,
    headers: { authorization: `Bearer ${await bearer()}` },
    fetch: asFetch((url, request) => send(url, request, TIMEOUT_MS)),
  });
  // The server at this address may not be a platform, or an older one without this operation.
  const health = found.data as Partial<DeepHealth> | undefined;
  if (health?.checks === undefined) throw notHealth(`${base}/health/deep`, found.status, found.data);
  const { checks, status } = health;
  const width = Math.max(...checks.map(({ name }) => name.length));
  const lines = checks.flatMap((check) => linesOf(check, width, io.paint));
  await io.out(`${options.has("json") ? toJson(health, 2) : lines.join("\n")}\n`);
  return status === "fail" ? 1 : 0;
}

function notHealth(url: string, status: number, answer: unknown): AdminRefusal {
  const { type = "", message = "not as a platform does: is it one?" } = (answer ?? {}) as Partial<AdminRefusal>;
  return new AdminRefusal(status, type, `${url} answered ${status}: ${message}`);
}

function linesOf({ name, status, facts, next }: HealthCheck, width: number, paint: Paint): string[] {
  const mark = { ok: paint.green("ok  "), warn: paint.yellow("warn"), fail: paint.red("fail") }[status];
  const shown = Object.entries(facts).filter(([, value]) => typeof value !== "object");
  const told = shown.map(([fact, value]) => `${fact} ${String(value)}`).join(", ");
  return [`${mark}  ${name.padEnd(width)}  ${paint.dim(told)}`.trimEnd(), ...(next === "" ? [] : [`      → ${next}`])];
}
