import { VERSION } from "../../scripts/lib/version.ts";
import { UserError } from "../../scripts/lib/user-error.ts";
import type { Cloudflare } from "./cloudflare.ts";
import type { Deployment } from "./deployment.ts";
import { changedVars } from "./plan.ts";
import { newClasses, newShards, releaseOf } from "./rollback.ts";
import type { Secrets } from "./secrets.ts";
import { nextTakesOver, type RunningVersion } from "./versions.ts";

/**
 * A canary: two versions share the requests. Cloudflare runs no third one beside them.
 *
 *   one version  ── --canary 10 ───────────────────▶ two: the running one and a new upload
 *   two versions ── --canary 50, the same release ─▶ two: the same ones with other shares, no upload
 *   two versions ── deploy, the same release ──────▶ one: a new upload has all requests
 *   two versions ── rollback ──────────────────────▶ one: the older version, which was proven
 *   two versions ── anything of another release ───▶ refused: it would drop one of the two, perhaps the proven one
 */
export interface Canary {
  readonly proven: RunningVersion;
  readonly canary: RunningVersion;
}

/** The canary that runs; undefined if one version has all requests. Refuses if this checkout is another release. */
export function findCanary({ name }: Deployment, running: readonly RunningVersion[]): Canary | undefined {
  const [proven, canary] = running;
  if (proven === undefined || canary === undefined) return undefined;
  if (canary.release === VERSION) return { proven, canary };
  const command = `npm run deploy -- ${name}`;
  const raise =
    canary.release === undefined
      ? `${command} rollback ${canary.id}   all requests go to the canary`
      : `${command} --canary <percent>, or without --canary, from a checkout of release ${canary.release}   more of them, or all, go to the canary`;
  throw new UserError(
    `Nothing was changed. Two versions share the requests, and this checkout is release ${VERSION}, which is not the canary's:
  version ${proven.id}, ${releaseOf(proven)}, has ${proven.percentage} %
  version ${canary.id}, ${releaseOf(canary)}, the canary, has ${canary.percentage} %
End the canary first:
  ${command} rollback   all requests go to version ${proven.id}
  ${raise}`,
  );
}

/** Refuses a canary that cannot run beside the running version. */
export async function checkCanary(
  cloudflare: Cloudflare,
  deployment: Deployment,
  running: RunningVersion | undefined,
  secrets: Secrets["values"],
): Promise<RunningVersion> {
  if (running === undefined)
    throw new UserError("A first deployment has nothing to stand beside. Deploy it without --canary.");
  if (newClasses(running).length > 0)
    throw new UserError("\nNothing was changed. New classes of objects take no canary: deploy without --canary.");
  if ((running.vars["TENANT_OBJECTS"] ?? "") === "" && deployment.vars["TENANT_OBJECTS"] !== "")
    throw new UserError(
      "\nNothing was changed. The first tenant_objects takes no canary: the running version would not find the files in them. Deploy without --canary.",
    );
  const shards = newShards(deployment, running);
  if (shards.length > 0)
    throw new UserError(
      `\nNothing was changed. New shards take no canary (${shards.join(", ")}): the running version would not find the files of their tenants. Deploy without --canary.`,
    );
  // The cron of the new version seals everything again with the first key, which may be a new one.
  if (secrets["SEAL_KEYS"] !== undefined)
    throw new UserError(
      `\nNothing was changed. SEAL_KEYS takes no canary: the running version could not open what the new one seals with another key, and would issue no tokens. Deploy the keys without --canary first: npm run deploy -- ${deployment.name}. Then begin the canary without SEAL_KEYS.`,
    );
  if (!(await nextTakesOver(cloudflare, deployment, running, "SEAL_KEYS")))
    throw new UserError(
      `\nNothing was changed. The canary would get the secrets of the version that was uploaded last, not those of version ${running.id}, which runs since a rollback. Its SEAL_KEYS may be others: the running version could not open what the canary seals, and would issue no tokens. Deploy once without --canary, this release or the one that runs (${releaseOf(running)}); then both have the same keys.`,
    );
  return running;
}

/** Refuses other shares for a canary that is not what the file says. It is not uploaded again. */
export function checkUnchanged(deployment: Deployment, { canary }: Canary): void {
  const changed = changedVars(canary.vars, deployment.vars);
  if (changed.length > 0 || newShards(deployment, canary).length > 0)
    throw new UserError(
      `Nothing was changed. The file has changed since the canary was uploaded (${changed.join(", ") || "shards"}). Deploy it without --canary, or end the canary and begin another one: npm run deploy -- ${deployment.name} rollback`,
    );
}
