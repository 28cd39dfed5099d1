import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse, TomlError } from "smol-toml";
import * as z from "zod";
import { ROOT } from "../../scripts/lib/root.ts";
import { UserError } from "../../scripts/lib/user-error.ts";
import {
  ANY_PLACE,
  formatObjectShards,
  LOCATION_HINTS,
  MOST_SHARDS,
  type LocationHint,
  type ObjectShards,
} from "../../src/platform/storage/object-shards.ts";
import { parseTenantObjects } from "../../src/platform/storage/tenant-objects.ts";
import { readWranglerConfig } from "../../scripts/lib/local/wrangler-config.ts";

/**
 * A deployment is a file, `deploy/<name>.toml`, which is kept and reviewed like code. It alone describes a platform:
 * its hosts, its place and its variables. Nothing is taken from the shell, so a forgotten `export` cannot turn 365 days
 * of events into 7.
 *
 * Every resource of the account is named after `worker`, so deployments stand beside each other in one account.
 */
export interface Deployment {
  /** The name of the file. */
  readonly name: string;
  readonly worker: string;
  /** The databases, by shard: the first one is the directory. Undefined: the shard is an object. */
  readonly databases: readonly [string, ...(string | undefined)[]];
  readonly bucket: string;
  readonly backupBucket: string;
  readonly queues: readonly [jobs: string, dead: string];
  /** The hosts of PUBLIC_URL, CONTENT_URL and AUTH_URL. The first one is the platform's. */
  readonly hosts: readonly string[];
  readonly publicUrl: string;
  readonly location: string | undefined;
  /** The jurisdiction of everything that stores data. */
  readonly jurisdiction: string | undefined;
  /** Where the Worker runs; undefined: near each caller. */
  readonly placement: Placement | undefined;
  /** The variables of wrangler.toml, replaced by those of the file. */
  readonly vars: Readonly<Record<string, string>>;
  /** The address of the first person who operates the platform; undefined: none is invited. */
  readonly operator: string | undefined;
  /** The first of the ids of the rate limits. All Workers of an account share these ids. */
  readonly rateLimitIds: number;
  /** File for the secrets that a deployment makes. Not committed. */
  readonly secretsPath: string;
}

export type Placement = { readonly mode: "smart" } | { readonly region: string };

/** Cloudflare's hints for a database and a bucket. */
const LOCATIONS = ["wnam", "enam", "weur", "eeur", "apac", "oc"] as const;
const OBJECT_PLACES = [ANY_PLACE, ...LOCATION_HINTS] as const;
/** The jurisdictions that databases, buckets, queues and objects all have. */
const JURISDICTIONS = ["eu", "us", "fedramp"] as const;
const PLACEMENT = /^(smart|(aws|gcp|azure):[a-z0-9-]+)$/;
const HOST = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$/;
/** A bucket is named `<worker>-media` or `<worker>-backup`, in at most 63 characters. */
const WORKER = /^[a-z]([a-z0-9-]{0,38}[a-z0-9])?$/;
const NAME = /^[a-z0-9][a-z0-9-]{0,39}$/;

const host = z.string().regex(HOST, "must be a host name such as plinth.example.com, without https://");
const file = z.strictObject({
  worker: z.string().regex(WORKER, "must have 1 to 40 of a-z, 0-9 and -, a letter first"),
  host,
  content_host: host.optional(),
  auth_host: host.optional(),
  location: z.enum(LOCATIONS).optional(),
  jurisdiction: z.enum(JURISDICTIONS).optional(),
  placement: z.string().regex(PLACEMENT, "must be smart, or a region such as aws:eu-central-1").optional(),
  shards: z.int().min(1).max(MOST_SHARDS, `must be at most ${MOST_SHARDS}`).default(1),
  object_shards: z.record(z.string(), z.enum(OBJECT_PLACES)).default({}),
  tenant_objects: z
    .string()
    .refine(
      (text) => parseTenantObjects(text) !== undefined,
      `must be asked or new, a colon, and a place: ${OBJECT_PLACES.join(", ")}. For none, leave the line out.`,
    )
    .optional(),
  operator: z.email("must be an e-mail address").optional(),
  rate_limit_ids: z.int().min(1).max(2_000_000_000),
  vars: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).default({}),
});

