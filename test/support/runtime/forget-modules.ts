/** What this reads of a module of vitest's module runner. */
interface Module {
  readonly importers: Set<string>;
  readonly imports: ReadonlySet<string>;
  promise?: unknown;
  exports?: unknown;
  evaluated: boolean;
}

/** Sources that remember something between requests, and would carry it from one test file to the next. */
export const MEMORIES = ["deps.ts", "worker.ts", "events/consume/named-consumers.ts"] as const;

/**
 * Makes vitest evaluate modules anew where they are imported next: test/ but for one file, the sources that remember
 * something, and all that import one of these. The other sources stay as they are, compiled: `vi.resetModules` would also take
 * what the runtime has learned about them, which costs a third of the time of all tests.
 */
export function forgetModules(): void {
  const { evaluatedModules } = (globalThis as unknown as { __vitest_worker__: WorkerState }).__vitest_worker__;
  const modules = evaluatedModules.idToModuleMap;
  const forgotten = new Set([...modules.keys()].filter((id) => isForgotten(id)));
  // A set that grows while it is read is read to its new end.
  for (const id of forgotten) for (const importer of modules.get(id)?.importers ?? []) forgotten.add(importer);
  for (const id of forgotten) {
    const module = modules.get(id);
    if (module === undefined) continue;
    module.promise = undefined;
    module.exports = undefined;
    module.evaluated = false;
    module.importers.clear();
  }
}

interface WorkerState {
  readonly evaluatedModules: { readonly idToModuleMap: ReadonlyMap<string, Module> };
}

/** Remembers only what it makes of api/openapi.json, which takes 100 ms. */
const LASTING = "/test/support/documented.ts";

const isForgotten = (id: string): boolean =>
  (/\/test\//.test(id) && !id.endsWith(LASTING)) || MEMORIES.some((name) => id.endsWith(`/src/${name}`));
