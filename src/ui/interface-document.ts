import type { Names } from "../platform/names.ts";
import { sha256Hex } from "../platform/hash.ts";

/**
 * api/openapi.json as this deployment serves it: with its own addresses, path prefix and platform name. `npm run
 * openapi` makes the file. It is loaded by the first request for it, so that other isolates do not pay for it.
 */
export interface InterfaceDocument {
  readonly info: { readonly title: string; readonly summary: string; readonly description: string };
  readonly "x-platform": string;
  readonly "x-tagGroups": readonly { readonly name: string; readonly tags: readonly string[] }[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, PathItem>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>;
    readonly responses: Readonly<Record<string, ResponseObject>>;
    readonly parameters: Readonly<Record<string, ParameterObject>>;
  };
}

/** A method in lower case → its operation; `servers` if the path is not below the prefix. */
export type PathItem = Readonly<Record<string, Operation>> & { readonly servers?: unknown };

export interface Operation {
  readonly tags: readonly [string];
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly deprecated?: boolean;
  /** The operation that replaces a deprecated one. */
  readonly "x-successor"?: string;
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters?: readonly (ParameterObject | Reference)[];
  readonly requestBody?: { readonly description?: string; readonly content: Content };
  readonly responses: Readonly<Record<string, ResponseObject | (Reference & { readonly description?: string })>>;
}

export interface Reference {
  readonly $ref: string;
}

export interface ParameterObject {
  readonly name: string;
  readonly in: string;
  readonly description?: string;
  readonly required?: boolean;
  readonly schema: JsonSchema;
}

export interface ResponseObject {
  readonly description: string;
  readonly headers?: Readonly<Record<string, unknown>>;
  readonly content?: Content;
}

export type Content = Readonly<Record<string, { readonly schema?: JsonSchema; readonly example?: unknown }>>;

export interface JsonSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly oneOf?: readonly JsonSchema[];
  readonly anyOf?: readonly JsonSchema[];
  readonly enum?: readonly unknown[];
  readonly [keyword: string]: unknown;
}

export interface Served {
  readonly document: InterfaceDocument;
  readonly text: string;
  /** With its quotes. */
  readonly etag: string;
}

/**
 * Finds the platform's name in the document: whole, or in front of a scope, client, header or parameter. Every other
 * `plat` is a word, and `npm run openapi` refuses it, since a reader would take it for the name.
 */
export const platformNamePattern = (platform: string): RegExp =>
  new RegExp(`(?<=["\` ])${platform}(?=[._-][a-z]|["\`])`, "g");

/** Returns the document with the deployment's public addresses; `publicBase` is `{origin}{PATH_PREFIX}`. */
export function createInterfaceDocument(names: Names, pathPrefix: string): (publicBase: string) => Promise<Served> {
  // Only the last address is kept: a forged Host fills no memory.
  let kept: { readonly base: string; readonly served: Promise<Served> } | undefined;
  return (publicBase) => {
    if (kept?.base !== publicBase) kept = { base: publicBase, served: serve(publicBase, names, pathPrefix) };
    return kept.served;
  };
}

async function serve(publicBase: string, names: Names, pathPrefix: string): Promise<Served> {
  const written = (await import("../../api/openapi.json")).default as unknown as InterfaceDocument;
  const origin = new URL(publicBase).origin;
  const paths = Object.entries(written.paths).map(([path, item]) =>
    item.servers === undefined
      ? [path, item]
      : // The prefix stands behind the well-known address.
        [path.replace(/(?=\/oauth2\/)/, pathPrefix), { ...item, servers: [{ url: origin }] }],
  );
  const own = { ...written, servers: [{ url: publicBase }], paths: Object.fromEntries(paths) as object };
  const text = JSON.stringify(own)
    .replaceAll(platformNamePattern(written["x-platform"]), names.platform)
    .replaceAll(/"(token|authorization|refresh)Url":"\//g, `"$1Url":"${publicBase}/`)
    .replaceAll("](/", `](${publicBase}/`);
  const digest = await sha256Hex(text);
  return { document: JSON.parse(text) as InterfaceDocument, text, etag: `"${digest.slice(0, 32)}"` };
}
