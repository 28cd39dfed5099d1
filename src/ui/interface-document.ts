import type { Names } from "../platform/model/names.ts";
import { sha256Hex } from "../platform/secrets/hash.ts";

/**
 * api/openapi.json with the addresses, path prefix and platform name of this deployment. `npm run openapi` writes the
 * file. The first request for it loads it, so that isolates without such a request do not spend memory on it.
 */
interface InterfaceDocument {
  readonly "x-platform": string;
  readonly paths: Readonly<Record<string, { readonly servers?: unknown }>>;
}

export interface Served {
  readonly text: string;
  /** With its quotes. */
  readonly etag: string;
}

/**
 * Finds the platform's name in the document: alone, or before a scope, client, header or parameter. Any other `plat`
 * would be a word that readers take for the name, so `npm run openapi` refuses it.
 */
export const platformNamePattern = (platform: string): RegExp =>
  new RegExp(`(?<=["\` ])${platform}(?=[._-][a-z]|["\`])`, "g");

/** The address in the examples of texts. */
const WRITTEN_BASE = "http://127.0.0.1:8787";

/** Returns the document for the deployment's public address `publicBase`, which is `{origin}{PATH_PREFIX}`. */
export function createInterfaceDocument(names: Names, pathPrefix: string): (publicBase: string) => Promise<Served> {
  // Only the last address is kept, so that forged hosts fill no memory. The document is kept and not its promise, which
  // would stay pending for ever if the request that made it were cancelled, or stay rejected after a failure.
  let kept: { readonly base: string; readonly served: Served } | undefined;
  return async (publicBase) => {
    if (kept?.base === publicBase) return kept.served;
    const served = await serve(publicBase, names, pathPrefix);
    kept = { base: publicBase, served };
    return served;
  };
}

async function serve(publicBase: string, names: Names, pathPrefix: string): Promise<Served> {
  const written = (await import("../../api/openapi.json")).default as unknown as InterfaceDocument;
  const origin = new URL(publicBase).origin;
  const paths = Object.entries(written.paths).map(([path, item]) =>
    item.servers === undefined
      ? [path, item]
      : // The address of a well-known document has the prefix after the well-known part.
        [path.replace(/(?=\/oauth2\/)/, pathPrefix), { ...item, servers: [{ url: origin }] }],
  );
  const own = { ...written, servers: [{ url: publicBase }], paths: Object.fromEntries(paths) as object };
  const text = JSON.stringify(own)
    .replaceAll(platformNamePattern(written["x-platform"]), names.platform)
    .replaceAll(/"(token|authorization|refresh)Url":"\//g, `"$1Url":"${publicBase}/`)
    .replaceAll("](/", `](${publicBase}/`)
    .replaceAll(WRITTEN_BASE, publicBase);
  const digest = await sha256Hex(text);
  return { text, etag: `"${digest.slice(0, 32)}"` };
}
