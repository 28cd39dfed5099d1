import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "smol-toml";
import { wrangler } from "../../scripts/lib/bundle.ts";
import { ROOT } from "../../scripts/lib/root.ts";
import { VERSION } from "../../scripts/lib/version.ts";
import { UserError } from "../../scripts/lib/user-error.ts";
import { shardBinding } from "../../src/platform/storage/shards.ts";
import { buildAssets } from "../../scripts/assets/build.ts";
import { CloudflareError, type Cloudflare } from "./cloudflare.ts";
import { WRANGLER_CONFIG, type Deployment } from "./deployment.ts";
import { appliedMigrations, findDatabaseId, type Found } from "./found.ts";
import { writePlainMigrations } from "./migrations.ts";
import { oldSecrets } from "./rollback.ts";
import { aboutSecrets, newestVersion, type Version } from "./versions.ts";

/**
 * Brings the account to the state that the file describes. Each step makes only what is missing, so a deployment that
 * broke off anywhere is simply run again.
 *
 * The resources of the new Worker come first (databases, bucket, queues, migrations), then the Worker, then its hosts.
 * So no host leads to a Worker without a database, and until the Worker is replaced the old version answers.
 */
export interface Steps {
  readonly cloudflare: Cloudflare;
  readonly deployment: Deployment;
  readonly found: Found;
  /** The secrets to upload with the Worker. */
  readonly secrets: Readonly<Record<string, string>>;
  readonly say: (line: string) => void;
}

/** Objects take the new code within 30 s. The default is five minutes; our callers can handle the reset. */
export const OBJECT_UPDATE = ["--durable-objects-code-update-mode", "deferred 30s"];
/** The same in a call of our own. */
const OBJECT_UPDATE_STRATEGY = { mode: "deferred", max_delay: 30 };
/** Names the release in the list of versions, and the secrets that come with it, which rollbacks and canaries read. */
const tag = (secrets: Steps["secrets"]): string[] => [
  "--tag",
  VERSION,
  "--message",
  `Plinth ${VERSION}${aboutSecrets(Object.keys(secrets))}`,
];
/** Cloudflare's refusal to deploy a version since whose time secrets have changed. */
const SECRETS_CHANGED = 10_220;
const DAY_SEC = 86_400;

export const workFolder = ({ worker }: Pick<Deployment, "worker">): string => join(ROOT, ".build", "deploy", worker);
const SECRETS_FILE = "secrets-";

/** Makes the folder for files of this run, and removes secrets that a killed one has left there. */
export function clearWorkFolder(deployment: Pick<Deployment, "worker">): void {
  const folder = workFolder(deployment);
  mkdirSync(folder, { recursive: true });
  for (const name of readdirSync(folder)) if (name.startsWith(SECRETS_FILE)) rmSync(join(folder, name));
}

async function makeBucket({ cloudflare, deployment, say }: Steps, name: string): Promise<void> {
  say(`make bucket ${name}`);
  const { location, jurisdiction } = deployment;
  const hint = location === undefined || jurisdiction !== undefined ? {} : { locationHint: location };
  await cloudflare.within(jurisdiction).send("POST", "/r2/buckets", { name, ...hint });
}

/** Makes everything but the Worker itself. Returns the path of wrangler's configuration. */
export async function prepare(steps: Steps): Promise<string> {
  const { cloudflare, deployment, found, say } = steps;
  const there = [found.database, ...found.shards];
  const databases: BoundDatabase[] = [];
  for (const [shard, name] of deployment.databases.entries())
    if (name !== undefined) databases.push({ shard, name, id: there[shard]?.id ?? (await makeDatabase(steps, name)) });
  const folder = workFolder(deployment);
  const migrationsFolder = join(folder, "migrations");
  const migrations = writePlainMigrations(migrationsFolder);
  const config = join(folder, "wrangler.json");
  const { PATH_PREFIX: pathPrefix = "", PLATFORM: platform = "plat" } = deployment.vars;
  const site = await buildAssets({ pathPrefix, platform }, say);
  writeFileSync(config, JSON.stringify(wranglerConfig(deployment, { databases, migrationsFolder, site }), null, 2));
  if (found.bucket === undefined) await makeBucket(steps, deployment.bucket);
  if (found.backupBucket === undefined) await makeBucket(steps, deployment.backupBucket);
  await setBucketRules(steps);
  for (const name of deployment.queues.filter((one) => !found.queues.has(one))) {
    say(`make queue ${name}`);
    await cloudflare.account.send("POST", "/queues", { queue_name: name, ...within(deployment) });
  }
  say("apply migrations");
  for (const { name, id } of databases) {
    await wrangler(["d1", "migrations", "apply", name, "--remote", "--config", config]);
    // Checked here, since wrangler ends with 0 even if a statement failed in D1.
    const applied = await appliedMigrations(cloudflare, id);
    const missing = migrations.filter((one) => !applied.includes(one));
    if (missing.length > 0)
      throw new UserError(`These migrations were not applied to ${name}: ${missing.join(", ")}. Run it again.`);
  }
  return config;
}

