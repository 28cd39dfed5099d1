import { readFileSync } from "node:fs";
import { join } from "node:path";
import { readDevVars } from "../../scripts/lib/local/dev-vars.ts";
import { UsageError } from "../terminal/usage-error.ts";

/** The platform that a command talks to. */
export interface Target {
  readonly base: string;
  readonly platform: string;
  /** True for the platform that `npm start` starts with this environment. */
  readonly isLocal: boolean;
  /** The address is from `.env`, which somebody else may have written: secrets from elsewhere are not sent there. */
  readonly isFromFile: boolean;
}

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Takes `url`, else PLINTH_URL, else that of `.env`, else the local platform, whose PORT, PATH_PREFIX and PLATFORM
 * come from the environment, `.dev.vars` or wrangler.toml, as for `npm start`; without a checkout (`root`) the
 * defaults count. Reads wrangler.toml by itself, because loading wrangler takes longer than the whole command.
 */
export function findTarget(url: string | undefined, env: Env, root: string | undefined, file: Env = {}): Target {
  const local = readLocal(env, root);
  const { platform } = local;
  const given = url ?? (env["PLINTH_URL"] || undefined);
  if (given !== undefined) return { base: readBase(given), platform, isLocal: false, isFromFile: false };
  if (file["PLINTH_URL"]) return { base: readBase(file["PLINTH_URL"]), platform, isLocal: false, isFromFile: true };
  const port = Number((root !== undefined && env["PORT"]) || "8787");
  if (!Number.isInteger(port) || port < 1 || port > 65_535)
    throw new UsageError(`PORT must be 1 to 65535, not ${env["PORT"]}.`);
  return { base: `http://127.0.0.1:${port}${local.pathPrefix}`, platform, isLocal: true, isFromFile: false };
}

/**
 * Finds the operator's secret: `given`, else the environment's, else the local one, which is only sent to this
 * machine. Undefined if there is none.
 */
export function findSecret(
  given: string | undefined,
  target: Target,
  env: Env,
  root: string | undefined,
): string | undefined {
  const isHere = isLoopback(new URL(target.base));
  const local =
    isHere && root !== undefined ? readDevVars(join(root, ".dev.vars"))["OPERATOR_CLIENT_SECRET"] : undefined;
  const ofEnv = isOfForeignFile(target) ? undefined : env["OPERATOR_CLIENT_SECRET"];
  return given ?? (ofEnv || local);
}

/** True if `.env` names a platform elsewhere: no secret of the environment goes there. */
export const isOfForeignFile = ({ base, isFromFile }: Target): boolean => isFromFile && !isLoopback(new URL(base));

/** The advice for a command that needs an operator and found none. */
export const noOperator = ({ base, isFromFile }: Target, root: string | undefined): UsageError =>
  new UsageError(
    isLoopback(new URL(base)) && root !== undefined
      ? "There is no operator secret yet. Run `npm start`, which writes one to .dev.vars, or set " +
          "OPERATOR_CLIENT_SECRET."
      : `This needs an operator of ${base}. Sign in as one: npm run plat -- login --organization <organization>. Or have the operator secret in ` +
          "OPERATOR_CLIENT_SECRET, or in a file that --operator-secret-file names. " +
          "(`npm run deploy` wrote it to deploy/<name>.secrets when it made it.)" +
          (isFromFile ? " The address comes from .env: say --url to use OPERATOR_CLIENT_SECRET there." : ""),
  );

function readBase(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new UsageError(`${text} is no address of a platform: https://host, with its path prefix behind it.`);
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "")
    throw new UsageError(
      "The address of a platform has no user, query or fragment. The operator secret comes from " +
        "OPERATOR_CLIENT_SECRET.",
    );
  if (url.protocol === "http:" && !isLoopback(url))
    throw new UsageError(`${url.origin} is not https: the operator secret would be readable on the way.`);
  return `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
}

export const isLoopback = ({ hostname }: URL): boolean =>
  hostname === "localhost" ||
  hostname.endsWith(".localhost") ||
  hostname === "[::1]" ||
  /^127(\.\d+){3}$/.test(hostname);

function readLocal(env: Env, root: string | undefined): { platform: string; pathPrefix: string } {
  if (root === undefined) return { platform: env["PLATFORM"] || "plat", pathPrefix: "" };
  const devVars = readDevVars(join(root, ".dev.vars"));
  const deployment = readFileSync(join(root, "wrangler.toml"), "utf8");
  const find = (name: string): string =>
    env[name] || (devVars[name] ?? new RegExp(`^${name} = "(.*)"`, "m").exec(deployment)?.[1] ?? "");
  return { platform: find("PLATFORM"), pathPrefix: find("PATH_PREFIX") };
}
