import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { freePort, newStateDir, startPlatform, stopGroup } from "../acceptance/support/platform-process.ts";
import { register } from "./operator.ts";
import { configuration, PLANS } from "./plans.ts";
import { connect, type ModuleOutcome } from "./suite.ts";
import { makeCertificate, startFront } from "./tls-front.ts";

const HELP = `
Usage: npm run conformance -- [plan …] [--module name …] [--json file]

Runs plans of the OpenID Foundation's conformance suite against a platform that it starts for the purpose.

  plan          ${PLANS.map(({ key }) => key).join(", ")}; without one: all
  --module      runs only these modules of the plans
  --json        writes the outcome of each module to a file

CONFORMANCE_SUITE_URL is where a suite in development mode runs; without it https://localhost:8443.
docs/conformance.md says what it needs.
`;

export async function runConformance(args: readonly string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { module: { type: "string", multiple: true }, json: { type: "string" }, help: { type: "boolean" } },
  });
  if (values.help === true) {
    console.log(HELP);
    return;
  }
  const unknown = positionals.find((key) => !PLANS.some((plan) => plan.key === key));
  if (unknown !== undefined) throw new Error(`There is no plan ${unknown}.${HELP}`);
  const suiteUrl = process.env["CONFORMANCE_SUITE_URL"] || "https://localhost:8443";
  const suite = connect(suiteUrl);
  const { version, revision } = await suite.about();
  console.log(`suite ${version}, commit ${revision}`);

  const [port, tlsPort] = [await freePort(), await freePort()];
  const origin = `https://localhost:${tlsPort}`;
  const operatorSecret = randomBytes(32).toString("base64url");
  const platform = await startPlatform({
    PORT: String(port),
    STATE_DIR: newStateDir(),
    PUBLIC_URL: origin,
    OPERATOR_CLIENT_SECRET: operatorSecret,
    LOG_LEVEL: "info",
  });
  const closeFront = await startFront(tlsPort, platform.url, makeCertificate());
  const outcomes: Record<string, ModuleOutcome[]> = {};
  try {
    const { user, clients } = await register(platform.url, operatorSecret, suiteUrl);
    const config = configuration(`${origin}/oauth2/v1`, user, clients);
    for (const plan of PLANS.filter(({ key }) => positionals.length === 0 || positionals.includes(key))) {
      console.log(`\n${plan.title}`);
      const { id, modules } = await suite.makePlan(plan.name, plan.variant, config);
      const list = (outcomes[plan.key] = [] as ModuleOutcome[]);
      for (const module of modules) {
        if (values.module !== undefined && !values.module.includes(module.testModule)) continue;
        const outcome = await suite.run(id, module);
        list.push(outcome);
        console.log(`  ${outcome.result.padEnd(8)} ${outcome.module}  ${suiteUrl}/log-detail.html?log=${outcome.id}`);
        for (const { result, condition, message } of outcome.findings)
          console.log(`           ${result} ${condition}: ${message}`);
      }
    }
  } finally {
    if (values.json !== undefined)
      writeFileSync(values.json, JSON.stringify({ version, revision, outcomes }, undefined, 2));
    closeFront();
    await stopGroup(platform, "SIGTERM");
  }
  const failed = Object.values(outcomes)
    .flat()
    .filter(({ result }) => result === "FAILED");
  if (failed.length > 0) process.exitCode = 1;
}