/** Deploys the new version for all requests. */
export async function deployWorker({ secrets, say, deployment, cloudflare }: Steps, config: string): Promise<void> {
  say(`deploy worker ${deployment.worker}, release ${VERSION}`);
  await withSecretsFile(deployment, secrets, (args) =>
    wrangler(["deploy", "--config", config, ...OBJECT_UPDATE, ...tag(secrets), ...args]),
  );
  // These settings keep tokens in queries out of the logs. wrangler only warns if they are refused; this call fails.
  const { observability } = parse(readFileSync(WRANGLER_CONFIG, "utf8"));
  await cloudflare.account.send("PATCH", `/workers/scripts/${deployment.worker}/script-settings`, { observability });
}

/** Deploys the new version beside the running one. `percent` of the requests go to it. */
export async function deployCanary(
  { secrets, say, deployment, cloudflare }: Steps,
  config: string,
  running: Version,
  percent: number,
): Promise<void> {
  say(`upload release ${VERSION} as a version of ${deployment.worker}`);
  await withSecretsFile(deployment, secrets, (args) =>
    wrangler(["versions", "upload", "--config", config, ...tag(secrets), ...args]),
  );
  const made = await newestVersion(cloudflare, deployment);
  if (made === undefined || made === running.id)
    throw new UserError("The uploaded version is not listed. Run it again.");
  await shareRequests({ deployment, say }, running.id, made, percent);
}

/** Gives `percent` of the requests to the canary, and the others to the proven version. */
export async function shareRequests(
  { deployment, say }: Pick<Steps, "deployment" | "say">,
  proven: string,
  canary: string,
  percent: number,
): Promise<void> {
  const parts = [`${canary}@${percent}`, `${proven}@${100 - percent}`];
  await wrangler(["versions", "deploy", ...parts, "--yes", "--name", deployment.worker, ...OBJECT_UPDATE]);
  const command = `npm run deploy -- ${deployment.name}`;
  say(
    `${percent} % of requests go to version ${canary}. Another share: ${command} --canary <percent>. All: ${command}`,
  );
  say(`Back to the version before: ${command} rollback`);
}

/**
 * Gives all requests to an older version. Cloudflare refuses if it knows of secrets that have changed since. Only
 * `bringsSecretsBack` overrides that; `wrangler rollback` would do it unasked where nobody sits at a terminal.
 */
export async function deployOlder(
  { cloudflare, deployment }: Pick<Steps, "cloudflare" | "deployment">,
  back: Version,
  bringsSecretsBack: boolean,
): Promise<void> {
  const path = `/workers/scripts/${deployment.worker}/deployments`;
  try {
    await cloudflare.account.send("POST", bringsSecretsBack ? `${path}?force=true` : path, {
      strategy: "percentage",
      versions: [{ version_id: back.id, percentage: 100 }],
      annotations: { "workers/message": "npm run deploy -- rollback" },
      code_update_strategy: OBJECT_UPDATE_STRATEGY,
    });
  } catch (error) {
    if (!(error instanceof CloudflareError && error.codes.includes(SECRETS_CHANGED))) throw error;
    throw new UserError(
      `\nNothing was changed. If that is meant:\n  --old-secrets: ${oldSecrets(back)} ${error.message}`,
    );
  }
}

/** Attaches the hosts of the file and detaches all others. The plan has refused hosts that belong to somebody else. */
export async function attachHosts({ cloudflare, deployment, found, say }: Steps): Promise<void> {
  for (const { host, zoneId, service, domainId } of found.hosts) {
    if (deployment.hosts.includes(host)) {
      if (service !== undefined) continue;
      say(`attach ${host}`);
      const body = { hostname: host, zone_id: zoneId, service: deployment.worker, environment: "production" };
      await cloudflare.account.send("PUT", "/workers/domains", body);
    } else if (domainId !== undefined) {
      say(`detach ${host}`);
      await cloudflare.account.send("DELETE", `/workers/domains/${domainId}`);
    }
  }
}

const within = ({ jurisdiction }: Deployment): object => (jurisdiction === undefined ? {} : { jurisdiction });

/** Makes a database. D1 ignores the location if a jurisdiction is named. */
async function makeDatabase({ cloudflare, deployment, say }: Steps, database: string): Promise<string> {
  const { location } = deployment;
  say(`make database ${database}`);
  const hint = location === undefined ? {} : { primary_location_hint: location };
  await cloudflare.account.send("POST", "/d1/database", { name: database, ...hint, ...within(deployment) });
  const made = await findDatabaseId(cloudflare, database);
  if (made === undefined) throw new UserError(`The database ${database} was made and is not listed yet. Run it again.`);
  return made;
}

interface Rule {
  readonly id?: string;
}

/**
 * Allows uploads from any page, and removes the rest of a broken upload after two days: objects under incoming/, and
 * parts of multipart uploads anywhere. Other rules stay; ours are known by their ids.
 */
