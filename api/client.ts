import { generateSource } from "oazapfts";

/**
 * Disables the checks of oazapfts' runtime types, which fail under `exactOptionalPropertyTypes` (`tsc --init` sets
 * it). Callers of the client are still checked.
 */
const HEAD = "// @ts-nocheck\n";

/**
 * Generates the typed client for TypeScript: a function for each operation, named by its `operationId`, over `fetch`.
 * The generator reads the document like any other one would, so its output also tests the document; the command line
 * and the tour use it. Uploads and content have no function: answers name their links in full.
 * `docs/guides/typed-client.md` has the command for another platform's document.
 *
 * `file`: the document's path.
 */
export const makeClient = async (file: string): Promise<string> =>
  HEAD +
  (await generateSource(file, { exclude: ["Uploads and content"], useUnknown: true, futureStripLegacyMethods: true }));
