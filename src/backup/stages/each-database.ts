import { mapInParallel } from "../../platform/runtime/parallel.ts";
import { createLoadStore, type LoadStore } from "../database/load-store.ts";
import { LIMITS } from "../model/limits.ts";
import type { Stage } from "../model/stage.ts";
import type { StageDeps } from "./stage-deps.ts";
import { placeIn } from "../model/stage.ts";

/** A step in one database. Returns the next position there; undefined: the end. */
type StepIn = (load: LoadStore, position: string) => Promise<string | undefined>;

interface Place {
  readonly shard: number;
  readonly position: string;
  /** Undefined: the shards come first. */
  readonly objects?: ObjectPlace;
}

/** The last tenant object that was begun, and those that have not ended, each with its position. */
interface ObjectPlace {
  readonly after: number;
  readonly open: readonly (readonly [number: number, position: string])[];
}

/** A stage that runs in one shard after the other, and then in tenant objects, several at a time. */
export function inEachDatabase(name: string, deps: StageDeps, loads: readonly LoadStore[], step: StepIn): Stage {
  return {
    name,
    async step({ position }) {
      const at = placeIn<Place>(position, { shard: 0, position: "" });
      const load = at.objects === undefined ? loads[at.shard] : undefined;
      if (load !== undefined) {
        const next = await step(load, at.position);
        const following: Place = next === undefined ? { shard: at.shard + 1, position: "" } : { ...at, position: next };
        return { next: JSON.stringify(following) };
      }
      const objects = await inObjects(deps, at.objects ?? { after: 0, open: [] }, step);
      return { next: objects && JSON.stringify({ ...at, objects } satisfies Place) };
    },
  };
}

async function inObjects(deps: StageDeps, at: ObjectPlace, step: StepIn): Promise<ObjectPlace | undefined> {
  const open =
    at.open.length > 0 ? at.open : (await listedObjects(deps, at.after)).map((number) => [number, ""] as const);
  const last = open.at(-1);
  if (last === undefined) return undefined;
  const nexts = await mapInParallel(open, LIMITS.parallel, ([number, position]) =>
    step(loadOf(deps, number), position),
  );
  const left = open.flatMap(([number], index) => {
    const next = nexts[index];
    return next === undefined ? [] : [[number, next] as const];
  });
  return { after: Math.max(at.after, last[0]), open: left };
}

/** Numbers of tenant objects after a number. The restored directory lists them. */
export const listedObjects = async (
  { tenantObjects, listObjects }: Pick<StageDeps, "tenantObjects" | "listObjects">,
  after: number,
): Promise<readonly number[]> =>
  tenantObjects === undefined ? [] : (await listObjects(after, LIMITS.tenantObjects)).map(({ number }) => number);

export const loadOf = ({ tenantObjects }: Pick<StageDeps, "tenantObjects">, number: number): LoadStore =>
  createLoadStore(tenantObjects!.at(number).db);
