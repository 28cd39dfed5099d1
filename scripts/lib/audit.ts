import { run } from "./run.ts";

/** The registry's answer about the locked packages. `unknown`: it gave none. */
export interface Audit {
  readonly whose: "the Worker" | "everything";
  readonly verdict: "none" | "faults" | "unknown";
  /** The output of npm. */
  readonly output: string;
}

/** A registry that does not answer must not block the caller. */
const OPTIONS = ["--loglevel=error", "--fetch-retries=0", "--fetch-timeout=15000"];
const TIMEOUT_MS = 60_000;
const PARTS = [
  ["the Worker", ["--omit=dev", "--omit=optional"]],
  ["everything", []],
] as const;

/** Asks for known vulnerabilities of the packages in the Worker, and of all locked packages. */
export function askForFaults(env: NodeJS.ProcessEnv = process.env): Promise<readonly Audit[]> {
  const npm = env["npm_execpath"];
  const [command, first] = npm?.endsWith("npm-cli.js") === true ? [process.execPath, [npm]] : ["npm", []];
  const asked = PARTS.map(async ([whose, args]): Promise<Audit> => {
    const { code, output } = await run(command, [...first, "audit", ...OPTIONS, ...args], {
      env,
      timeoutMs: TIMEOUT_MS,
    });
    const verdict = code === 0 ? "none" : /^# npm audit report$/m.test(output) ? "faults" : "unknown";
    return { whose, verdict, output: output.trim() };
  });
  return Promise.all(asked);
}

/**
 * The verdict for `npm test`: a vulnerability in the Worker fails. One in a tool, or no answer, is only a note,
 * because the registry's answer can change without a change here.
 */
export function judge(audits: readonly Audit[]): { readonly isFine: boolean; readonly note: string } {
  const of = (whose: Audit["whose"]) => audits.find((audit) => audit.whose === whose)?.verdict ?? "unknown";
  if (of("the Worker") === "faults") return { isFine: false, note: "a package of the Worker has a known fault" };
  if (audits.length === 0 || audits.some(({ verdict }) => verdict === "unknown"))
    return { isFine: true, note: "not known: the registry gave no answer (npm run audit)" };
  return { isFine: true, note: of("everything") === "faults" ? "a tool has a known fault: npm run audit" : "" };
}
