import { run } from "./lib/run.ts";

/**
 * `npm run audit` asks the registry for known faults of the locked packages, those of the Worker first. It needs the
 * network, so it is no stage of `npm test`. It ends with 1 where there is a fault, and with 2 where nobody answered.
 */
const TIMEOUT_MS = 60_000;
const npm = process.env["npm_execpath"];
const [command, first] = npm?.endsWith("npm-cli.js") === true ? [process.execPath, [npm]] : ["npm", []];

for (const [whose, args] of [
  ["the Worker", ["--omit=dev", "--omit=optional"]],
  ["everything", []],
] as const) {
  const { code, output } = await run(command, [...first, "audit", ...args], { timeoutMs: TIMEOUT_MS });
  const isAnswered = code === 0 || /^# npm audit report$/m.test(output);
  console.log(`${whose}: ${isAnswered ? output.trim() : "not known"}`);
  if (!isAnswered) {
    console.error(`${output.trim()}\n`);
    console.error(
      "The registry gave no answer about known faults: it cannot be reached, or it is a mirror without that part. " +
        "Set npm_config_registry to npm's own, which has it, and try again.",
    );
    process.exitCode = 2;
    break;
  }
  if (code !== 0) process.exitCode = 1;
}