/** Variables that are set by other fields of the file. */
const FIELDS = {
  PUBLIC_URL: "host",
  CONTENT_URL: "content_host",
  AUTH_URL: "auth_host",
  JURISDICTION: "jurisdiction",
  LOCATION_HINT: "location",
  OBJECT_SHARDS: "object_shards",
  TENANT_OBJECTS: "tenant_objects",
} as const;

const shardDatabase = (worker: string, shard: number): string => `${worker}-shard-${String(shard).padStart(2, "0")}`;

export const WRANGLER_CONFIG = join(ROOT, "wrangler.toml");
export const deploymentPath = (name: string): string => join(ROOT, "deploy", `${name}.toml`);

export function readDeployment(name: string): Deployment {
  if (!NAME.test(name)) throw new UserError(`"${name}" is no name of a deployment: a-z, 0-9 and - are.`);
  const path = deploymentPath(name);
  if (!existsSync(path))
    throw new UserError(
      `There is no deploy/${name}.toml. Make it: npm run deploy -- ${name} init --host plinth.example.com`,
    );
  return parseDeployment(name, readFileSync(path, "utf8"));
}

export function parseDeployment(name: string, text: string): Deployment {
  const given = file.safeParse(parseToml(name, text));
  if (!given.success) {
    const faults = given.error.issues.map(({ path, message }) => `  ${path.join(".") || "file"}: ${message}`);
    throw new UserError(`deploy/${name}.toml:\n${faults.join("\n")}`);
  }
  const { worker, host: main, content_host: content, auth_host: auth, location, jurisdiction, placement } = given.data;
  const objectShards = readObjectShards(name, given.data);
  const url = (one: string | undefined): string => (one === undefined ? "" : `https://${one}`);
  const vars = variables(name, given.data.vars, {
    PUBLIC_URL: url(main),
    CONTENT_URL: url(content),
    AUTH_URL: url(auth),
    JURISDICTION: jurisdiction ?? "",
    LOCATION_HINT: location ?? "",
    OBJECT_SHARDS: formatObjectShards(objectShards),
    TENANT_OBJECTS: given.data.tenant_objects ?? "",
  });
  if (vars["R2_S3_ENDPOINT"]) vars["R2_BUCKET"] ||= `${worker}-media`;
  checkS3Jurisdiction(name, vars["R2_S3_ENDPOINT"] ?? "", jurisdiction);
  return {
    name,
    worker,
    databases: [
      worker,
      ...Array.from({ length: given.data.shards - 1 }, (_, at) =>
        objectShards.has(at + 1) ? undefined : shardDatabase(worker, at + 1),
      ),
    ],
    bucket: `${worker}-media`,
    backupBucket: `${worker}-backup`,
    queues: [`${worker}-media-jobs`, `${worker}-media-jobs-dead`],
    hosts: [...new Set([main, content, auth].filter((one) => one !== undefined))],
    publicUrl: `https://${main}`,
    location,
    jurisdiction,
    placement:
      placement === undefined ? undefined : placement === "smart" ? { mode: placement } : { region: placement },
    vars,
    operator: given.data.operator,
    rateLimitIds: given.data.rate_limit_ids,
    secretsPath: join(ROOT, "deploy", `${name}.secrets`),
  };
}

/** Shards that are objects, in the order of their numbers. */
function readObjectShards(
  name: string,
  { shards, object_shards: given }: Pick<z.infer<typeof file>, "shards" | "object_shards">,
): ObjectShards {
  const found = new Map<number, LocationHint | undefined>();
  for (const [key, place] of Object.entries(given)) {
    const shard = Number(key);
    if (!/^[1-9]\d*$/.test(key) || shard >= shards)
      throw new UserError(
        `deploy/${name}.toml: object_shards names shard ${key}. Of ${shards} shards, 0 is the directory and a database; an object can be ${shards === 1 ? "none" : `1 to ${shards - 1}`}.`,
      );
    found.set(shard, place === ANY_PLACE ? undefined : place);
  }
  return new Map([...found].toSorted(([one], [other]) => one - other));
}

function parseToml(name: string, text: string): unknown {
  try {
    return parse(text);
  } catch (error) {
    if (error instanceof TomlError) throw new UserError(`deploy/${name}.toml: ${error.message}`);
    throw error;
  }
}

