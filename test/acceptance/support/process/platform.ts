import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import { living, npm, type Program } from "./program.ts";
import { freePort } from "./state.ts";

export interface Platform extends Program {
  readonly url: string;
  readonly port: number;
  /** From the start of npm to the line `ready`. */
  readonly readyMs: number;
}

/** The platforms that this test file started; what they print is looked through in the end (log-watch.ts). */
export const started: { readonly env: Readonly<Record<string, string>>; readonly output: () => string }[] = [];

/** `npm start`, or another script that starts a platform, awaited until it is ready. */
export async function startPlatform(env: Record<string, string>, script = "start"): Promise<Platform> {
  const startedMs = performance.now();
  const port = Number(env["PORT"] ?? (await freePort()));
  // Logging all that can be logged, for log-watch.ts to look at.
  const program = npm(script, { LOG_LEVEL: "info", ...env, PORT: String(port) });
  started.push({ env, output: program.output });
  for (;;) {
    const ready = /^ready (\S+)$/m.exec(program.output());
    if (ready?.[1] !== undefined) return { ...program, url: ready[1], port, readyMs: performance.now() - startedMs };
    if (program.child.exitCode !== null) throw new Error(`npm run ${script} ended:\n${program.output()}`);
    await sleep(20);
  }
}

/** Sends a signal to npm alone or to the whole group: the platform ends in order, with all of its processes. */
export async function expectToEndBy(platform: Platform, signal: NodeJS.Signals, to: "npm" | "group"): Promise<void> {
  const npmPid = platform.child.pid ?? expect.fail("npm has no pid");
  process.kill(to === "group" ? -npmPid : npmPid, signal);
  await expect.poll(() => living(npmPid), { timeout: 5_000 }).toEqual([]);
  await platform.ended;
  expect(platform.output()).toContain("stopped");
  expect(platform.output()).not.toMatch(/error|failed/i);
}
