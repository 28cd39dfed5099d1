import { askForFaults } from "./lib/audit.ts";

/**
 * `npm run audit` asks the registry for known faults of the locked packages and shows what it says. It ends with 1 where
 * there is one, and with 2 where nobody answered: not known is not "none".
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
