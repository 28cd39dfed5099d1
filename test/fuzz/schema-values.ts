import * as fc from "fast-check";
import { hostileValue } from "./hostile.ts";
import type { Json } from "./operations.ts";
import type { Known } from "./known.ts";
import { webAddress } from "../support/any-text.ts";

/** Names that the sandbox has things for. */
export const KNOWN = new Set(
  (
    "id email name clientId packageId sessionId topicOwnerClient eventType eventId subscriptionId subscriberId fileId erasureId variant providerId " +
    "file tenant organization roles services token client user access_token client_id client_secret redirect_uri " +
    "post_logout_redirect_uri code user_code refresh_token username password request csrf id_token_hint type expires signature " +
    "cursor after commitThrough endpoint service scope state code_verifier asked provider number"
  ).split(" "),
);

export const known = (name: string): fc.Arbitrary<Known> =>
  fc.record({
    known: fc.constant(name),
    which: fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, fc.nat({ max: 7 })),
  });

/** Values as the schema describes them. */
export function ofSchema(schema: Json, name = ""): fc.Arbitrary<unknown> {
  const own = ofType(schema, name);
  const takesOne = KNOWN.has(name) && schema["enum"] === undefined && schema["type"] === "string";
  return takesOne ? fc.oneof({ weight: 4, arbitrary: known(name) }, { weight: 1, arbitrary: own }) : own;
}

function ofType(schema: Json, name: string): fc.Arbitrary<unknown> {
  const variants = (schema["oneOf"] ?? schema["anyOf"]) as Json[] | undefined;
  if (variants !== undefined) return fc.oneof(...variants.map((variant) => ofSchema(variant, name)));
  if (schema["enum"] !== undefined) return fc.constantFrom(...(schema["enum"] as unknown[]));
  switch (schema["type"]) {
    case "boolean":
      return fc.boolean();
    case "integer": {
      const [min, max] = [schema["minimum"] ?? -(2 ** 53) + 1, schema["maximum"] ?? 2 ** 53 - 1] as [number, number];
      return fc.oneof(
        fc.integer({ min, max: Math.min(max, min + 50) }),
        fc.integer({ min, max }),
        fc.constantFrom(min, max),
      );
    }
    case "array": {
      const [least, most] = [schema["minItems"] ?? 0, Math.min(schema["maxItems"] ?? 5, 5)] as [number, number];
      const must: unknown[] = schema["contains"]?.const === undefined ? [] : [schema["contains"].const];
      return fc
        .array(ofSchema(schema["items"], name), { minLength: least, maxLength: most })
        .map((items) => [...must, ...items]);
    }
    case "object":
      return ofObject(schema);
    case "string":
      return ofText(schema);
    default:
      return hostileValue;
  }
}

function ofObject(schema: Json): fc.Arbitrary<unknown> {
  const properties = Object.entries((schema["properties"] ?? {}) as Record<string, Json>);
  if (properties.length === 0) return fc.dictionary(fc.string({ maxLength: 8 }), anyOfMap(schema), { maxKeys: 4 });
  const requiredKeys = (schema["required"] ?? []) as string[];
  return fc.record(Object.fromEntries(properties.map(([key, property]) => [key, ofSchema(property, key)])), {
    requiredKeys,
  });
}

const anyOfMap = (schema: Json): fc.Arbitrary<unknown> =>
  typeof schema["additionalProperties"] === "object"
    ? ofSchema(schema["additionalProperties"])
    : fc.oneof(
        fc.string({ maxLength: 8 }),
        fc.array(fc.string({ maxLength: 8 }), { maxLength: 3 }),
        fc.jsonValue({ maxDepth: 2 }),
      );

/** Generators of texts that match a pattern. It takes some milliseconds to make one. */
const matching = new Map<string, fc.Arbitrary<string>>();
const secureAddress = webAddress().map((url) => url.replace(/^http:/, "https:"));
const emailAddress = fc.emailAddress({ size: "-1" });

function ofText(schema: Json): fc.Arbitrary<string> {
  if (schema["pattern"] !== undefined) return ofPattern(schema["pattern"]);
  if (schema["format"] === "email") return emailAddress;
  if (schema["format"] === "uri") return secureAddress;
  return fc.string({ minLength: schema["minLength"] ?? 0, maxLength: Math.min(schema["maxLength"] ?? 40, 40) });
}

function ofPattern(pattern: string): fc.Arbitrary<string> {
  const generator = matching.get(pattern) ?? fc.stringMatching(new RegExp(pattern), { size: "-1" });
  matching.set(pattern, generator);
  return generator;
}
