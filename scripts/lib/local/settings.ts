import { resolve } from "node:path";
import { ConfigError, readConfig, type Config } from "../../../src/config.ts";
import { separateHosts } from "../../../src/http/origins.ts";
import { ensureDevVars } from "./dev-vars.ts";
import { localS3Port, withLocalS3 } from "./local-s3.ts";
import { ROOT } from "../root.ts";
import { UserError } from "../user-error.ts";
import { readWranglerConfig } from "./wrangler-config.ts";

/** Settings of a local start. */
export interface Settings {
  readonly host: string;
  readonly port: number;
  /** Port of the local bucket's S3 API; undefined without one. */
  readonly s3Port: number | undefined;
  /** Absolute. */
  readonly stateDir: string;
  /** The Worker's variables and secrets, as text. */
  readonly vars: Readonly<Record<string, string>>;
  /** The same, parsed. */
  readonly config: Config;
  readonly crons: readonly string[];
  /** False by SITE=none: the documentation is not built. */
  readonly withSite: boolean;
  readonly demoUserPassword: string;
  readonly demoOperatorPassword: string;
  readonly demoClientSecret: string;
}

const HOST = "127.0.0.1";
/** Local defaults: the shard after the databases is an object. */
const LOCAL_DEFAULTS = {
  OBJECT_SHARDS: "4:auto",
  TENANT_OBJECTS: "asked:auto",
  ALLOW_LOOPBACK: "true",
  LOG_LEVEL: "warn",
  MAIL_FROM: "Plinth <no-reply@plinth.example>",
  PASSWORD_GRANT_WITHOUT_CLIENT: "true",
};
const SECRETS = [
  "OPERATOR_CLIENT_SECRET",
  "OPERATOR_CLIENT_SECRET_PREVIOUS",
  "SEAL_KEYS",
  "OTLP_HEADERS",
  "R2_ACCESS_KEY_ID",
  "R2_SECRET_ACCESS_KEY",
];

const STAYS = { content: "files", auth: "pages" } as const;

/** Merges wrangler.toml, local defaults, `.dev.vars` and the environment; later ones win. */
export function readSettings(env: NodeJS.ProcessEnv): Settings {
  const deployment = readWranglerConfig();
  const devVars = ensureDevVars(resolve(ROOT, ".dev.vars"));
  const given: Record<string, string> = {};
  for (const [name, value] of Object.entries({ ...deployment.vars, ...LOCAL_DEFAULTS })) given[name] = value;
  for (const name of [...Object.keys(given), ...SECRETS])
    given[name] = env[name] || (devVars[name] ?? given[name] ?? "");
  const port = readPort(env["PORT"]);
  const vars = withLocalS3(given, { host: HOST, port, bucket: deployment.r2_buckets[0]?.bucket_name ?? "" });
  const config = parseConfig(vars);
  if (config.place.jurisdiction !== undefined)
    throw new UserError("The local runtime has no jurisdictions. Leave JURISDICTION empty.");
  for (const [kind, { host }] of separateHosts(config))
    if (host === `${HOST}:${port}`)
      throw new UserError(
        `${kind.toUpperCase()}_URL is where the platform is. Name another host, or leave it empty: ${STAYS[kind]} stay there.`,
      );
  return {
    host: HOST,
    port,
    s3Port: localS3Port(config.s3, HOST),
    stateDir: resolve(ROOT, env["STATE_DIR"] || ".state"),
    vars,
    config,
    crons: deployment.triggers.crons,
    withSite: readSite(env["SITE"]),
    demoUserPassword: env["DEMO_USER_PASSWORD"] || (devVars["DEMO_USER_PASSWORD"] ?? ""),
    demoOperatorPassword: env["DEMO_OPERATOR_PASSWORD"] || (devVars["DEMO_OPERATOR_PASSWORD"] ?? ""),
    demoClientSecret: env["DEMO_CLIENT_SECRET"] || (devVars["DEMO_CLIENT_SECRET"] ?? ""),
  };
}

export function readPort(text = ""): number {
  const port = Number(text || "8787");
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new UserError(`PORT must be 1 to 65535, not ${text}`);
  return port;
}

function readSite(text = ""): boolean {
  if (text !== "" && text !== "none") throw new UserError(`SITE is none, or not set; not ${text}`);
  return text === "";
}

export function parseConfig(vars: Readonly<Record<string, string>>): Config {
  try {
    return readConfig(vars);
  } catch (error) {
    if (error instanceof ConfigError) throw new UserError(`Wrong setting: ${error.message}`);
    throw error;
  }
}