async function setBucketRules({ cloudflare, deployment, say }: Steps): Promise<void> {
  const account = cloudflare.within(deployment.jurisdiction);
  const base = `/r2/buckets/${deployment.bucket}`;
  const cors = {
    id: "plinth-uploads",
    allowed: {
      origins: ["*"],
      methods: ["GET", "HEAD", "PUT"],
      // R2 checks only the first digest. A browser that sends another one must not be refused.
      headers: ["content-type", "content-disposition", "content-md5", "content-digest", "repr-digest"],
    },
    exposeHeaders: ["ETag"],
    maxAgeSeconds: 3600,
  };
  const condition = { type: "Age", maxAge: 2 * DAY_SEC };
  const lifecycle = [
    { id: "incoming", enabled: true, conditions: { prefix: "incoming/" }, deleteObjectsTransition: { condition } },
    {
      id: "unfinished-uploads",
      enabled: true,
      conditions: { prefix: "" },
      abortMultipartUploadsTransition: { condition },
    },
  ];
  for (const [path, ours] of [
    ["cors", [cors]],
    ["lifecycle", lifecycle],
  ] as const) {
    const there = (await account.find<{ rules?: Rule[] }>(`${base}/${path}`))?.rules ?? [];
    const ids = new Set<string | undefined>(ours.map(({ id }) => id));
    // Removes R2's default rule for parts (seven days), which ours replaces.
    const others = there.filter(({ id }) => !ids.has(id) && id !== "Default Multipart Abort Rule");
    const rules = [...others, ...ours];
    if (JSON.stringify(rules) === JSON.stringify(there)) continue;
    say(`set ${path} rules of ${deployment.bucket}`);
    await account.send("PUT", `${base}/${path}`, { rules });
  }
}

/** Made for a deployment before its configuration is written. */
interface Made {
  readonly databases: readonly BoundDatabase[];
  readonly migrationsFolder: string;
  /** The folder of the documentation. */
  readonly site: string;
}

/** The database of a shard that is not an object. */
interface BoundDatabase {
  readonly shard: number;
  readonly name: string;
  readonly id: string;
}

/** wrangler.toml with this deployment's names, ids and variables. Paths are absolute: the file lies elsewhere. */
function wranglerConfig(deployment: Deployment, { databases, migrationsFolder, site }: Made): object {
  const config = parse(readFileSync(WRANGLER_CONFIG, "utf8")) as any;
  const [jobs, dead] = deployment.queues;
  const renamed: Record<string, string> = { [config.queues.producers[0].queue]: jobs };
  for (const { dead_letter_queue: name } of config.queues.consumers) if (name) renamed[name] = dead;
  const rename = (name: string): string => renamed[name] ?? name;
  return {
    ...config,
    name: deployment.worker,
    main: join(ROOT, config.main),
    vars: deployment.vars,
    assets: { ...config.assets, directory: site },
    ...(deployment.vars["MAIL_FROM"] ? { send_email: [{ name: "MAIL" }] } : {}),
    ...(deployment.placement === undefined ? {} : { placement: deployment.placement }),
    d1_databases: databases.map(({ shard, name, id }) => ({
      ...config.d1_databases[0],
      binding: shardBinding(shard),
      database_name: name,
      database_id: id,
      migrations_dir: migrationsFolder,
    })),
    r2_buckets: config.r2_buckets.map((one: any) => ({
      ...one,
      bucket_name: one.binding === "BACKUP" ? deployment.backupBucket : deployment.bucket,
      ...within(deployment),
    })),
    queues: {
      producers: config.queues.producers.map((one: any) => ({ ...one, queue: rename(one.queue) })),
      consumers: config.queues.consumers.map((one: any) => ({
        ...one,
        queue: rename(one.queue),
        ...(one.dead_letter_queue ? { dead_letter_queue: dead } : {}),
      })),
    },
    ratelimits: config.ratelimits.map((one: any, index: number) => ({
      ...one,
      namespace_id: String(deployment.rateLimitIds + index),
    })),
  };
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Writes secrets to a file for as long as wrangler needs it, also if a signal ends this program. */
export async function withSecretsFile(
  deployment: Pick<Deployment, "worker">,
  secrets: Readonly<Record<string, string>>,
  use: (args: string[]) => Promise<unknown>,
): Promise<void> {
  if (Object.keys(secrets).length === 0) return void (await use([]));
  const path = join(workFolder(deployment), `${SECRETS_FILE}${randomBytes(6).toString("hex")}.json`);
  const forget = (): void => rmSync(path, { force: true });
  const stop = (_: NodeJS.Signals, number: number): void => {
    forget();
    process.exit(128 + number);
  };
  for (const signal of SIGNALS) process.on(signal, stop);
  try {
    writeFileSync(path, JSON.stringify(secrets), { mode: 0o600 });
    await use(["--secrets-file", path]);
  } finally {
    forget();
    for (const signal of SIGNALS) process.off(signal, stop);
  }
}
