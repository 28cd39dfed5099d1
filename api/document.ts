import { toJSONSchema } from "zod/mini";
import { rightOf } from "../src/http/callers/rights.ts";
import { TOKEN_KINDS } from "../src/http/callers/token-kind.ts";
import { platformNamePattern } from "../src/ui/interface-document.ts";
import type { MountedRoute, Tables } from "./tables.ts";
import { components } from "./components.ts";
import type { AnswerEntry, BodyEntry, Entry, Parameter, ServiceEntries } from "./model/entry.ts";
import { errorComponent } from "./errors.ts";
import { ABOUT, TAG_GROUPS } from "./about.ts";
import type { Schema } from "./model/schema.ts";

/** The interface document: the route tables, and the texts of `services/`. */
type Json = Record<string, unknown>;

export const keyOf = ({ route }: Pick<MountedRoute, "route">): string => `${route.method} ${route.path}`;

export interface Built {
  readonly document: Json;
  /** Gaps: routes without texts, texts without a route. */
  readonly faults: readonly string[];
}

export function buildDocument(tables: Tables, services: readonly ServiceEntries[]): Built {
  const faults: string[] = [];
  const paths: Record<string, Json> = {};
  const used = new Set<string>();
  // A service may name what another one has described.
  const schemas = Object.assign({}, ...services.map((service) => service.schemas)) as ServiceEntries["schemas"];
  for (const mounted of tables.routes) {
    // Files of the documentation, which the route cannot name.
    if (mounted.route.path.endsWith("*")) continue;
    const service = services.find(({ base }) => base === (mounted.base === DEPRECATED ? SUCCESSOR : mounted.base));
    const entry = service?.entries[keyOf(mounted)];
    if (service === undefined || entry === undefined) {
      faults.push(`${mounted.route.method} ${mounted.base}${mounted.route.path} has no entry in api/services`);
      continue;
    }
    used.add(`${service.base} ${keyOf(mounted)}`);
    const path = `${mounted.base}${mounted.route.path}`;
    const operation = operationOf(mounted, entry, { ...service, schemas }, tables, (fault) =>
      faults.push(`${keyOf(mounted)}: ${fault}`),
    );
    (paths[path] ??= mounted.atRoot ? { servers: [ROOT_SERVER] } : {})[mounted.route.method.toLowerCase()] = operation;
  }
  for (const service of services)
    for (const key of Object.keys(service.entries))
      if (!used.has(`${service.base} ${key}`)) faults.push(`${service.base} ${key} is in api/services and no route`);
  const document = {
    openapi: "3.1.1",
    info: ABOUT,
    "x-platform": tables.names.platform,
    servers: [SERVER],
    tags: services.flatMap(({ tags }) => tags),
    "x-tagGroups": TAG_GROUPS,
    security: [{ token: [] }],
    paths: besideTheirTwins(paths),
    components: components(tables, services, paths),
  };
  faults.push(...platformWords(document, tables.names.platform));
  return { document, faults };
}

/** Finds the platform's name in a text, where another deployment's name would be wrong. */
function platformWords(document: object, platform: string): string[] {
  const words = JSON.stringify(document)
    .replaceAll(platformNamePattern(platform), "")
    .matchAll(new RegExp(`.{0,40}\\b${platform}\\b.{0,20}`, "g"));
  return Array.from(words, ([place]) => `${platform} is neither a name's prefix nor in backticks: ${place}`);
}

const DEPRECATED = "/events/v1";
const SUCCESSOR = "/pubsub/v1";
const ORIGIN = {
  default: "http://127.0.0.1:8787",
  description: "Scheme, host and port; the default is what `npm start` serves.",
};
const SERVER = {
  url: "{origin}{PATH_PREFIX}",
  description: "A deployment of the platform.",
  variables: {
    origin: ORIGIN,
    PATH_PREFIX: { default: "", description: "The deployment's path prefix, for example `/base`; empty by default." },
  },
};
/** RFC 8414 wants this path at the root; the prefix follows it. */
const ROOT_SERVER = {
  url: "{origin}",
  description: "The root of the deployment's origin.",
  variables: { origin: ORIGIN },
};

