import * as z from "zod/mini";
import { PATTERN_WORDS } from "../../platform/model/names.ts";
import { err, ok, type Result } from "../../platform/model/result.ts";
import { isObject } from "../../platform/text/json.ts";
import { problem, type Problem, type ProblemDetail } from "../errors/errors.ts";

/** The `details[].type` of a fault, by the source of the value. */
const FAULT_TYPES = {
  body: { missing: "missing_field", invalid: "invalid_field" },
  header: { missing: "missing_header", invalid: "invalid_header" },
  query: { missing: "missing_query_parameter", invalid: "invalid_query_parameter" },
  path: { missing: "invalid_uri_parameter", invalid: "invalid_uri_parameter" },
} as const;

export type InputSource = keyof typeof FAULT_TYPES;

/** A schema of a route: checks an unknown value and returns a `T`. */
export type Schema<T = unknown> = z.ZodMiniType<T>;

/** Faults named in one response: enough to correct a request, limited for a request full of them. */
const MAX_DETAILS = 20;

/** Checks a value and names every fault by its field in dot notation. */
export function validate<T>(source: InputSource, schema: Schema<T>, value: unknown): Result<T, Problem> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return ok(parsed.data);
  const details = parsed.error.issues.slice(0, MAX_DETAILS).map((issue) => detailOf(source, issue, value));
  const message = details.map((detail) => detail.message).join(" ");
  return err(problem("validation_violation", message, { details }));
}

function detailOf(source: InputSource, issue: z.core.$ZodIssue, value: unknown): ProblemDetail {
  const absent = issue.path.length > 0 && valueAt(value, issue.path) === undefined;
  // A custom rule may concern a field together with others, and the field may be left out.
  const missing = absent && issue.code !== "custom";
  const field = issue.path.reduce<string>(
    (path, key) => (typeof key === "number" ? `${path}[${key}]` : path === "" ? String(key) : `${path}.${String(key)}`),
    "",
  );
  const name = field === "" ? `The ${source}` : field;
  const message = missing ? `${name} is missing.` : `${name} ${wording(issue)}.`;
  return { type: FAULT_TYPES[source][missing ? "missing" : "invalid"], field, message };
}

function wording(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case "invalid_type":
      return issue.message === "Invalid input" ? `must be ${article(issue.expected)}` : issue.message;
    case "too_small":
      return `must be at least ${issue.minimum}${unitOf(issue.origin)}`;
    case "too_big":
      return `must be at most ${issue.maximum}${unitOf(issue.origin)}`;
    case "invalid_value":
      return `must be one of ${issue.values.map(String).join(", ")}`;
    case "custom":
    case "invalid_union":
      return issue.message === "Invalid input" ? "is not valid" : issue.message;
    case "invalid_format":
      if (issue.message !== "Invalid input") return issue.message;
      return issue.pattern === undefined ? `must be ${article(issue.format)}` : `must match ${issue.pattern}`;
    default:
      return "is not valid";
  }
}

const article = (noun: string): string =>
  noun === "int" ? "an integer" : /^[aeiou]/.test(noun) ? `an ${noun}` : `a ${noun}`;

const unitOf = (origin: string): string =>
  origin === "string" ? " characters" : origin === "array" ? " elements" : "";

const valueAt = (value: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>(
    (at, key) => (typeof at === "object" && at !== null ? (at as Record<PropertyKey, unknown>)[key] : undefined),
    value,
  );

/** `true` or `false` of a query parameter. */
export const booleanText = z.pipe(
  z.enum(["true", "false"]),
  z.transform((text) => text === "true"),
);

/** A time in milliseconds since 1970. */
export const timeMs = z.pipe(
  z.string().check(z.regex(/^\d{1,15}$/, "must be a time in milliseconds since 1970")),
  z.transform(Number),
);

/** A text of at most `max` characters, at least one. */
export const text = (max: number) => z.string().check(z.minLength(1), z.maxLength(max));

/** An object of texts. Accepts any keys, including `__proto__`, which zod's own record would drop. */
export const stringMap = z
  .custom<Record<string, string>>(isObject, "must be an object whose values are all strings")
  .check((context) => {
    for (const [key, value] of Object.entries(context.value))
      if (typeof value !== "string")
        context.issues.push({ code: "custom", path: [key], message: "must be a string", input: value });
  });

/** A text that matches a pattern. `words`: the pattern for people, `must be 1 to 64 letters`. Names have theirs. */
export function matching(pattern: RegExp, words = PATTERN_WORDS.get(pattern)) {
  if (words === undefined) throw new TypeError(`${pattern} has no words`);
  return z.string().check(z.regex(pattern, words));
}
