import { randomBytes } from "node:crypto";
import { parseArgs } from "node:util";
import { startPlatform } from "../acceptance/support/process/platform.ts";
import { stopGroup } from "../acceptance/support/process/program.ts";
import { freePort, newStateDir } from "../acceptance/support/process/state.ts";
import { register } from "./operator.ts";
import { configuration, PLANS } from "./plans.ts";
import { explain, type Explained } from "./explanations.ts";
import { writeReport } from "./report.ts";
import { connect } from "./suite.ts";
import { startRelay } from "./relay.ts";
import { makeCertificate, startFront } from "./tls-front.ts";

const HELP = `
Usage: npm run conformance -- [plan …] [--module name …] [--write]
       npm run conformance -- mcp <path of the dist/index.js of @modelcontextprotocol/conformance>

Runs plans of the OpenID Foundation's conformance suite against a platform that it starts for the purpose.

  plan          ${PLANS.map(({ key }) => key).join(", ")}; without one: all
  --module      runs only these modules of the plans
  --write       writes the results into docs/conformance.md if there is nothing wrong

CONFORMANCE_SUITE_URL is where a suite in development mode runs; without it https://localhost:8443.
docs/conformance.md says what it needs.
`;

export async function runConformance(args: readonly string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { module: { type: "string", multiple: true }, write: { type: "boolean" }, help: { type: "boolean" } },
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
  const relay = await startRelay(suiteUrl);
  const outcomes: Record<string, Explained[]> = {};
  try {
    const registered = await register(platform.url, operatorSecret, suiteUrl, relay.url);
    for (const plan of PLANS.filter(({ key }) => positionals.length === 0 || positionals.includes(key))) {
      console.log(`\n${plan.title}`);
      const config = configuration(plan, { issuer: `${origin}/oauth2/v1`, suite: suiteUrl }, registered);
      const { id, modules } = await suite.makePlan(plan.name, plan.variant, config);
      const list: Explained[] = (outcomes[plan.key] = []);
      for (const module of modules) {
        if (values.module !== undefined && !values.module.includes(module.testModule)) continue;
        const outcome = explain(await suite.run(id, module));
        list.push(outcome);
        console.log(`  ${outcome.result.padEnd(8)} ${outcome.module}  ${suiteUrl}/log-detail.html?log=${outcome.id}`);
        for (const { result, condition, message } of outcome.unexplained)
          console.log(`           ${result} ${condition}: ${message}`);
      }
    }
  } finally {
    relay.close();
    closeFront();
    await stopGroup(platform, "SIGTERM");
  }
  const all = Object.values(outcomes).flat();
  const wrong = all.filter(({ result, unexplained }) => result === "FAILED" || unexplained.length > 0);
  console.log(`\n${all.length} modules, ${wrong.length} of them failed or with a warning that nothing explains`);
  if (wrong.length > 0) process.exitCode = 1;
  else if (values.write === true) writeReport({ version, revision, date: new Date() }, outcomes);
}