/** Equal paths stand side by side, so that the file compresses to half of its size. */
function besideTheirTwins(paths: Readonly<Record<string, Json>>): Json {
  const plain = (path: string): string => path.replace(DEPRECATED, SUCCESSOR).replace("/v2/public/", "/v2/");
  const groups = Map.groupBy(Object.keys(paths), plain);
  return Object.fromEntries([...groups.values()].flat().map((path) => [path, paths[path]]));
}

function operationOf(
  mounted: MountedRoute,
  entry: Entry,
  service: ServiceEntries,
  tables: Tables,
  fault: (text: string) => void,
): Json {
  const { route } = mounted;
  const isDeprecated = mounted.base === DEPRECATED;
  const body = bodyOf(mounted, entry, fault);
  return {
    tags: [isDeprecated ? "Events (deprecated)" : entry.tag],
    operationId: isDeprecated ? `deprecated${entry.id[0]!.toUpperCase()}${entry.id.slice(1)}` : entry.id,
    summary: route.summary,
    ...descriptionOf([entry.about, accessText(mounted, entry)]),
    ...(isDeprecated ? { deprecated: true, "x-successor": entry.id } : {}),
    security: securityOf(mounted, entry, tables),
    ...withAny("parameters", parametersOf(mounted, entry, service, fault)),
    ...(body === undefined ? {} : { requestBody: body }),
    responses: responsesOf(mounted, entry, service, isDeprecated),
  };
}

/** Each operation has one: the lint says where it is missing. */
function descriptionOf(parts: readonly (string | undefined)[]): Json {
  const description = parts.filter((text) => text !== undefined).join("\n\n");
  return description === "" ? {} : { description };
}

const withAny = (name: string, values: readonly unknown[]): Json => (values.length === 0 ? {} : { [name]: values });

function accessText({ route }: MountedRoute, { security }: Entry): string | undefined {
  const { access } = route;
  if (access.kind === "scope" || security !== undefined) return undefined;
  // The entry says which scopes apply.
  if (access.kind === "token" && access.scopes.length > 0) return undefined;
  return access.kind === "token" ? `Any valid access token: ${access.why}.` : `No access token: ${access.why}.`;
}

function securityOf({ route }: MountedRoute, { security }: Entry, { names }: Tables): readonly Json[] {
  // Without HTTP Basic, the client is named in the form.
  if (security === "client") return [{ client: [] }, {}];
  const { access } = route;
  if (access.kind === "token")
    return [...access.scopes.map((scope) => ({ token: [names.scope(scope)] })), { token: [] }];
  if (security === "token") return [{ token: [] }];
  if (access.kind === "public") return [];
  return [access.scope, ...access.others, ...access.people].map((scope) => ({ token: [names.scope(scope)] }));
}

function parametersOf(
  { route }: MountedRoute,
  entry: Entry,
  service: ServiceEntries,
  fault: (text: string) => void,
): readonly unknown[] {
  const own = (place: "path" | "query", schema: Schema | undefined): readonly Json[] => {
    const { properties = {}, required = [] } = (schema ?? {}) as {
      properties?: Record<string, Schema>;
      required?: string[];
    };
    return Object.entries(properties).map(([name, found]) => {
      const said = entry.parameters?.[name] ?? service.parameters[name];
      if (said === undefined) fault(`the ${place} parameter ${name} has no words`);
      const isRequired = place === "path" || required.includes(name);
      // The type says what the text in the address means.
      const whole = said?.schema?.["type"] === undefined ? { ...booleanOr(found), ...said?.schema } : said.schema;
      return parameter(place, name, { text: "", ...said, schema: whole, required: isRequired });
    });
  };
  const inPath = own("path", jsonSchemaOf(route.params));
  const named = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
  for (const name of named)
    if (!inPath.some((one) => one["name"] === name)) fault(`the path parameter ${name} has no schema`);
  const inQuery = own("query", jsonSchemaOf(route.query));
  const known = new Set([...inPath, ...inQuery].map((one) => one["name"]));
  const read = Object.entries(entry.parameters ?? {}).filter(([name]) => !known.has(name));
  if (route.query !== undefined && read.length > 0) fault(`no query parameter is called ${read[0]![0]}`);
  return [
    ...inPath,
    ...inQuery,
    ...read.map(([name, said]) => parameter("query", name, said)),
    ...(route.paged ? ["pageNumber", "pageSize", "cursor"].map(componentParameter) : []),
    ...(entry.headers ?? []).map(componentParameter),
  ];
}

