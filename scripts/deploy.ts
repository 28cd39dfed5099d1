import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { unstable_readConfig } from "wrangler";
import { BUNDLE_BUDGET_GZIP_BYTES, bundleWorker, wrangler } from "./lib/bundle.ts";
import { checkS3, givenS3Secrets, parseWithS3 } from "./lib/deploy-s3.ts";
import { readDevVars } from "./lib/dev-vars.ts";
import { ROOT } from "./lib/root.ts";
import { run } from "./lib/run.ts";
import { failWith, UserError } from "./lib/user-error.ts";

const HELP = `npm run deploy                puts the platform on Cloudflare; safe to repeat
npm run deploy -- --dry-run   bundles offline, prints the size, fails over the budget

Needs an account that wrangler is signed in to (or CLOUDFLARE_API_TOKEN and CLOUDFLARE_ACCOUNT_ID) and
  PUBLIC_URL               https://<host>, a host name in a zone of that account
  CONTENT_URL              where it is set: another such address, which has content alone
  AUTH_URL                 where it is set: another such address, which has the pages for people alone
Each variable of [vars] in wrangler.toml is taken from the environment where it is set.

Uploads go to R2 by presigned links where these are set: R2_S3_ENDPOINT (https://<account>.r2.cloudflarestorage.com), and
R2_ACCESS_KEY_ID and R2_SECRET_ACCESS_KEY of an R2 API token that reads and writes objects of the bucket.

It makes what is missing (D1 database, R2 bucket with CORS and lifecycle, queues, secrets), applies the migrations,
deploys to the custom domains, and takes the tour there, which leaves nothing but rows of the audit log. New secrets are kept in .deploy.vars: move them to a safe place.
`;
const CONFIG = join(ROOT, "wrangler.toml");
/** wrangler.toml with the account's database and this deployment's variables. Made anew each time, not committed. */
const DEPLOY_CONFIG = join(ROOT, "wrangler.deploy.toml");
const SECRETS_PATH = join(ROOT, ".deploy.vars");
const PLACEHOLDER_DATABASE = "00000000-0000-0000-0000-000000000000";
const DAY_SEC = 86_400;

const SCRATCH = join(ROOT, ".build");

const makeOperatorSecret = (): string => randomBytes(32).toString("base64url");
const makeSealKeys = (): string => `k1:${randomBytes(32).toString("base64")}`;

async function dryRun(): Promise<void> {
  const { path, sizeBytes, gzipBytes } = await bundleWorker(SCRATCH, { minify: true });
  const kib = (bytes: number): string => `${(bytes / 1024).toFixed(1)} KiB`;
  const budget = `budget ${kib(BUNDLE_BUDGET_GZIP_BYTES)}`;
  console.log(`${path}\n${kib(sizeBytes)}, gzip ${kib(gzipBytes)} (${budget})`);
  if (gzipBytes > BUNDLE_BUDGET_GZIP_BYTES) throw new UserError("The bundle is over its budget.");
}

/** Each step looks first and makes only what is missing, so a deployment that broke off is simply run again. */
async function deploy(): Promise<void> {
  const publicUrl = process.env["PUBLIC_URL"] ?? "";
  const host = customDomain(publicUrl);
  if (host === undefined)
    throw new UserError("Set PUBLIC_URL=https://<host> first: the origin of every link and of the token issuer.");
  const config = unstable_readConfig({ config: CONFIG }, { hideWarnings: true });
  const vars: Record<string, string> = {};
  for (const [name, value] of Object.entries(config.vars)) vars[name] = process.env[name] ?? String(value);
  const buckets = config.r2_buckets.map(({ bucket_name: name = "" }) => name);
  const hosts = new Set([host]);
  for (const name of ["CONTENT_URL", "AUTH_URL"]) {
    if (!vars[name]) continue;
    const apart = customDomain(vars[name]);
    if (apart === undefined)
      throw new UserError(`Set ${name}=https://<host>, or leave it empty: the Worker gets a custom domain for it.`);
    hosts.add(apart);
  }
  if (vars["R2_S3_ENDPOINT"]) vars["R2_BUCKET"] ||= buckets[0] ?? "";
  const s3Secrets = givenS3Secrets(process.env);
  const secretsToBe = { OPERATOR_CLIENT_SECRET: makeOperatorSecret(), SEAL_KEYS: makeSealKeys() };
  const { s3 } = parseWithS3({ ...vars, ...secretsToBe }, s3Secrets);
  mkdirSync(SCRATCH, { recursive: true });

  const database = config.d1_databases[0]?.database_name ?? "";
  const known = await findDatabase(database);
  const worker = config.name ?? "";
  const knownSecrets = await secretNames(worker);
  await checkS3(s3, s3Secrets, knownSecrets, buckets);
  const secrets = { ...missingSecrets(worker, knownSecrets, known === undefined), ...s3Secrets };
  writeFileSync(DEPLOY_CONFIG, deploymentConfig(known ?? (await makeDatabase(database)), vars));
  for (const bucket of buckets) await ensureBucket(bucket);
  const { producers = [], consumers = [] } = config.queues;
  for (const queue of new Set([...producers, ...consumers].map((item) => item.queue))) await ensureQueue(queue);

  await step(["d1", "migrations", "apply", database, "--remote", "--config", DEPLOY_CONFIG]);
  const args = ["deploy", "--config", DEPLOY_CONFIG, ...[...hosts].flatMap((one) => ["--domain", one])];
  await withJsonFile(secrets, (path) => step([...args, "--secrets-file", path]));
  await takeTour(publicUrl, vars);
}

/** The host of such an address, which may have no port. */
const customDomain = (url: string): string | undefined => /^https:\/\/([^/:]+)\/?$/.exec(url)?.[1];

