import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { ROOT } from "../../../../scripts/lib/root.ts";

/** Nothing of the caller's environment may decide a test. */
const FOREIGN =
  /^(VITEST|SITE|NODE_ENV|NODE_OPTIONS|TEST|PORT|STATE_DIR|PLATFORM|PATH_PREFIX|PUBLIC_URL|CONTENT_URL|AUTH_URL|LOG_LEVEL|ALLOW_LOOPBACK|EVENT_.*|PASSWORD_GRANT.*|GATEWAY_.*|OTLP_.*|TRACE_SAMPLE|MAX_.*|R2_.*|DEMO_.*|OPERATOR_CLIENT_SECRET.*|SEAL_KEYS|npm_.*)$/;

/** All that a program needs of the environment; compiled scripts are shared. */
export const SHELL = Object.fromEntries(
  ["PATH", "HOME", "NODE_COMPILE_CACHE"].flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value]];
  }),
) as Readonly<Record<string, string>>;

export interface Program {
  readonly child: ChildProcess;
  /** All that it printed so far. */
  output(): string;
  /** The exit code, once it has ended and closed its output. */
  readonly ended: Promise<number | null>;
}

/** An npm script, in a process group of its own, as a shell would start it. */
export function npm(script: string, env: Record<string, string>, args: readonly string[] = []): Program {
  const inherited = Object.entries(process.env).filter(([name]) => !FOREIGN.test(name));
  const child = spawn("npm", ["run", script, ...args], {
    cwd: ROOT,
    // Few tests look at the documentation, which has to be built.
    env: { ...Object.fromEntries(inherited), SITE: "none", ...env },
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8");
    stream.on("data", (text: string) => (output += text));
  }
  const ended = once(child, "close").then(([code]) => code as number | null);
  return { child, output: () => output, ended };
}

/** Sends a signal to the whole group, as a terminal does at Ctrl-C, and waits for its end. */
export async function stopGroup({ child, ended }: Program, signal: NodeJS.Signals): Promise<void> {
  if (living(child.pid ?? 0).length > 0) process.kill(-(child.pid ?? 0), signal);
  await ended;
}

/** Names of the group's processes that still run (a dead one that nobody waited for does not). */
export function living(group: number): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const [, name, state, pgid] = /\((.*)\) (\S) \d+ (\d+)/s.exec(readFileSync(`/proc/${pid}/stat`, "utf8")) ?? [];
        return Number(pgid) === group && state !== "Z" ? [String(name)] : [];
      } catch {
        return [];
      }
    });
}
