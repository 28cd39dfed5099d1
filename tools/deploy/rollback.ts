import { readFileSync } from "node:fs";
import { parse } from "smol-toml";
import { UserError } from "../../scripts/lib/user-error.ts";
import { MOST_SHARDS, parseObjectShards } from "../../src/platform/storage/object-shards.ts";
import { shardBinding } from "../../src/platform/storage/shards.ts";
import type { Cloudflare } from "./cloudflare.ts";
import { WRANGLER_CONFIG, type Deployment } from "./deployment.ts";
import type { FoundWorker } from "./found.ts";
import { changeVars, type Danger, type Plan } from "./plan.ts";
import { findVersion, provenVersions, type RunningVersion, type Version } from "./versions.ts";

/**
 * A rollback to an older version, which brings its variables, secrets and bindings back. So the rules of a deployment
 * apply, with the same flags. What no flag allows:
 *
 *   other classes of objects ── Cloudflare refuses it, since the old code could not run the new ones
 *   fewer shards, or none that are objects of tenants ── the old version would answer without the files in them
 */
const NO_WAY_BACK = "The way back is a release that has the old code and the new classes.";
const otherWay = (what: string): string =>
  `Name a version that has ${what}, or deploy a release that repairs the fault.`;

/** Classes of objects that this release has and a running version lacks. */
export function newClasses(running: FoundWorker): readonly string[] {
  const config = parse(readFileSync(WRANGLER_CONFIG, "utf8")) as {
    durable_objects: { bindings: { class_name: string }[] };
  };
  const wanted = config.durable_objects.bindings.map(({ class_name: name }) => name);
  return wanted.filter((name) => !running.classes.has(name));
}

/**
 * Finds the version to go back to.
 *
 *   an id is given        ── this version
 *   two versions run      ── the older one; the canary ends
 *   one version runs      ── the latest one that had all requests, was uploaded earlier and is of another release
 *
 * A release that was deployed twice has two versions, with the same faults. A version that was uploaded later is one
 * that an earlier rollback has left.
 */
export async function findWayBack(
  cloudflare: Cloudflare,
  deployment: Deployment,
  running: readonly RunningVersion[],
  id: string | undefined,
): Promise<Version> {
  const { name, worker } = deployment;
  const [older, newer] = running;
  if (older === undefined) throw new UserError(`There is no Worker ${worker}.`);
  if (id !== undefined) {
    const found = await findVersion(cloudflare, deployment, id);
    if (found === undefined) throw new UserError(`${worker} has no version ${id}.`);
    if (newer === undefined && older.id === id) throw new UserError(`Version ${id} has all requests already.`);
    return found;
  }
  if (newer !== undefined) return older;
  const others: Version[] = [];
  for (const one of await provenVersions(cloudflare, deployment)) {
    const version = one === older.id ? undefined : await findVersion(cloudflare, deployment, one);
    if (version === undefined) continue;
    const isSameRelease = older.release !== undefined && older.release === version.release;
    if (version.number < older.number && !isSameRelease) return version;
    others.push(version);
  }
  const named = others.map((one) => `\n  npm run deploy -- ${name} rollback ${one.id}   (${releaseOf(one)})`);
  throw new UserError(
    `${worker} has no version of another release before this one (${releaseOf(older)}).${named.length > 0 ? ` Name one:${named.join("")}` : ""}`,
  );
}

export const releaseOf = ({ release = "not known" }: Version): string => `release ${release}`;

/** What old secrets do. */
export const oldSecrets = ({ id }: Version): string =>
  `Version ${id} may have other secrets than those in use. One that was replaced, as after a leak, is valid again; what a newer seal key has sealed cannot be opened, so that no token is issued.`;

/** What a rollback changes. It is compared with each version that runs: a canary may have what the other lacks. */
export function planRollback(running: readonly RunningVersion[], back: Version, haveSameSecrets: boolean): Plan {
  const secrets = [...back.secrets].toSorted().join(", ") || "none";
  const changes = new Set([
    `~ the secrets of that version come back: ${secrets}${haveSameSecrets ? " (no upload has brought others since)" : ""}`,
  ]);
  const dangers = new Map<string, Danger>();
  if (!haveSameSecrets) dangers.set("old-secrets", { flag: "old-secrets", text: oldSecrets(back) });
  const refusals = new Set<string>();
  for (const one of running) {
    const vars = changeVars(one.vars, back.vars);
    for (const change of vars.changes) changes.add(change);
    for (const danger of vars.dangers) dangers.set(danger.text, danger);
    const lost = [...one.classes].filter((name) => !back.classes.has(name));
    if (lost.length > 0)
      refusals.add(
        `The platform has objects of class ${lost.join(", ")}, which version ${back.id} does not know. ${NO_WAY_BACK}`,
      );
    if ((one.vars["TENANT_OBJECTS"] ?? "") !== "" && (back.vars["TENANT_OBJECTS"] ?? "") === "")
      refusals.add(
        `Version ${back.id} does not know objects of tenants: it would not find the files in them. ${otherWay("tenant_objects")}`,
      );
    for (const [shard, place] of shardsOf(one))
      if (shardsOf(back).get(shard) !== place)
        refusals.add(
          `Version ${back.id} does not know shard ${shard}, ${place}: it would not find the files of its tenants, and might write new ones elsewhere. ${otherWay("the shard")}`,
        );
  }
  return { changes: [...changes], dangers: [...dangers.values()], refusals: [...refusals] };
}

/** The shards of the file that the running version does not know. */
export function newShards({ databases }: Deployment, running: FoundWorker): readonly number[] {
  const known = shardsOf(running);
  return [...databases.keys()].filter((shard) => !known.has(shard));
}

/** The shards of a version, by number. A database is used before an object of the same number. */
function shardsOf({ databases, vars }: FoundWorker): ReadonlyMap<number, string> {
  const objects = parseObjectShards(vars["OBJECT_SHARDS"] ?? "") ?? new Map<number, undefined>();
  const found = new Map<number, string>();
  for (let shard = 0; shard < MOST_SHARDS; shard++) {
    const name = shardBinding(shard);
    if (databases.has(name)) found.set(shard, `the database ${databases.get(name) ?? name}`);
    else if (objects.has(shard)) found.set(shard, "an object");
  }
  return found;
}
