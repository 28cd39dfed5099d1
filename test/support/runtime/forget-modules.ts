/** The part of vitest's modules that this file reads. */
interface Module {
  readonly importers: Set<string>;
  readonly imports: ReadonlySet<string>;
  promise?: unknown;
  exports?: unknown;
  evaluated: boolean;
}

/** Sources with state between requests, which would carry it from one test file to the next. */
export const MEMORIES = ["deps.ts", "worker.ts", "events/consume/named-consumers.ts"] as const;

/**
 * Makes vitest evaluate modules again at their next import: all of test/ except one file, the sources with state, and
 * the modules that import one of these. All other sources stay compiled. `vi.resetModules` would also drop what the
 * runtime has optimized, which costs a third of the time of all tests.
 */
export function forgetModules(): void {
  const { evaluatedModules } = (globalThis as unknown as { __vitest_worker__: WorkerState }).__vitest_worker__;
  const modules = evaluatedModules.idToModuleMap;
  const forgotten = new Set([...modules.keys()].filter((id) => isForgotten(id)));
  // Iterating a set also visits the items that are added meanwhile.
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

/** This module keeps only the compiled api/openapi.json, which takes 100 ms. */
const LASTING = "/test/support/documented.ts";

const isForgotten = (id: string): boolean =>
  (/\/test\//.test(id) && !id.endsWith(LASTING)) || MEMORIES.some((name) => id.endsWith(`/src/${name}`));