function variables(
  name: string,
  given: Readonly<Record<string, string | number | boolean>>,
  made: Readonly<Record<keyof typeof FIELDS, string>>,
): Record<string, string> {
  const { vars: known } = readWranglerConfig();
  for (const variable of Object.keys(given)) {
    if (variable in FIELDS)
      throw new UserError(
        `deploy/${name}.toml: ${variable} is made of ${FIELDS[variable as keyof typeof FIELDS]}. Set that.`,
      );
    if (!(variable in known))
      throw new UserError(`deploy/${name}.toml: there is no variable ${variable}. wrangler.toml lists them all.`);
  }
  return { ...known, ...asTexts(given), ...made };
}

/** A file may say `EVENT_RETENTION_DAYS = 30`; a variable is a text. */
const asTexts = (values: Readonly<Record<string, unknown>>): Record<string, string> =>
  Object.fromEntries(Object.entries(values).map(([key, value]) => [key, String(value)]));

/** Refuses the endpoint of another jurisdiction: R2 has the buckets of each one at its own address. */
function checkS3Jurisdiction(name: string, endpoint: string, jurisdiction: string | undefined): void {
  const said = /^https:\/\/[^./]+(?:\.([a-z]+))?\.r2\.cloudflarestorage\.com\b/.exec(endpoint);
  if (said === null || said[1] === jurisdiction) return;
  const should = `https://<account>.${jurisdiction === undefined ? "" : `${jurisdiction}.`}r2.cloudflarestorage.com`;
  throw new UserError(`deploy/${name}.toml: R2_S3_ENDPOINT must be ${should}, where the bucket is.`);
}

/** The file that `init` writes. The ids of rate limits differ from other deployments' by the Worker's name. */
export function newDeploymentFile({ name, host: main, location, jurisdiction, operator }: NewDeployment): string {
  const worker = name === "production" ? "plinth" : `plinth-${name}`;
  const place = location ?? "weur";
  return `# The deployment "${name}". Keep this file: it alone says what the platform is.
# Names of everything in the account begin with it: the Worker and its database ${worker}, the databases of further
# shards (${shardDatabase(worker, 1)} and so on), the buckets ${worker}-media and ${worker}-backup, the queues ${worker}-media-jobs and
# ${worker}-media-jobs-dead.
worker = "${worker}"

# A host in a zone of the account. Links and the token issuer begin with it; changing it ends all tokens.
host = "${main}"
# content_host = "content.example.com"   # media alone
# auth_host = "login.example.com"        # pages for people alone

# How many databases the files of tenants lie in. More can follow, fewer cannot.
# shards = 1

# The tenants with an object of their own, and where it lies: asked:<place>, or new:<place> for every new tenant.
# tenant_objects = "asked:${ANY_PLACE}"

# The first person who operates it in the console. Each deployment prints a link for them until it is used.
${operator === undefined ? "# " : ""}operator = "${operator ?? "ada@example.com"}"

# Near where database, bucket and objects are made, for ever: ${LOCATIONS.join(", ")}.
${location === undefined ? "# " : ""}location = "${place}"
# What they must not leave, for ever: ${JURISDICTIONS.join(", ")}.
${jurisdiction === undefined ? "# " : ""}jurisdiction = "${jurisdiction ?? "eu"}"

# Where the Worker runs: smart, near the database, or a cloud's region. Without it: near each caller.
# placement = "aws:eu-central-1"

# The first of ten ids that the rate limits use. No other Worker of the account may use them.
rate_limit_ids = ${rateLimitIds(worker)}

# Shards that are objects in the place of databases, by number, and where: a location, or ${ANY_PLACE}.
# [object_shards]
# 1 = "${place}"

# Whatever differs from the defaults in wrangler.toml.
[vars]
# PLATFORM = "plat"
# EVENT_RETENTION_DAYS = 7
`;
}

export interface NewDeployment {
  readonly name: string;
  readonly host: string;
  readonly location: string | undefined;
  readonly jurisdiction?: string | undefined;
  readonly operator?: string | undefined;
}

/** FNV-1a of the name, in steps of 100, so that the ids of two deployments do not overlap. */
function rateLimitIds(worker: string): number {
  let hash = 0x811c9dc5;
  for (const character of worker) hash = Math.imul(hash ^ character.charCodeAt(0), 0x01000193) >>> 0;
  return 100 * (1 + (hash % 10_000_000));
}
