import type { Known } from "./known.ts";
import * as fc from "fast-check";
import { contentType, hostileBody, hostileHeader, hostileText, hostileValue, rawPart } from "./hostile.ts";
import type { Json, Operation, Parameter } from "./operations.ts";
import { KNOWN, known, ofSchema } from "./schema-values.ts";

export type Part = Known | { readonly text: string } | { readonly raw: string };
export type Caller = "right" | "operator" | "client" | "user" | "foreign" | "weak" | "nobody" | "broken";

export interface Plan {
  readonly caller: Caller;
  /** Of each path parameter. */
  readonly path: Readonly<Record<string, Part>>;
  readonly query: readonly (readonly [name: string, part: Part])[];
  readonly headers: readonly (readonly [name: string, value: Part])[];
  /** Undefined: none is sent. */
  readonly body: PlannedBody | undefined;
  /** Undefined: none is sent. */
  readonly contentType: string | undefined;
}
export type PlannedBody =
  | { readonly kind: "value"; readonly value: unknown; readonly spelling: Spelling }
  | { readonly kind: "bytes"; readonly bytes: string | Uint8Array<ArrayBuffer> };
/** How a value becomes a body. */
export type Spelling = "plain" | "truncated" | "each key twice" | "with __proto__" | "with a byte order mark";

export const isKnown = (value: unknown): value is Known =>
  typeof value === "object" && value !== null && Object.hasOwn(value, "known");

const SIZES = ["1x1", "10x10", "300x200,64x64", "0x0", "4096x4096", "10X10"];
const asPart = (value: unknown): Part => (isKnown(value) ? value : { text: String(value) });

function good({ name, schema }: Parameter): fc.Arbitrary<Part> {
  if (name === "clip" || name === "crop") return fc.constantFrom(...SIZES).map(asPart);
  if (KNOWN.has(name)) return fc.oneof({ weight: 6, arbitrary: known(name) }, ofSchema(schema, name).map(asPart));
  return ofSchema(schema, name).map(asPart);
}
const bad: fc.Arbitrary<Part> = fc.oneof(
  hostileText.map((text) => ({ text })),
  rawPart.map((raw) => ({ raw })),
);
const badHeader: fc.Arbitrary<Part> = hostileHeader.map((text) => ({ text }));

/** What is wrong with a request; most have one fault, so that what comes behind a check is reached. */
interface Mood {
  readonly path: boolean;
  readonly query: boolean;
  readonly headers: boolean;
  readonly body: boolean;
  readonly caller: boolean;
}
const fine: Mood = { path: false, query: false, headers: false, body: false, caller: false };
/** Only what the operation has can be wrong: a GET sends no body. */
const moodFor = (hasPath: boolean, hasBody: boolean): fc.Arbitrary<Mood> =>
  fc.oneof(
    { weight: 4, arbitrary: fc.constant(fine) },
    {
      weight: 6,
      arbitrary: fc
        .constantFrom<keyof Mood>(
          "query",
          "query",
          "headers",
          "caller",
          ...(hasPath ? (["path"] as const) : []),
          ...(hasBody ? (["body", "body", "body"] as const) : []),
        )
        .map((one) => ({ ...fine, [one]: true })),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        path: fc.boolean(),
        query: fc.boolean(),
        headers: fc.boolean(),
        body: fc.boolean(),
        caller: fc.boolean(),
      }),
    },
  );

const CALLERS: Caller[] = ["operator", "client", "user", "foreign", "weak", "nobody", "broken"];
const EVERY_HEADER =
  "if-none-match if-match if-range range accept idempotency-key content-disposition plat-session-id if-modified-since authorization cookie content-encoding origin host-x forwarded x-forwarded-host accept-language content-length sec-fetch-site plat-tenant".split(
    " ",
  );

