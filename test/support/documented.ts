import { dereference, format, validate, type Schema } from "@cfworker/json-schema";
import document from "../../api/openapi.json";

/**
 * Checks each answer that a test gets against api/openapi.json: the document must have its status, content type,
 * headers and JSON body for the operation. A field that the document lacks is a fault too, although clients must ignore
 * such fields.
 */
type Json = Record<string, any>;

interface Operation {
  readonly name: string;
  readonly responses: Json;
  /** The schema of the JSON body; undefined if there is none. */
  readonly body: unknown;
  /** True for a former address: each answer must name it as deprecated, and the new address. */
  readonly deprecated: boolean;
}

interface Path {
  readonly pattern: RegExp;
  readonly parameters: number;
  readonly operations: ReadonlyMap<string, Operation>;
}

const BASE = "https://interface.example/";
const lookup: Record<string, Schema | boolean> = Object.create(null);
const components = (document as Json)["components"] as Json;

/** Forbids other fields in objects that list their fields. References point into one schema that has all schemas. */
function closed(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(closed);
  if (typeof node !== "object" || node === null) return node;
  const { $ref, example: _, ...rest } = node as Json;
  if (typeof $ref === "string") return { $ref: $ref.replace("#/components/schemas/", `${BASE}all#/$defs/`) };
  const entries = Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, closed(value)]));
  const isOpen = rest["properties"] === undefined || rest["additionalProperties"] !== undefined;
  return isOpen ? entries : { ...entries, additionalProperties: false };
}

/** Returns a schema with its references replaced by the schemas. */
export function inFull(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(inFull);
  if (typeof node !== "object" || node === null) return node;
  const { $ref } = node as Json;
  if (typeof $ref === "string") return inFull(components["schemas"][$ref.replace("#/components/schemas/", "")]);
  return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, inFull(value)]));
}

dereference({ $id: `${BASE}all`, $defs: closed(components["schemas"]) }, lookup);

const paths: readonly Path[] = Object.entries((document as Json)["paths"] as Json)
  .map(([template, item]: [string, Json]) => ({
    pattern: new RegExp(`^${template.replaceAll(/[.]/g, "\\.").replaceAll(/\{[^}]+\}/g, "[^/]+")}$`),
    parameters: template.split("{").length,
    operations: new Map(
      Object.entries(item)
        .filter(([method]) => method !== "servers")
        .map(([method, { responses, requestBody, deprecated = false }]) => {
          const body = inFull(requestBody?.content["application/json"]?.schema);
          return [method, { name: `${method.toUpperCase()} ${template}`, responses, body, deprecated }] as const;
        }),
    ),
  }))
  .sort((one, other) => one.parameters - other.parameters);

const schemas = new Map<string, Schema>();

/** Results by address: a check takes 0.3 ms, and most answers have one of few addresses. */
const addresses = new Map<string, boolean>();
const isAddress = format["uri"]!;
format["uri"] = (text) => {
  const known = addresses.get(text) ?? isAddress(text);
  addresses.set(text, known);
  return known;
};

function schemaOf(operation: Operation, status: string, schema: unknown): Schema {
  const $id = `${BASE}${encodeURIComponent(operation.name)}/${status}`;
  const known = schemas.get($id);
  if (known !== undefined) return known;
  const made = { $id, allOf: [closed(schema)] } as Schema;
  dereference(made, lookup);
  schemas.set($id, made);
  return made;
}

/**
 * Throws if the document does not have this answer, or does not allow the JSON that was `sent` and accepted. It ignores
 * paths and methods that the document does not have.
 */
export async function expectDocumented(
  method: string,
  path: string,
  response: Response,
  sent?: unknown,
): Promise<void> {
  const found = paths.find(({ pattern }) => pattern.test(path));
  const operation = found?.operations.get(method === "HEAD" ? "get" : method.toLowerCase());
  // A GET that changes state does not answer HEAD.
  if (operation === undefined || (method === "HEAD" && response.status === 405)) return;
  const fault = (await faultOf(operation, method, response)) ?? faultOfBody(operation, response, sent);
  if (fault !== undefined) throw new Error(`api/openapi.json: ${operation.name}: ${fault}`);
}

async function faultOf(operation: Operation, method: string, response: Response): Promise<string | undefined> {
  const status = String(response.status);
  const stated = resolve(operation.responses[status]);
  if (stated === undefined) return `it has no answer ${status}: ${await response.clone().text()}`;
  const untold = [...response.headers.keys()].filter((name) => TOLD.has(name) && !isStated(name, stated, operation));
  if (untold.length > 0) return `${status} has the headers ${untold.join(", ")}`;
  const content: Json = stated["content"] ?? {};
  const type = response.headers.get("content-type")?.split(";")[0]?.trim();
  if (!/^[0-9a-f]{32}$/.test(response.headers.get("plat-request-id") ?? "")) return `${status} has no request id`;
  if (type === undefined) {
    const isEmpty = Object.keys(content).length === 0 || method === "HEAD" || "*/*" in content;
    return isEmpty ? undefined : `${status} has no content type`;
  }
  const media = content[type] ?? content["*/*"];
  if (media === undefined) return `${status} is ${type}, not ${Object.keys(content).join(", ") || "without content"}`;
  // The content of a JSON file may be any JSON.
  const isJson = type === "application/json" && type in content;
  if (!isJson || media.schema === undefined || method === "HEAD") return undefined;
  let value: unknown;
  try {
    value = await response.clone().json();
  } catch {
    // The test itself checks an answer that breaks off.
    return undefined;
  }
  const { valid, errors } = validate(value, schemaOf(operation, status, media.schema), "2020-12", lookup, false);
  return valid ? undefined : `${status} is not as described: ${errors.map(wordsOf).join("; ")}`;
}

/** Headers for clients that only some answers have. */
const TOLD = new Set(
  [
    ...Object.values(components["responses"] as Json),
    ...Object.values((document as Json)["paths"] as Json)
      .flatMap((item: Json) => Object.values(item))
      .flatMap((operation: Json) => Object.values(operation["responses"] ?? {})),
  ]
    .flatMap((stated: Json) => Object.keys(stated["headers"] ?? {}))
    .map((name) => name.toLowerCase())
    .filter((name) => !["plat-request-id", "cache-control"].includes(name)),
);

const isStated = (name: string, stated: Json, { deprecated }: Operation): boolean =>
  Object.keys(stated["headers"] ?? {}).some((known) => known.toLowerCase() === name) ||
  (deprecated && (name === "deprecation" || name === "link"));

function faultOfBody(operation: Operation, response: Response, sent: unknown): string | undefined {
  if (!response.ok || sent === undefined || operation.body === undefined) return undefined;
  // The schema is used without `closed`, because a request may have unknown fields.
  const json: unknown = JSON.parse(JSON.stringify(sent));
  const { valid, errors } = validate(json, operation.body as Schema, "2020-12", undefined, false);
  return valid ? undefined : `it does not take what the Worker took: ${errors.map(wordsOf).join("; ")}`;
}

const resolve = (stated: Json | undefined): Json | undefined =>
  stated?.["$ref"] === undefined
    ? stated
    : (components["responses"] as Json)[String(stated["$ref"]).replace("#/components/responses/", "")];

const wordsOf = ({ instanceLocation, error }: { instanceLocation: string; error: string }): string =>
  `${instanceLocation} ${error}`;
