import { generateSource } from "oazapfts";

/** The line of the generator that makes the runtime. */
export const RUNTIME = "const oazapfts = Oazapfts.runtime(defaults);\n";

/**
 * The runtime with types that hold under `exactOptionalPropertyTypes`, which `tsc --init` sets: its own call an absent
 * body undefined, and take none. So the whole file is checked, wherever it is copied to.
 */
export const TYPED_RUNTIME = `const runtime = Oazapfts.runtime(defaults);
type Json = Parameters<typeof runtime.json>[0];
type Form = Parameters<typeof runtime.form>[0];
type Sent = NonNullable<Parameters<typeof runtime.fetchJson>[1]>;
type Given<T extends { body?: unknown }> = Omit<T, "body"> & { body?: T["body"] | undefined };
const oazapfts = {
    ...runtime,
    json: (given: Given<Json>) => runtime.json(given as Json) as Sent,
    form: (given: Given<Form>) => runtime.form(given as Form) as Sent
};
`;

/**
 * Generates the typed client for TypeScript: a function for each operation, named by its `operationId`, over `fetch`.
 * The generator reads the document like any other one would, so its output also tests the document; the command line
 * and the tour use it. Uploads and content have no function: answers name their links in full.
 * `docs/guides/typed-client.md` has the command for another platform's document.
 *
 * `file`: the document's path.
 */
export async function makeClient(file: string): Promise<string> {
  const options = { exclude: ["Uploads and content"], useUnknown: true, futureStripLegacyMethods: true };
  const source = await generateSource(file, options);
  if (!source.includes(RUNTIME)) throw new Error("the generator begins its file otherwise now");
  return source.replace(RUNTIME, TYPED_RUNTIME);
}