/** A route reads `true` or `false` as text; the document says boolean. */
const booleanOr = (schema: Schema): Schema =>
  JSON.stringify(schema["enum"]) === '["true","false"]' ? { type: "boolean" } : schema;

const componentParameter = (name: string): Json => ({ $ref: `#/components/parameters/${name}` });

const parameter = (place: string, name: string, { text, example, schema, required }: Parameter): Json => ({
  name,
  in: place,
  description: text,
  ...(required === true ? { required: true } : {}),
  schema: schema ?? { type: "string" },
  ...(example === undefined ? {} : { example }),
});

function bodyOf({ route }: MountedRoute, entry: Entry, fault: (text: string) => void): Json | undefined {
  const { body } = route;
  if (body.kind === "none") {
    if (entry.body !== undefined) fault("the route takes no body");
    return undefined;
  }
  const mediaType =
    entry.body?.mediaType ??
    {
      json: "application/json",
      "json-object": "application/json",
      "json-or-bytes": "application/json",
      form: FORM,
      stream: ANY_TYPE,
    }[body.kind];
  const isTyped = body.kind === "json" || body.kind === "json-or-bytes";
  const schema = entry.body?.schema ?? (isTyped ? jsonSchemaOf(body.schema) : undefined) ?? {};
  if (Object.keys(schema).length === 0) fault("the body has no schema");
  const described = body.kind === "stream" ? schema : withWords(schema, entry.body ?? {}, fault);
  const limit = "maxBytes" in body ? ` At most ${body.maxBytes} bytes.` : "";
  // A form without required fields may be absent.
  const isOptional =
    body.kind === "form"
      ? described["required"] === undefined
      : body.kind === "json-or-bytes" || ("optional" in body && body.optional);
  if (entry.body?.example === undefined && body.kind !== "stream") fault("the body has no example");
  return {
    description: `${entry.body?.text ?? (isOptional ? "May be left out." : "")}${limit}`.trim(),
    required: !isOptional,
    content: {
      [mediaType]: {
        schema: described,
        ...(entry.body?.example === undefined ? {} : { example: entry.body.example }),
      },
      ...Object.fromEntries(Object.entries(entry.body?.others ?? {}).map(([type, other]) => [type, { schema: other }])),
    },
  };
}

const FORM = "application/x-www-form-urlencoded";
// Any type; client generators read a union of all types as JSON.
const ANY_TYPE = "application/octet-stream";

/** Every field has a description; one for a missing field is an error. */
function withWords(
  schema: Schema,
  { fields: words = {}, more = {} }: BodyEntry,
  fault: (text: string) => void,
): Schema {
  const left = new Set([...Object.keys(words), ...Object.keys(more)]);
  const visit = (node: Schema, path: string): Schema => {
    const properties = node["properties"] as Record<string, Schema> | undefined;
    const items = node["items"] as Schema | undefined;
    if (items !== undefined) return { ...node, items: visit(items, path) };
    if (properties === undefined) return node;
    const described = Object.entries(properties).map(([name, property]) => {
      const at = path === "" ? name : `${path}.${name}`;
      left.delete(at);
      const text = words[at] ?? property["description"];
      if (text === undefined) fault(`the field ${at} of the body has no words`);
      return [name, { ...visit(property, at), ...more[at], description: text }] as const;
    });
    return { ...node, properties: Object.fromEntries(described) };
  };
  const described = visit(schema, "");
  for (const path of left) fault(`the body has no field ${path}`);
  return described;
}

