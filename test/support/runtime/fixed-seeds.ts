import * as fc from "fast-check";
import { inject } from "vitest";

/**
 * The short searches of `npm test` try the same cases each time, so that only a change can make it fail. A run with
 * `RUNS` or another setting of its length is a search: its cases are new, and a failure prints its seed.
 */
if (!inject("isSearch")) fc.configureGlobal({ seed: 1 });

declare module "vitest" {
  interface ProvidedContext {
    isSearch: boolean;
  }
}
