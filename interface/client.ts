import { generateSource } from "oazapfts";

/**
 * The typed client for TypeScript: a function an operation, named by its `operationId`, over `fetch`. Its generator takes
 * the document as any other would, so what comes of it shows what the document is worth; the command line and the tour
 * use it. Uploads and content are left out: they are reached by links, which an answer names whole.
 *
 * `file`: the document's path.
 */
export const makeClient = (file: string): Promise<string> =>
  generateSource(file, {
    exclude: ["Uploads and content"],
    enumStyle: "union",
    useUnknown: true,
    futureStripLegacyMethods: true,
  });