function responsesOf(mounted: MountedRoute, entry: Entry, service: ServiceEntries, isDeprecated: boolean): Json {
  const answers = Object.entries(entry.answers).map(([status, answer]) => {
    const deprecation = isDeprecated ? ["Deprecation", ...(status === "204" ? [] : ["Link"])] : [];
    return [status, answerOf(answer, service, deprecation)] as const;
  });
  const errors = new Map<number, string | undefined>(followingErrors(mounted, entry).map((one) => [one, undefined]));
  for (const [status, text] of Object.entries(entry.errors ?? {})) errors.set(Number(status), text || undefined);
  const refused = [...errors]
    .sort(([one], [other]) => one - other)
    .map(([status, text]) => {
      const $ref = `#/components/responses/${errorComponent(mounted.errors, status)}`;
      return [String(status), text === undefined ? { $ref } : { $ref, description: text }] as const;
    });
  // An answer of the operation's own form includes the refusal of the same status.
  return Object.fromEntries([...refused, ...answers]);
}

/** The refusals of `http/mount.ts` that follow from the route's data. */
function followingErrors({ route, errors }: MountedRoute, entry: Entry): readonly number[] {
  const takesInput = route.params !== undefined || route.query !== undefined || route.paged;
  const takesBody = route.body.kind !== "none" && route.body.kind !== "stream";
  const needsToken = route.access.kind !== "public" || entry.security === "token";
  return [
    ...(takesInput || takesBody ? [400] : []),
    ...(needsToken ? [401] : []),
    ...(route.access.kind === "scope" ? [403] : []),
    ...TOKEN_KINDS.map((kind) => rightOf(route.operation, kind)).filter((right) => typeof right === "number"),
    ...(route.produces === "json" && errors === "platform" ? [406] : []),
    ...(takesBody ? [413, 415] : []),
    414,
    429,
    500,
    503,
  ];
}

function answerOf(
  { text, json, example, mediaTypes, headers = [] }: AnswerEntry,
  service: ServiceEntries,
  more: string[],
): Json {
  const content = {
    ...(json && { "application/json": { schema: json, example: example ?? exampleOf(json, service) } }),
    ...Object.fromEntries(Object.entries(mediaTypes ?? {}).map(([type, schema]) => [type, { schema }])),
  };
  const names = ["Request-Id", ...new Set([...headers, ...more])];
  return {
    description: text,
    headers: Object.fromEntries(names.map((name) => [headerName(name), { $ref: `#/components/headers/${name}` }])),
    ...(Object.keys(content).length === 0 ? {} : { content }),
  };
}

/** Names headers with one of the platform's suffixes by the platform. */
const headerName = (component: string): string =>
  ({ "Request-Id": "plat-request-id", "Delivery-Attempt": "plat-delivery-attempt", "Events-Lost": "plat-events-lost" })[
    component
  ] ?? component;

function exampleOf(schema: Schema, service: ServiceEntries): unknown {
  if (schema["type"] === "array") return [exampleOf(schema["items"] as Schema, service)];
  const name = (schema as { $ref?: string }).$ref?.replace("#/components/schemas/", "") ?? "";
  const named = service.schemas[name];
  if (named === undefined) throw new Error(`an answer has neither an example nor a named schema: ${name}`);
  return named.example;
}

/** The JSON Schema of a route's input. */
function jsonSchemaOf(schema: unknown): Schema | undefined {
  if (schema === undefined) return undefined;
  const made = toJSONSchema(schema as Parameters<typeof toJSONSchema>[0], { io: "input", unrepresentable: "any" });
  return tidy(made) as Schema;
}

/** Removes noise: the dialect, and the bounds of a double's whole numbers. */
function tidy(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(tidy);
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value).filter(
    ([key, of]) => key !== "$schema" && of !== Number.MAX_SAFE_INTEGER && of !== Number.MIN_SAFE_INTEGER,
  );
  return Object.fromEntries(kept.map(([key, of]) => [key, tidy(of)]));
}
