import { readFileSync } from "node:fs";
import { parse } from "smol-toml";
import { UserError } from "../../scripts/lib/user-error.ts";
import { deployments } from "./apply.ts";
import type { Cloudflare } from "./cloudflare.ts";
import { WRANGLER_CONFIG, type Deployment } from "./deployment.ts";
import { classesOf, type Binding, type FoundWorker } from "./found.ts";

/**
 * A rollback to the version before. Cloudflare refuses one over a change of the classes of objects, since the old code
 * could not run the new ones. So a deployment with a new class says so first and takes no canary, and a rollback over
 * it is refused here, with the remaining way.
 */
export interface WayBack {
  readonly versionId: string;
  /** The number of the release, if known. */
  readonly release: string | undefined;
}

export const NO_WAY_BACK = `No rollback goes back over that. The way back is a release that has the old code and the new classes.`;

/** Classes of objects that this release has and the running version lacks. None for a first deployment. */
export function newClasses(running: FoundWorker | undefined): readonly string[] {
  if (running === undefined) return [];
  const config = parse(readFileSync(WRANGLER_CONFIG, "utf8")) as {
    durable_objects: { bindings: { class_name: string }[] };
  };
  const wanted = config.durable_objects.bindings.map(({ class_name: name }) => name);
  return wanted.filter((name) => !running.classes.has(name));
}

/** Finds the version that had all requests before. Refuses if classes of objects have changed since. */
export async function findWayBack(
  cloudflare: Cloudflare,
  deployment: Deployment,
  running: FoundWorker | undefined,
): Promise<WayBack> {
  const { worker } = deployment;
  if (running === undefined) throw new UserError(`There is no Worker ${worker}.`);
  const [, ...earlier] = await deployments(cloudflare, deployment);
  const versionId = earlier.find(({ versions }) => versions.length === 1)?.versions[0]?.version_id;
  if (versionId === undefined) throw new UserError(`${worker} has no version before this one.`);
  const before = await cloudflare.account.find<Version>(`/workers/scripts/${worker}/versions/${versionId}`);
  const had = new Set(classesOf(before?.resources.bindings ?? []));
  const lost = [...running.classes].filter((name) => !had.has(name));
  if (before !== undefined && lost.length > 0)
    throw new UserError(
      `Nothing was changed. ${worker} has objects of class ${lost.join(", ")}, which version ${versionId} does not know.\n${NO_WAY_BACK}`,
    );
  return { versionId, release: before?.annotations?.["workers/tag"] };
}

interface Version {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly resources: { readonly bindings: readonly Binding[] };
}
