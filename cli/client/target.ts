import { readFileSync } from "node:fs";
import { join } from "node:path";
import { readDevVars } from "../../scripts/lib/dev-vars.ts";
import { ROOT } from "../../scripts/lib/root.ts";
import { UsageError } from "../terminal/usage-error.ts";

/** The platform that a command talks to. */
export interface Target {
  readonly base: string;
  readonly platform: string;
  /** True for the platform that `npm start` starts with this environment. */
  readonly isLocal: boolean;
}

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Takes `url`, else PLINTH_URL, else the local platform, whose PORT, PATH_PREFIX and PLATFORM come from the
 * environment, `.dev.vars` or wrangler.toml as for `npm start`. Reads wrangler.toml by itself, because loading
 * wrangler takes longer than the whole command.
 */
export function findTarget(url: string | undefined, env: Env, root = ROOT): Target {
  const local = readLocal(env, root);
  const given = url ?? (env["PLINTH_URL"] || undefined);
  if (given !== undefined) return { base: readBase(given), platform: local.platform, isLocal: false };
  const port = Number(env["PORT"] || "8787");
  if (!Number.isInteger(port) || port < 1 || port > 65_535)
    throw new UsageError(`PORT must be 1 to 65535, not ${env["PORT"]}.`);
  return { base: `http://127.0.0.1:${port}${local.pathPrefix}`, platform: local.platform, isLocal: true };
}

/**
 * Finds the operator's secret: `given`, else the environment's, else the local one, which is only sent to this
 * machine.
 */
export function findSecret(given: string | undefined, { base }: Target, env: Env, root = ROOT): string {
  const local = isLoopback(new URL(base)) ? readDevVars(join(root, ".dev.vars"))["OPERATOR_CLIENT_SECRET"] : undefined;
  const secret = given ?? (env["OPERATOR_CLIENT_SECRET"] || local);
  if (secret !== undefined) return secret;
  throw new UsageError(
    isLoopback(new URL(base))
      ? "There is no operator secret yet. Run `npm start`, which writes one to .dev.vars, or set " +
          "OPERATOR_CLIENT_SECRET."
      : `The operator secret of ${base} is needed: in OPERATOR_CLIENT_SECRET, or in a file that --operator-secret-file names. ` +
          "(`npm run deploy` wrote it to deploy/<name>.secrets when it made it.)",
  );
}

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

const isLoopback = ({ hostname }: URL): boolean =>
  hostname === "localhost" ||
  hostname.endsWith(".localhost") ||
  hostname === "[::1]" ||
  /^127(\.\d+){3}$/.test(hostname);

function readLocal(env: Env, root: string): { platform: string; pathPrefix: string } {
  const devVars = readDevVars(join(root, ".dev.vars"));
  const deployment = readFileSync(join(root, "wrangler.toml"), "utf8");
  const find = (name: string): string =>
    env[name] || (devVars[name] ?? new RegExp(`^${name} = "(.*)"`, "m").exec(deployment)?.[1] ?? "");
  return { platform: find("PLATFORM"), pathPrefix: find("PATH_PREFIX") };
}
