import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { paint } from "../../scripts/lib/terminal.ts";
import { UserError } from "../../scripts/lib/user-error.ts";
import { launchChromium } from "../acceptance/support/chromium.ts";
import { startPlatform } from "../acceptance/support/process/platform.ts";
import { stopGroup } from "../acceptance/support/process/program.ts";
import { newStateDir } from "../acceptance/support/process/state.ts";
import { INTEGRATIONS } from "./integrations.ts";
import { follow } from "./stage.ts";

/** Tells how one page went, and why it did not where it was skipped or failed. */
interface Outcome {
  readonly name: string;
  readonly result: "passed" | "failed" | "skipped";
  readonly reason: string;
}

const HELP = `npm run integrations [-- name…]

Follows the pages of docs/integrations against a platform of its own: what they show is installed, started, and signed
in to by a browser. A page whose programs are not on this machine is skipped.

Pages: ${Object.keys(INTEGRATIONS).join(", ")}`;

/** Follows the named pages, or all. True if none failed. */
export async function runIntegrations(args: readonly string[]): Promise<boolean> {
  if (args.includes("--help") || args.includes("-h")) {
    console.log(HELP);
    return true;
  }
  const unknown = args.find((name) => !(name in INTEGRATIONS));
  if (unknown !== undefined) throw new UserError(`There is no page ${unknown}.\n\n${HELP}`);
  const wanted = Object.entries(INTEGRATIONS).filter(([name]) => args.length === 0 || args.includes(name));
  const stateDir = newStateDir();
  const platform = await startPlatform({ STATE_DIR: stateDir });
  const browser = await launchChromium();
  const outcomes: Outcome[] = [];
  try {
    for (const [name, integration] of wanted) {
      const missing = integration.needs.filter((program) => !has(program));
      const startedMs = performance.now();
      let [result, reason]: [Outcome["result"], string] = ["passed", ""];
      if (missing.length > 0) [result, reason] = ["skipped", `needs ${missing.join(", ")}`];
      else {
        const context = await browser.newContext({ locale: "en-GB" });
        try {
          await follow(name, integration, platform, context);
          reason = `${((performance.now() - startedMs) / 1_000).toFixed(1)} s`;
        } catch (error) {
          [result, reason] = ["failed", (error as Error).stack ?? String(error)];
        } finally {
          await context.close();
        }
      }
      outcomes.push({ name, result, reason });
      const shown = result === "failed" ? paint.red(result) : result === "passed" ? paint.green(result) : result;
      console.log(`${name}: ${shown}${result === "skipped" ? `: ${reason}` : ` ${paint.dim(reason)}`}`);
    }
  } finally {
    await browser.close();
    await stopGroup(platform, "SIGKILL");
    rmSync(stateDir, { recursive: true, force: true });
  }
  return outcomes.every(({ result }) => result !== "failed");
}

const has = (program: string): boolean =>
  spawnSync("bash", ["-c", `PATH=$PATH:/usr/sbin; [ -e "${program}" ] || command -v ${program}`]).status === 0;
