import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";

/** The words that the suite has for the end of a module, the best first. */
const RESULTS = ["PASSED", "REVIEW", "SKIPPED", "WARNING", "FAILED"] as const;
export type Result = (typeof RESULTS)[number];

export interface Finding {
  readonly result: "WARNING" | "FAILURE" | "REVIEW" | "INTERRUPTED";
  readonly condition: string;
  readonly message: string;
}

export interface ModuleOutcome {
  readonly module: string;
  readonly id: string;
  readonly result: Result;
  readonly findings: readonly Finding[];
}

interface LogEntry {
  readonly src?: string;
  readonly msg?: string;
  readonly result?: string;
}

export interface PlanModule {
  readonly testModule: string;
  readonly variant: Readonly<Record<string, string>> | null;
}

const MODULE_MS = 90_000;
const POLL_MS = 25_000;

/** The REST interface of a running suite in its development mode, which asks for no sign-in. */
export function connect(base: string) {
  async function call<T>(method: string, path: string, query: Record<string, string> = {}, body?: unknown): Promise<T> {
    const url = new URL(path, base);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    // The suite on this machine has a certificate that it made itself.
    const sent = request(url.href, {
      method,
      rejectUnauthorized: false,
      headers: { "content-type": "application/json" },
    });
    sent.end(body === undefined ? undefined : JSON.stringify(body));
    const [answer] = (await once(sent, "response")) as [IncomingMessage];
    const text = (await answer.toArray()).map(String).join("");
    if ((answer.statusCode ?? 500) >= 300)
      throw new Error(`${method} ${path} of the suite: ${answer.statusCode} ${text.slice(0, 500)}`);
    return JSON.parse(text || "null") as T;
  }

  const status = async (id: string): Promise<{ status: string; result?: Result }> => call("GET", `/api/info/${id}`);

  async function waitForEnd(id: string): Promise<void> {
    const deadline = Date.now() + MODULE_MS;
    while (Date.now() < deadline) {
      await call("GET", `/api/runner/${id}/wait-state`, {
        states: "FINISHED,INTERRUPTED",
        timeoutMs: String(POLL_MS),
      });
      if (["FINISHED", "INTERRUPTED"].includes((await status(id)).status)) return;
    }
    await call("DELETE", `/api/runner/${id}`);
  }

  return {
    about: () => call<{ version: string; revision: string }>("GET", "/api/server"),

    makePlan: (planName: string, variant: Readonly<Record<string, string>>, config: unknown) =>
      call<{ id: string; modules: PlanModule[] }>(
        "POST",
        "/api/plan",
        { planName, variant: JSON.stringify(variant) },
        config,
      ),

    async run(plan: string, { testModule, variant }: PlanModule): Promise<ModuleOutcome> {
      const query: Record<string, string> = { test: testModule, plan };
      if (variant !== null) query["variant"] = JSON.stringify(variant);
      const { id } = await call<{ id: string }>("POST", "/api/runner", query);
      if ((await status(id)).status === "CONFIGURED") await call("POST", `/api/runner/${id}`);
      await waitForEnd(id);
      const end = await status(id);
      const log = await call<LogEntry[]>("GET", `/api/log/${id}`);
      const findings = log.flatMap(({ result, src = "", msg = "" }) =>
        result === "WARNING" || result === "FAILURE" || result === "REVIEW" || result === "INTERRUPTED"
          ? [{ result, condition: src, message: msg } as const]
          : [],
      );
      return { module: testModule, id, result: end.result ?? "FAILED", findings };
    },
  };
}
