import { getHealth } from "../../api/plinth.ts";
import { AdminRefusal } from "../client/admin-client.ts";
import type { Command } from "../command-line/command.ts";
import { printRecord } from "../command-line/print.ts";
import { asFetch, send } from "../client/send.ts";

const TIMEOUT_MS = 10_000;

/** Asks a public endpoint, so it needs no secret. */
export const healthCommand: Command = {
  words: ["health"],
  summary: "Check whether the platform answers and works.",
  args: [],
  options: [],
  notes: ["Exit code 0 if it works, 1 if it does not or gives no answer."],
  examples: ["health", "health --url https://plinth.example.com"],
  async run(invocation) {
    const { base } = invocation;
    const startedMs = performance.now();
    const { status, data } = await getHealth({
      baseUrl: base,
      fetch: asFetch((url, request) => send(url, request, TIMEOUT_MS)),
    });
    const tookMs = Math.round(performance.now() - startedMs);
    if (typeof data !== "object" || data === null)
      throw new AdminRefusal(status, "", `${base}/health answered ${status}, and not as a platform does: is it one?`);
    await printRecord(invocation, { url: base, tookMs, ...data });
    return status === 200 ? 0 : 1;
  },
};