/** Any request to the operation: a good one, one with a fault, or nothing but faults. */
export function planOf(operation: Operation): fc.Arbitrary<Plan> {
  const of = (place: string) => operation.parameters.filter((one) => one.in === place);
  const [, needed] = neededOf(operation);
  const inQuery = of("query").map((one) => ({ ...one, required: one.required || needed.includes(one.name) }));
  const [inPath, inHeader] = [of("path"), of("header")];
  return moodFor(inPath.length > 0, operation.method !== "GET").chain((is) =>
    fc.record<Plan>({
      caller: is.caller ? fc.constantFrom(...CALLERS) : fc.constant<Caller>("right"),
      path: fc.record(
        Object.fromEntries(inPath.map((one) => [one.name, is.path ? fc.oneof(bad, good(one)) : good(one)])),
      ),
      query: queryOf(inQuery, is.query),
      headers: headersOf(inHeader, is.headers),
      body: bodyOf(operation, is.body),
      contentType: is.body
        ? fc.oneof(
            { weight: 1, arbitrary: fc.constant(undefined) },
            { weight: 4, arbitrary: contentType },
            { weight: 4, arbitrary: fc.constant(typeOf(operation)) },
          )
        : fc.constant(typeOf(operation)),
    }),
  );
}

function queryOf(parameters: readonly Parameter[], isBad: boolean): fc.Arbitrary<[string, Part][]> {
  const each = parameters.map((one) =>
    fc.option(
      (isBad ? fc.oneof(bad, good(one)) : good(one)).map((part): [string, Part] => [one.name, part]),
      { nil: undefined, freq: one.required && !isBad ? 1_000_000 : isBad ? 2 : 1 },
    ),
  );
  const chosen = fc.tuple(...each).map((parts) => parts.filter((part) => part !== undefined));
  if (!isBad) return chosen;
  const names = [...parameters.map(({ name }) => name), "pageSize", "access_token", "__proto__", ""];
  const more = fc.array(fc.tuple(fc.constantFrom(...names), bad), { maxLength: 3 });
  const long = fc
    .constantFrom(0, 0, 0, 0, 0, 0, 0, 1, 40)
    .map((n): [string, Part][] => Array.from({ length: n }, () => ["x", { text: "y".repeat(n === 1 ? 17_000 : 100) }]));
  // What is there twice comes out of `more`.
  return fc.tuple(chosen, more, long).map((lists) => lists.flat());
}

function headersOf(parameters: readonly Parameter[], isBad: boolean): fc.Arbitrary<[string, Part][]> {
  if (isBad) return fc.array(fc.tuple(fc.constantFrom(...EVERY_HEADER), badHeader), { minLength: 1, maxLength: 4 });
  const each = parameters.map((one) =>
    fc.option(
      fc
        .oneof(
          ofSchema(one.schema).map((value): Part => ({ text: String(value).replaceAll(/[^\x21-\x7e]/g, "~") })),
          fc.constant<Part>({ known: `header ${one.name}`, which: 0 }),
        )
        .map((part): [string, Part] => [one.name, part]),
      { nil: undefined, freq: 1 },
    ),
  );
  return fc.tuple(...each).map((parts) => parts.filter((part) => part !== undefined));
}

const plain = (value: unknown): PlannedBody => ({ kind: "value", value, spelling: "plain" });

function bodyOf({ id, method, body }: Operation, isBad: boolean): fc.Arbitrary<PlannedBody | undefined> {
  const bytes = hostileBody.map((given): PlannedBody => ({ kind: "bytes", bytes: given }));
  if (body === undefined)
    return isBad && method !== "GET" ? fc.option(bytes, { nil: undefined }) : fc.constant(undefined);
  if (body.mediaType === BYTES) return isBad ? bytes : fc.constant({ kind: "bytes", bytes: "some content" });
  const value = fc.oneof(...schemasOf(id, body.schema).map((schema) => ofSchema(schema)));
  if (!isBad) return body.required ? value.map(plain) : fc.option(value.map(plain), { nil: undefined });
  const keys = Object.keys(body.schema["properties"] ?? body.schema["oneOf"]?.[0].properties ?? { album: {} });
  const faulty = fc
    .tuple(
      value,
      fc.array(fc.tuple(fc.constantFrom(...keys, "__proto__", "x"), fc.option(hostileValue, { nil: undefined })), {
        minLength: 1,
        maxLength: 2,
      }),
    )
    .map(([given, faults]) => withFaults(given, faults));
  const spelling = fc.constantFrom<Spelling>("truncated", "each key twice", "with __proto__", "with a byte order mark");
  return fc.oneof(
    { weight: 6, arbitrary: faulty.map(plain) },
    {
      weight: 2,
      arbitrary: fc
        .tuple(value, spelling)
        .map(([given, how]) => ({ kind: "value", value: given, spelling: how }) as const),
    },
    { weight: 1, arbitrary: hostileValue.map(plain) },
    { weight: 2, arbitrary: bytes },
    { weight: 1, arbitrary: fc.constant(undefined) },
  );
}

