import { PART_PREFIX } from "../bucket/part-store.ts";
import { COPY_PREFIX, type FileLine } from "../files/file-copies.ts";
import { LIMITS } from "../model/limits.ts";
import { SECTIONS } from "../model/part.ts";
import type { Stage } from "../model/stage.ts";
import type { StageDeps } from "./stage-deps.ts";
import { readIndex } from "./index-parts.ts";
import { readPart } from "./topic-walk.ts";
import { placeIn } from "../model/stage.ts";

/**
 * Removes backups: first their manifests, then the objects that no manifest needs any more. This includes objects of
 * backups that never became whole, and of removals that broke off.
 */
export function removeStages(deps: StageDeps): readonly Stage[] {
  return [
    removeManifests(deps),
    markWanted(deps),
    sweep(deps, "parts", PART_PREFIX),
    sweep(deps, "copies", COPY_PREFIX),
  ];
}

function removeManifests({ manifests }: StageDeps): Stage {
  return {
    name: "manifests",
    async step({ job, lists }) {
      const ids = job.kind === "remove" ? [job.backup] : (await manifests.ids()).slice(job.options.keep ?? Infinity);
      const some = ids.slice(0, LIMITS.removedAtOnce);
      if (some.length > 0 && lists.stillRuns(job)) await manifests.delete(some);
      return { next: some.length < ids.length ? "more" : undefined };
    },
  };
}

/** Marks every object that some manifest needs. */
function markWanted({ manifests, parts }: StageDeps): Stage {
  return {
    name: "mark",
    async step({ position }) {
      const ids = (await manifests.ids()).toReversed();
      const at = placeIn(position, { id: "", index: "" });
      const id = at.index === "" ? ids.find((one) => one > at.id) : at.id;
      if (id === undefined) return { next: undefined };
      const manifest = await manifests.read(id);
      if (manifest === undefined) return { next: JSON.stringify({ id, index: "" }) };
      const { lines, next } = await readIndex(parts, manifest.index, at.index);
      const marks = [...manifest.index, ...lines.map(({ digest }) => digest)].map((digest) => PART_PREFIX + digest);
      if (manifest.bytes === "copy")
        for (const { digest } of lines.filter(({ section }) => section === SECTIONS.media))
          for (const line of await readPart(parts, digest))
            marks.push(COPY_PREFIX + (JSON.parse(line) as FileLine).key);
      return { next: JSON.stringify({ id, index: next ?? "" }), marks };
    },
  };
}

function sweep({ copies }: StageDeps, name: string, prefix: string): Stage {
  return {
    name: `sweep_${name}`,
    step: async ({ position, lists, job }) => ({
      // The marks of a job that was cancelled meanwhile are gone, so every object seems unwanted.
      next: await copies.sweep(prefix, position, (keys) =>
        lists.stillRuns(job) ? keys.filter((key) => !lists.isMarked(key)) : [],
      ),
    }),
  };
}
