import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline/promises";
import { join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { BUNDLE_BUDGET_GZIP_BYTES, bundleWorker, wrangler } from "../../scripts/lib/bundle.ts";
import { checkS3, givenS3Secrets, parseWithS3 } from "../../scripts/lib/local/deploy-s3.ts";
import { readDevVars } from "../../scripts/lib/local/dev-vars.ts";
import { ROOT } from "../../scripts/lib/root.ts";
import { run } from "../../scripts/lib/run.ts";
import { UserError } from "../../scripts/lib/user-error.ts";
import {
  attachHosts,
  clearWorkFolder,
  deployCanary,
  deployOlder,
  deployWorker,
  prepare,
  shareRequests,
  type Steps,
} from "./apply.ts";
import { checkCanary, checkUnchanged, findCanary, type Canary } from "./canary.ts";
import { createCloudflare, type Cloudflare } from "./cloudflare.ts";
import { deploymentPath, newDeploymentFile, readDeployment, type Deployment } from "./deployment.ts";
import { destroy, destruction } from "./destroy.ts";
import { inspect, type FoundWorker } from "./found.ts";
import { migrationNames } from "./migrations.ts";
import { DANGER_FLAGS, makePlan, type DangerFlag, type Plan } from "./plan.ts";
import { findWayBack, newClasses, planRollback, releaseOf } from "./rollback.ts";
import { askAt, askHost, waitUntilReachable, type Ask } from "./reach.ts";
import { firstOperator } from "./first-operator.ts";
import { ESCROW, keepSecrets, planSecrets } from "./secrets.ts";
import { askUsedSealKeys, type UsedSealKeys } from "./sealed.ts";
import { checkZones, isMaintained, smokeTest, type Check } from "./smoke.ts";
import { haveSameSecrets, nextTakesOver, runningVersions } from "./versions.ts";

export const HELP = `npm run deploy -- <name> [what] [options]     puts a platform on Cloudflare; safe to repeat

A deployment is a file, deploy/<name>.toml: hosts, place, variables. Nothing is taken from the shell but secrets.

  npm run deploy -- production init --host plinth.example.com --location weur --operator ada@example.com
  npm run deploy -- production                 shows what changes, asks, does it, and tests it
  npm run deploy -- production --canary 10     10 % of requests go to the new version; again: another share
  npm run deploy -- production rollback        ends a canary; otherwise back to the release before
  npm run deploy -- production rollback ID     back to this version of the Worker
  npm run deploy -- production smoke           tests what is deployed
  npm run deploy -- production destroy         deletes all of it, asks twice
  npm run deploy -- --dry-run                  bundles offline, prints the size, fails over the budget

Options
  --yes                do not ask
  --plan               show what would change, and end
  --tour               take the tour at the end; it makes a tenant named tour… and removes it
  --secrets FILE       where secrets that are made here are kept (deploy/<name>.secrets)
  --at URL             where the platform is asked and tested, before its name leads there
  --lose-events        a shorter retention, or smaller logs
  --lose-sealed        SEAL_KEYS, without asking the Worker which keys its objects need
  --old-secrets        a rollback to a version that may have other secrets
  --rename-platform    another PLATFORM or PATH_PREFIX
  --rename-people      another SUBJECT
  --move-host          another host
  --move-sign-in       another auth_host
  --take-over          a bucket that has objects already
  --move-jurisdiction  another jurisdiction: topics and files begin empty
A rollback brings old variables and secrets back, so it needs these flags too.

It needs an account that wrangler is signed in to (npx wrangler login), or CLOUDFLARE_API_TOKEN and
CLOUDFLARE_ACCOUNT_ID. Secrets are taken from the environment where they are set: OPERATOR_CLIENT_SECRET,
OPERATOR_CLIENT_SECRET_PREVIOUS, SEAL_KEYS, OTLP_HEADERS, R2_ACCESS_KEY_ID, R2_SECRET_ACCESS_KEY. docs/operate/deploy.md says more.
`;

const OPTIONS = {
  help: { type: "boolean" },
  "dry-run": { type: "boolean" },
  yes: { type: "boolean" },
  plan: { type: "boolean" },
  tour: { type: "boolean" },
  canary: { type: "string" },
  secrets: { type: "string" },
  at: { type: "string" },
  host: { type: "string" },
  location: { type: "string" },
  jurisdiction: { type: "string" },
  operator: { type: "string" },
  ...Object.fromEntries(DANGER_FLAGS.map((flag) => [flag, { type: "boolean" } as const])),
} as const;

type Options = ReturnType<typeof parseArgs<{ options: typeof OPTIONS; allowPositionals: true }>>["values"];

const say = (line: string): void => console.log(line);
const isTerminal = process.stdin.isTTY && process.stdout.isTTY;

export async function main(args: readonly string[]): Promise<void> {
  const { values, positionals } = parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
  const [name, what = "deploy", ...more] = positionals;
  const takes = what === "rollback" ? 1 : 0;
  if (values.help === true) return say(HELP);
  if (values["dry-run"] === true) return dryRun();
  const command = COMMANDS[what];
  if (command === undefined || more.length > takes)
    throw new UserError(
      `There is no "${[what, ...more].join(" ")}" of a deployment: ${Object.keys(COMMANDS).join(", ")}.`,
    );
  if (name === undefined) throw new UserError(`Which deployment? npm run deploy -- <name>\n\n${HELP}`);
  // An option that a command does not know must not be taken for one that it obeys, such as --plan.
  const foreign = Object.keys(values).filter((flag) => !TAKES[what]?.includes(flag));
  if (foreign.length > 0)
    throw new UserError(`\nNothing was changed. ${what} takes no ${foreign.map((flag) => `--${flag}`).join(", ")}.`);
  await command(name, values, more[0]);
}

const OF_TEST = ["secrets", "at", "tour"];
const OF_CHANGE = ["yes", "plan", ...OF_TEST, ...DANGER_FLAGS];
/** The options of each command. */
const TAKES: Readonly<Record<string, readonly string[]>> = {
  deploy: [...OF_CHANGE, "canary"],
  init: ["host", "location", "jurisdiction", "operator"],
  smoke: OF_TEST,
  rollback: OF_CHANGE,
  destroy: ["yes", "plan", "host"],
};

type Command = (name: string, options: Options, versionId: string | undefined) => Promise<void>;

const COMMANDS: Readonly<Record<string, Command>> = {
  deploy: deployAll,
  init: writeFile,
  smoke: async (name, options) => {
    const deployment = readDeployment(name);
    await test(await signIn(), deployment, options);
  },
  rollback,
  destroy: destroyAll,
};

async function deployAll(name: string, options: Options): Promise<void> {
  const deployment = readDeployment(name);
  const percent = canaryPercent(options.canary);
  const secretsPath = secretsPathOf(deployment, options);
  const cloudflare = await signIn();
  const running = await runningVersions(cloudflare, deployment);
  const canary = findCanary(deployment, running);
  if (canary !== undefined && percent !== undefined) return raiseCanary(deployment, canary, percent, options);
  const found = await inspect(cloudflare, deployment);
  // After a rollback the settings of the Worker may be those of the newest upload, which does not run.
  const before = running.length === 0 && found.worker !== undefined ? [found.worker] : running;
  const secrets = await planSecrets(found, {
    env: process.env,
    path: secretsPath,
    mayMake: isTerminal || options.secrets !== undefined,
    askUsedSealKeys: (worker) => askRunning(deployment, before[0] ?? worker, options),
  });
  const s3Secrets = givenS3Secrets(process.env);
  const { s3 } = parseWithS3({ ...deployment.vars, ...PLACEHOLDER_SECRETS, ...secrets.values }, s3Secrets);
  await checkS3(s3, s3Secrets, found.worker?.secrets ?? new Set(), [deployment.bucket]);

  const newest = running.at(-1);
  const others =
    newest === undefined || (await nextTakesOver(cloudflare, deployment, newest))
      ? []
      : ["~ secrets that are not given: those of the version that was uploaded last, not of the one that runs"];
  const secretPlan = { ...secrets, changes: [...secrets.changes, ...others] };
  const classes = [...new Set(before.flatMap(newClasses))];
  const plan = makePlan(deployment, found, migrationNames(), secretPlan, classes, before);
  show(deployment, cloudflare, plan);
  const proven =
    percent === undefined ? undefined : await checkCanary(cloudflare, deployment, running[0], secrets.values);
  refuse(plan, options);
  if (options.plan === true) return;
  await confirm(options, "Go on?", "y");

  clearWorkFolder(deployment);
  keepSecrets(secretsPath, secrets.made);
  const steps: Steps = { cloudflare, deployment, found, secrets: secrets.values, say };
  const config = await prepare(steps);
  if (proven !== undefined && percent !== undefined) return deployCanary(steps, config, proven, percent);
  await deployWorker(steps, config);
  await attachHosts(steps);
  if (secrets.isOnlyCopy) say(`\nThe only copy of the secrets is ${relative(ROOT, secretsPath)}.\n${ESCROW}\n`);
  await test(cloudflare, deployment, options, before);
}

/**
 * Asks the Worker that runs which seal keys it needs. With --lose-sealed it is not asked: it may be a thief's, who would
 * see the operator's secret. Nor is it asked at a host that the file does not name.
 */
async function askRunning(deployment: Deployment, worker: FoundWorker, options: Options): Promise<UsedSealKeys> {
  if (has(options, "lose-sealed")) return { fault: "the Worker is not asked" };
  const { PUBLIC_URL: url = "" } = worker.vars;
  if (options.at === undefined && url !== deployment.publicUrl)
    return { fault: `the Worker is at ${url || "an unknown host"}, and the file says ${deployment.publicUrl}` };
  const { OPERATOR_CLIENT_SECRET: given, OPERATOR_CLIENT_SECRET_PREVIOUS: previous } = process.env;
  const { OPERATOR_CLIENT_SECRET: kept } = readDevVars(secretsPathOf(deployment, options));
  const secrets = [...new Set([given, previous, kept].flatMap((secret) => secret || []))];
  return askUsedSealKeys(worker, { ask: asking(deployment, options), secrets });
}

const has = (options: Options, flag: DangerFlag): boolean => options[flag as keyof Options] === true;

/** Refuses what cannot be, and what loses data and is not asked for by its flag. */
function refuse({ refusals, dangers }: Plan, options: Options): void {
  if (refusals.length > 0) throw new UserError(`\nNothing was changed:\n${bullets(refusals)}`);
  const forbidden = dangers.filter(({ flag }) => !has(options, flag));
  if (forbidden.length > 0 && options.plan !== true)
    throw new UserError(
      `\nNothing was changed. If that is meant:\n${bullets(forbidden.map(({ flag, text }) => `--${flag}: ${text}`))}`,
    );
}

async function raiseCanary(deployment: Deployment, both: Canary, percent: number, options: Options): Promise<void> {
  const { proven, canary } = both;
  checkUnchanged(deployment, both);
  say(`Version ${canary.id}, ${releaseOf(canary)}, gets ${percent} % of requests, not ${canary.percentage} %.`);
  say(
    `The others go to version ${proven.id}, ${releaseOf(proven)}. Nothing is uploaded. Another build needs a rollback first.`,
  );
  if (options.plan === true) return;
  await confirm(options, "Go on?", "y");
  await shareRequests({ deployment, say }, proven.id, canary.id, percent);
}

/** Placeholders for secrets that the Worker has and nobody can read back. The settings are checked as a whole. */
const PLACEHOLDER_SECRETS = {
  OPERATOR_CLIENT_SECRET: "a-secret-that-the-worker-has-already",
  SEAL_KEYS: `k0:${Buffer.alloc(32).toString("base64")}`,
};

function canaryPercent(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const percent = Number(text);
  if (!Number.isInteger(percent) || percent < 1 || percent > 99)
    throw new UserError("--canary takes 1 to 99, in percent.");
  return percent;
}

const secretsPathOf = ({ secretsPath }: Deployment, { secrets }: Options): string =>
  secrets === undefined ? secretsPath : resolve(secrets);

async function writeFile(name: string, { host, location, jurisdiction, operator }: Options): Promise<void> {
  const path = deploymentPath(name);
  if (existsSync(path)) throw new UserError(`deploy/${name}.toml is there already.`);
  if (host === undefined)
    throw new UserError(`Name its host: npm run deploy -- ${name} init --host plinth.example.com`);
  mkdirSync(join(ROOT, "deploy"), { recursive: true });
  writeFileSync(path, newDeploymentFile({ name, host, location, jurisdiction, operator }), { flag: "wx" });
  try {
    readDeployment(name);
  } catch (error) {
    rmSync(path);
    throw error;
  }
  say(`deploy/${name}.toml is written. Look at it, keep it in your repository, then: npm run deploy -- ${name}`);
}

async function rollback(name: string, options: Options, versionId: string | undefined): Promise<void> {
  const deployment = readDeployment(name);
  const { worker } = deployment;
  const cloudflare = await signIn();
  const running = await runningVersions(cloudflare, deployment);
  const back = await findWayBack(cloudflare, deployment, running, versionId);
  const plan = planRollback(running, back, await haveSameSecrets(cloudflare, deployment, [...running, back]));
  say(`${worker} goes back to version ${back.id}, ${releaseOf(back)}. The database stays as it is.`);
  showPlan(plan);
  refuse(plan, options);
  if (options.plan === true) return;
  await confirm(options, "Go on?", "y");
  await deployOlder({ cloudflare, deployment }, back, has(options, "old-secrets"));
  say(`Version ${back.id} has all requests.`);
  const { MAINTENANCE = "false" } = back.vars;
  await test(cloudflare, { ...deployment, vars: { ...deployment.vars, MAINTENANCE } }, options, running);
}

async function destroyAll(name: string, options: Options): Promise<void> {
  const deployment = readDeployment(name);
  const cloudflare = await signIn();
  const found = await inspect(cloudflare, deployment);
  const goes = destruction(deployment, found);
  if (goes.length === 0) return say(`Nothing of ${deployment.worker} is in the account.`);
  say(`${deployment.worker} in account ${cloudflare.accountId}:\n${goes.map((line) => `  ${line}`).join("\n")}`);
  if (options.plan === true) return;
  await confirm(options, "All of this is deleted, and nothing brings it back. Go on?", "y");
  await confirm(
    { ...options, yes: options.host === deployment.hosts[0] },
    "Type the host, to be sure:",
    deployment.hosts[0]!,
  );
  await destroy(cloudflare, deployment, found, say);
  say(`Deleted. deploy/${name}.toml is still here.`);
}

/** Asks the person at a terminal. Elsewhere --yes is required, and --host for a deletion. */
async function confirm(options: Options, question: string, expected: string): Promise<void> {
  if (options.yes === true) return;
  if (!isTerminal)
    throw new UserError(
      expected === "y"
        ? "\nNothing was changed. Say --yes to do it."
        : `\nNothing was deleted. Say --host ${expected} too.`,
    );
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const answer = await terminal
    .question(`${question} ${expected === "y" ? "[y/N] " : ""}`)
    .finally(() => terminal.close());
  if (answer.trim().toLowerCase() !== expected) throw new UserError("Nothing was changed.");
}

/** Signs in with wrangler's token, which our own calls use too. */
async function signIn(): Promise<Cloudflare> {
  const baseUrl = process.env["CLOUDFLARE_API_BASE_URL"] || "https://api.cloudflare.com/client/v4";
  const token = process.env["CLOUDFLARE_API_TOKEN"] || (await wranglerToken());
  const given = process.env["CLOUDFLARE_ACCOUNT_ID"];
  if (given) return createCloudflare({ baseUrl, token, accountId: given });
  const { root } = createCloudflare({ baseUrl, token, accountId: "" });
  const accounts = await root.list<{ id: string; name: string }>("/accounts");
  if (accounts.length === 1) return createCloudflare({ baseUrl, token, accountId: accounts[0]!.id });
  throw new UserError(
    `Set CLOUDFLARE_ACCOUNT_ID to one of these accounts:\n${bullets(accounts.map(({ id, name }) => `${id}  ${name}`))}`,
  );
}

async function wranglerToken(): Promise<string> {
  const output = await wrangler(["auth", "token", "--json"]).catch(() => {
    throw new UserError("Sign in first: npx wrangler login. In CI: CLOUDFLARE_API_TOKEN and CLOUDFLARE_ACCOUNT_ID.");
  });
  const { token } = JSON.parse(output.slice(output.indexOf("{"))) as { token?: string };
  if (token === undefined)
    throw new UserError("wrangler is signed in with a global API key. Set CLOUDFLARE_API_TOKEN.");
  return token;
}

/** `before`: the versions that ran until now. */
async function test(
  cloudflare: Cloudflare,
  deployment: Deployment,
  options: Options,
  before: readonly FoundWorker[] = [],
): Promise<void> {
  const ask = asking(deployment, options);
  await waitUntilReachable(ask, say);
  const secret =
    process.env["OPERATOR_CLIENT_SECRET"] || readDevVars(secretsPathOf(deployment, options))["OPERATOR_CLIENT_SECRET"];
  const { hosts } = await inspect(cloudflare, deployment);
  const hasRested = before.some(isMaintained);
  const faults = report(await smokeTest({ ask, deployment, operatorSecret: secret, hasRested }));
  // A zone may have other users, so its settings are only reported.
  report(await checkZones(cloudflare, hosts));
  if (faults > 0) throw new UserError(`\n${deployment.publicUrl} is deployed, and ${faults} of the checks failed.`);
  if (options.tour === true) await takeTour(deployment, options.at ?? deployment.publicUrl, secret);
  if (isMaintained(deployment)) return say(`\n${deployment.publicUrl} is in maintenance.`);
  say(`\n${deployment.publicUrl} works.`);
  // Not in maintenance: a backup is restored into an empty platform alone.
  await firstOperator({ ask, deployment, operatorSecret: secret, say });
}

const asking = ({ publicUrl }: Deployment, { at }: Options): Ask => (at === undefined ? askHost(publicUrl) : askAt(at));

function report(checks: readonly Check[]): number {
  for (const { name, fault, unknown } of checks)
    say(unknown === true ? `? ${name}: not known` : fault === undefined ? `✓ ${name}` : `✗ ${name}: ${fault}`);
  return checks.filter(({ fault }) => fault !== undefined).length;
}

async function takeTour({ vars }: Deployment, url: string, secret: string | undefined): Promise<void> {
  if (secret === undefined) throw new UserError("The tour needs OPERATOR_CLIENT_SECRET.");
  const args = [join(ROOT, "scripts", "tour.ts"), "--url", url];
  const { code } = await run(process.execPath, args, {
    env: { ...process.env, ...vars, OPERATOR_CLIENT_SECRET: secret },
    show: true,
  });
  if (code !== 0) throw new UserError("It is deployed, and the tour found something wrong.");
}

function show(deployment: Deployment, { accountId }: Cloudflare, plan: Plan): void {
  say(`${deployment.publicUrl} (deploy/${deployment.name}.toml) in account ${accountId}:`);
  showPlan(plan);
}

function showPlan({ changes, dangers }: Plan): void {
  for (const change of changes) say(`  ${change}`);
  for (const { text } of dangers) say(`  ! ${text}`);
}

const bullets = (lines: readonly string[]): string => lines.map((line) => `  ${line}`).join("\n");

async function dryRun(): Promise<void> {
  const { path, sizeBytes, gzipBytes } = await bundleWorker(join(ROOT, ".build"), { minify: true });
  const kib = (bytes: number): string => `${(bytes / 1024).toFixed(1)} KiB`;
  say(`${path}\n${kib(sizeBytes)}, gzip ${kib(gzipBytes)} (budget ${kib(BUNDLE_BUDGET_GZIP_BYTES)})`);
  if (gzipBytes > BUNDLE_BUDGET_GZIP_BYTES) throw new UserError("The bundle is over its budget.");
}