/** One schema has the fields of every grant; a request that succeeds has those of one. */
const GRANTS: Readonly<Record<string, readonly string[]>> = {
  client_credentials: [],
  authorization_code: ["code", "redirect_uri", "code_verifier"],
  refresh_token: ["refresh_token"],
  password: ["username", "password"],
};

function schemasOf(id: string, schema: Json): readonly Json[] {
  if (id !== "getToken") return [schema];
  const of = Object.entries(GRANTS).map(([grant, fields]) => {
    const picked = fields.map((field) => [field, schema["properties"][field]] as const);
    const properties = {
      ...Object.fromEntries(picked),
      grant_type: { enum: [grant] },
      scope: schema["properties"].scope,
    };
    return { type: "object", properties, required: ["grant_type", ...fields] };
  });
  return [schema, ...of];
}

/** Fields are replaced, and left out where nothing is given. */
function withFaults(value: unknown, faults: readonly (readonly [key: string, value: unknown])[]): unknown {
  if (Array.isArray(value)) return value.map((one, at) => (at === 0 ? withFaults(one, faults) : one));
  if (typeof value !== "object" || value === null || isKnown(value)) return value;
  const entries = Object.entries(value).filter(([key]) => !faults.some(([name]) => name === key));
  return Object.fromEntries([...entries, ...faults.filter(([, fault]) => fault !== undefined)]);
}

/** An upload's, in the document. */
const BYTES = "application/octet-stream";

/** What a good request has though the schema does not require it, by words of the operation's name. */
const NEEDED: readonly (readonly [name: RegExp, query: readonly string[], fields: readonly string[]])[] = [
  [/^uploadFile$/, ["type", "expires", "signature"], []],
  [/^getContent$/, ["expires", "signature"], []],
  [/^signIn|OfAccount$|^(removeAccess|changePassword)$/, [], ["csrf"]],
  [/^consent$/, [], ["csrf", "asked"]],
  [/^enterDeviceCode$/, [], ["csrf"]],
  [/^(authorizeDevice|pushAuthorizationRequest)$/, [], ["client_secret"]],
  [/^endSession$/, ["client_id"], []],
  [/^explain$/, ["client"], []],
  [/Variants$/, ["clip"], []],
];
/** An upload has the type that the file was made with. */
const typeOf = ({ body }: Operation) => (body?.mediaType === BYTES ? "binary/octet-stream" : body?.mediaType);
const neededOf = ({ id }: Operation) => NEEDED.find(([name]) => name.test(id)) ?? [/./, [], []];

/** The request that the document shows: everything required, as its examples have it. It has to succeed. */
export function shown(operation: Operation): Plan {
  const { parameters, body } = operation;
  const [, needed, fields] = neededOf(operation);
  const part = ({ name, example }: Parameter): Part =>
    KNOWN.has(name) ? { known: name, which: 0 } : { text: typeof example === "string" ? example : "" };
  const more = Object.fromEntries(fields.map((field) => [field, { known: field, which: 0 }]));
  return {
    caller: "right",
    path: Object.fromEntries(parameters.filter((one) => one.in === "path").map((one) => [one.name, part(one)])),
    query: parameters
      .filter((one) => one.in === "query" && (one.required || needed.includes(one.name)))
      .map((one) => [one.name, part(one)] as const),
    headers: [],
    body:
      body === undefined
        ? undefined
        : body.mediaType === BYTES
          ? { kind: "bytes", bytes: "some content" }
          : plain(fields.length === 0 ? withKnown(body.example) : { ...(withKnown(body.example) as object), ...more }),
    contentType: typeOf(operation),
  };
}

const withKnown = (value: unknown, name = ""): unknown => {
  if (typeof value === "string" && KNOWN.has(name)) return { known: name, which: 0 };
  if (Array.isArray(value)) return value.map((one) => withKnown(one, name));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, withKnown(field, key)]));
};
