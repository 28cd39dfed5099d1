import { askForFaults } from "./lib/audit.ts";

/**
 * `npm run audit` asks the registry for known vulnerabilities of the locked packages. Exit code 1 if there is one, 2
 * if the registry gave no answer.
 */
const audits = await askForFaults();
for (const { whose, verdict, output } of audits)
  console.log(`${whose}: ${verdict === "unknown" ? "not known. " : ""}${output}\n`);
if (audits.some(({ verdict }) => verdict === "unknown")) {
  console.error(
    "The registry gave no answer about known faults: it cannot be reached, or it is a mirror without that part. " +
      "Set npm_config_registry to npm's own, which has it, and try again.",
  );
  process.exitCode = 2;
} else if (audits.some(({ verdict }) => verdict === "faults")) process.exitCode = 1;
