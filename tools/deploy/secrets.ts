import { randomBytes } from "node:crypto";
import { existsSync, realpathSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { relative } from "node:path";
import { readDevVars } from "../../scripts/lib/local/dev-vars.ts";
import { ROOT } from "../../scripts/lib/root.ts";
import type { Found, FoundWorker } from "./found.ts";
import type { Danger, SecretPlan } from "./plan.ts";
import { hasObjectShards, type UsedSealKeys } from "./sealed.ts";

/**
 * The secrets that a deployment uploads.
 *
 * Nobody can read a secret back from Cloudflare. So a generated secret is written to a file before it is uploaded.
 * Secrets are generated only for an empty database: new keys would not open stored records, which is worse than no
 * deployment.
 *
 * A value comes from the environment, else from that file. A value from the environment is always uploaded: this is how
 * a leaked secret is replaced.
 */
export interface Secrets extends SecretPlan {
  /** The secrets to upload. */
  readonly values: Readonly<Record<string, string>>;
  /** Generated secrets, which `keepSecrets` writes. */
  readonly made: Readonly<Record<string, string>>;
  /** True if the file has the only copy of one of them. */
  readonly isOnlyCopy: boolean;
}

const MAKERS: Readonly<Record<string, () => string>> = {
  OPERATOR_CLIENT_SECRET: () => randomBytes(32).toString("base64url"),
  SEAL_KEYS: () => `k1:${randomBytes(32).toString("base64")}`,
};
const OPTIONAL = ["OPERATOR_CLIENT_SECRET_PREVIOUS", "OTLP_HEADERS", "R2_ACCESS_KEY_ID", "R2_SECRET_ACCESS_KEY"];

export interface SecretSources {
  readonly env: NodeJS.ProcessEnv;
  /** The file for generated secrets. */
  readonly path: string;
  /** True if somebody will know the file: a person at a terminal, or a caller who named it. */
  readonly mayMake: boolean;
  /** Asks the running Worker, which alone can read shards that are objects. */
  askUsedSealKeys(worker: FoundWorker): Promise<UsedSealKeys>;
}

export async function planSecrets(
  { database, shards, worker }: Found,
  { env, path, mayMake, askUsedSealKeys }: SecretSources,
): Promise<Secrets> {
  const kept = readDevVars(path);
  const values: Record<string, string> = {};
  const made: Record<string, string> = {};
  const changes: string[] = [];
  const refusals: string[] = [];
  let isOnlyCopy = false;
  const shownPath = relative(ROOT, path);
  for (const name of [...Object.keys(MAKERS), ...OPTIONAL]) {
    const isThere = worker?.secrets.has(name) === true;
    const given = env[name] || undefined;
    if (given !== undefined) {
      values[name] = given;
      changes.push(`${isThere ? "~" : "+"} secret ${name}, from the environment`);
    } else if (!isThere && kept[name] !== undefined) {
      values[name] = kept[name];
      isOnlyCopy = true;
      changes.push(`+ secret ${name}, from ${shownPath}`);
    } else if (!isThere && name in MAKERS) {
      if (database?.hasRecords === true)
        refusals.push(`The Worker has no ${name}, and the database has records that need the one in use. Set ${name}.`);
      else if (!mayMake)
        refusals.push(
          `${name} would be made here, where its file may be lost. Set it, or name a file that stays: --secrets FILE`,
        );
      else {
        values[name] = made[name] = MAKERS[name]!();
        isOnlyCopy = true;
        changes.push(`+ secret ${name}, made now and kept in ${shownPath}`);
      }
    }
  }
  const used = [database, ...shards].flatMap((one) => one?.sealKeyIds ?? []);
  const dangers: Danger[] = [];
  if (values["SEAL_KEYS"] !== undefined && worker !== undefined && hasObjectShards(worker)) {
    const asked = await askUsedSealKeys(worker);
    if ("ids" in asked) used.push(...asked.ids);
    else dangers.push({ flag: "lose-sealed", text: notKnown(asked.fault) });
  }
  const lost = sealKeysThatAreMissing(values["SEAL_KEYS"], [...new Set(used)]);
  if (lost.length > 0)
    refusals.push(
      `SEAL_KEYS has no ${lost.join(", ")}, and records are sealed with it. Put the new key in front of the old ones.`,
    );
  return { values, made, isOnlyCopy, changes, dangers, refusals };
}

const notKnown = (fault: string): string =>
  `Which keys sealed the push subscriptions in shards that are objects is not known (${fault}). Those under a key that SEAL_KEYS lacks end. Let the running Worker be asked: set the OPERATOR_CLIENT_SECRET that it has, and --at if its name does not lead there.`;

function sealKeysThatAreMissing(keys: string | undefined, used: readonly string[]): string[] {
  if (keys === undefined) return [];
  const ids = new Set(keys.split(",").map((key) => key.trim().split(":")[0]));
  return used.filter((id) => !ids.has(id));
}

/**
 * Adds generated secrets to the file, before they are uploaded, since an upload may break off. A new file takes the
 * place of the old one: a full disk loses no secret, and others who could read the old one cannot read the new one.
 */
export function keepSecrets(path: string, made: Readonly<Record<string, string>>): void {
  if (Object.keys(made).length === 0) return;
  const lines = Object.entries({ ...readDevVars(path), ...made }).map(([name, value]) => `${name}="${value}"\n`);
  // A link stays one. Git ignores the new name too.
  const target = existsSync(path) ? realpathSync(path) : path;
  const aside = `${target}.${randomBytes(6).toString("hex")}.secrets`;
  try {
    writeFileSync(aside, lines.join(""), { mode: 0o600, flag: "wx", flush: true });
    renameSync(aside, target);
  } catch (error) {
    rmSync(aside, { force: true });
    throw error;
  }
}

export const ESCROW = `Cloudflare shows a secret to nobody. Whoever loses SEAL_KEYS loses the signing keys, the secrets of identity
providers and the credentials of push subscriptions; whoever has them can forge tokens. Put a copy of the file
where two people can get it and a thief cannot: a password manager, or paper in a safe.`;
