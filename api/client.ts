import { generateSource } from "oazapfts";

/**
 * The types of oazapfts' runtime do not hold under `exactOptionalPropertyTypes`, which `tsc --init` switches on. Whoever
 * calls the client is checked all the same.
 */
const HEAD = "// @ts-nocheck\n";

/**
 * The typed client for TypeScript: a function an operation, named by its `operationId`, over `fetch`. Its generator takes
 * the document as any other would, so what comes of it shows what the document is worth; the command line and the tour
 * use it. Uploads and content are left out: they are reached by links, which an answer names whole. `docs/guides/typed-client.md`
 * has the same as a command, for the document of another platform.
 *
 * `file`: the document's path.
 */
export const makeClient = async (file: string): Promise<string> =>
  HEAD +
  (await generateSource(file, { exclude: ["Uploads and content"], useUnknown: true, futureStripLegacyMethods: true }));
