import { spawn } from "node:child_process";
import type { Invocation } from "../command-line/command.ts";

/** Credentials and address of the command, as a second one takes them. */
const SAME = ["url", "operator-secret-file"];

/**
 * Starts a second program, which disables a tenant when this one ends, even if it is killed. It is `tenant set <tenant>
 * --file -`: it waits for the end of its input, and the system ends that together with this program. A tenant that is
 * gone is not made again, since a new one needs more fields. Undefined if there can be none: the operator's secret came
 * from the standard input, or a test runs the command.
 */
export function startGuard({ about, options }: Invocation, tenant: string): { end(): void } | undefined {
  const [program, ...first] = about.program ?? [];
  if (program === undefined || options.value("operator-secret-file") === "-") return undefined;
  const same = SAME.flatMap((flag) => options.values(flag).map((value) => `--${flag}=${value}`));
  const words = ["tenant", "set", tenant, "--file", "-", ...same];
  const guard = spawn(program, [...first, ...words], {
    // It outlives a Ctrl-C, and the end of the terminal.
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
    windowsHide: true,
  });
  guard.on("error", () => {});
  guard.stdin.on("error", () => {}).write(JSON.stringify({ disabled: true }));
  return { end: () => void guard.kill("SIGKILL") };
}