async function findDatabase(name: string): Promise<string | undefined> {
  const list: { name: string; uuid: string }[] = parseList(await wrangler(["d1", "list", "--json"]));
  return list.find((database) => database.name === name)?.uuid;
}

async function makeDatabase(name: string): Promise<string> {
  await step(["d1", "create", name]);
  const made = await findDatabase(name);
  if (made === undefined) throw new UserError(`The database ${name} was made and is not listed. Try again.`);
  return made;
}

/**
 * Uploads may come from any page. What a broken upload leaves goes after two days: under incoming/, and parts of
 * multipart uploads anywhere. The second rule takes the place of R2's own (seven days): setting rules replaces all.
 */
async function ensureBucket(name: string): Promise<void> {
  if (!(await succeeds(["r2", "bucket", "info", name]))) await step(["r2", "bucket", "create", name]);
  const allowed = {
    origins: ["*"],
    methods: ["GET", "HEAD", "PUT"],
    // Of the digests R2 checks the first alone; a browser that sends another is not to be refused for that.
    headers: ["content-type", "content-disposition", "content-md5", "content-digest", "repr-digest"],
  };
  const cors = { rules: [{ allowed, exposeHeaders: ["ETag"], maxAgeSeconds: 3600 }] };
  await withJsonFile(cors, (path) => step(["r2", "bucket", "cors", "set", name, "--file", path, "--force"]));
  const condition = { type: "Age", maxAge: 2 * DAY_SEC };
  const incoming = { id: "incoming", enabled: true, conditions: { prefix: "incoming/" } };
  const parts = { id: "unfinished-uploads", enabled: true, conditions: { prefix: "" } };
  const lifecycle = {
    rules: [
      { ...incoming, deleteObjectsTransition: { condition } },
      { ...parts, abortMultipartUploadsTransition: { condition } },
    ],
  };
  await withJsonFile(lifecycle, (path) => step(["r2", "bucket", "lifecycle", "set", name, "--file", path, "--force"]));
}

async function ensureQueue(name: string): Promise<void> {
  if (!(await succeeds(["queues", "info", name]))) await step(["queues", "create", name]);
}

/**
 * Secrets that the Worker does not have yet: from the environment, from an earlier attempt, or new. New ones are made
 * only where there is no database yet: keys that do not open what is stored would be worse than no deployment.
 */
function missingSecrets(worker: string, known: ReadonlySet<string>, mayMake: boolean): Record<string, string> {
  const kept = readDevVars(SECRETS_PATH);
  const missing: Record<string, string> = {};
  for (const [name, make] of Object.entries({ OPERATOR_CLIENT_SECRET: makeOperatorSecret, SEAL_KEYS: makeSealKeys })) {
    if (known.has(name)) continue;
    const value = process.env[name] || (kept[name] ?? (mayMake ? make() : undefined));
    if (value === undefined)
      throw new UserError(`There is a database, but ${worker} has no secret ${name}. Set ${name} to the one in use.`);
    missing[name] = value;
  }
  const lines = Object.entries({ ...kept, ...missing }).map(([name, value]) => `${name}="${value}"\n`);
  if (Object.keys(missing).length > 0) writeFileSync(SECRETS_PATH, lines.join(""), { mode: 0o600 });
  return missing;
}

async function secretNames(worker: string): Promise<Set<string>> {
  try {
    const list: { name: string }[] = parseList(
      await wrangler(["secret", "list", "--name", worker, "--format", "json"]),
    );
    return new Set(list.map(({ name }) => name));
  } catch (error) {
    if (String(error).includes(`Worker "${worker}" not found`)) return new Set();
    throw error;
  }
}

function deploymentConfig(databaseId: string, vars: Record<string, string>): string {
  let text = readFileSync(CONFIG, "utf8").replace(PLACEHOLDER_DATABASE, databaseId);
  for (const [name, value] of Object.entries(vars))
    text = text.replace(new RegExp(`^${name} = .*$`, "m"), () => `${name} = ${JSON.stringify(value)}`);
  return text;
}

async function takeTour(publicUrl: string, vars: Record<string, string>): Promise<void> {
  const secret = process.env["OPERATOR_CLIENT_SECRET"] || readDevVars(SECRETS_PATH)["OPERATOR_CLIENT_SECRET"];
  if (secret === undefined) return console.log("No tour: set OPERATOR_CLIENT_SECRET to have one.");
  const args = [join(ROOT, "scripts", "tour.ts"), "--url", publicUrl];
  const env = { ...process.env, ...vars, OPERATOR_CLIENT_SECRET: secret };
  const { code } = await run(process.execPath, args, { env, show: true });
  if (code !== 0) throw new UserError("It is deployed, and the tour found something wrong.");
}

async function step(args: readonly string[]): Promise<void> {
  console.log(`wrangler ${args.join(" ")}`);
  await wrangler(args);
}

/** The list that wrangler printed, whatever it said before it. */
const parseList = (output: string): any => JSON.parse(output.slice(output.indexOf("[")));

const succeeds = (args: readonly string[]): Promise<boolean> =>
  wrangler(args).then(
    () => true,
    () => false,
  );

async function withJsonFile(value: unknown, use: (path: string) => Promise<void>): Promise<void> {
  const path = join(SCRATCH, `${randomBytes(6).toString("hex")}.json`);
  writeFileSync(path, JSON.stringify(value), { mode: 0o600 });
  try {
    await use(path);
  } finally {
    rmSync(path);
  }
}

try {
  const options = { help: { type: "boolean" }, "dry-run": { type: "boolean" } } as const;
  const { values } = parseArgs({ options });
  if (values.help === true) console.log(HELP);
  else await (values["dry-run"] === true ? dryRun() : deploy());
} catch (error) {
  failWith(error);
}
