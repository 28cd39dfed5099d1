import { read, type Body, readCount } from "../terminal/values.ts";
import type { Field } from "./fields.ts";
import { isDeepStrictEqual } from "node:util";
import { KEPT_FIELDS } from "../../src/admin/model/fields.ts";
import type { Input } from "../terminal/input.ts";
import type { Given, Option } from "../command-line/command.ts";
import { UsageError } from "../terminal/usage-error.ts";
import { didYouMean } from "../terminal/nearest.ts";
import type { Resource } from "./resource.ts";

/** The flags of `set` for a resource's fields. */
export function fieldOptions(fields: readonly Field[]): Option[] {
  return fields.flatMap((field): Option[] => {
    const { flag, value = "<text>", help } = field;
    switch (field.type) {
      case "boolean":
        return [
          { flag, help },
          { flag: `no-${flag}`, help: `the opposite of --${flag}` },
        ];
      case "list":
        return [
          { flag, value, repeated: true, help: `${help}; repeat it for the whole list` },
          { flag: `add-${flag}`, value, repeated: true, help: "add one to the list" },
          { flag: `remove-${flag}`, value, repeated: true, help: "remove one from the list" },
          { flag: `no-${flag}`, help: "empty the list" },
        ];
      case "pairs":
        return [
          { flag, value, repeated: true, help: `${help}; repeat it for all` },
          { flag: `no-${flag}`, help: "remove all" },
        ];
      case "secret":
        return [
          { flag: `${flag}-file`, value: "<file|->", help },
          { flag: `${flag}-env`, value: "<variable>", help: "the same, from an environment variable" },
        ];
      default:
        return [{ flag, value, help }, ...(field.optional === true ? [{ flag: `no-${flag}`, help: "remove it" }] : [])];
    }
  });
}

/**
 * Builds the body of the PUT: the stored record, overlaid with the file's fields, then with the flags. Secrets that are
 * left out stay as they are. `disabled`, `quota`, a client's protections and a provider's bindings are sent only if the
 * file or a flag names them, so that a change of a client's scopes does not undo somebody else's `--disabled`.
 */
export function buildBody(
  { fields, noun }: Pick<Resource, "fields" | "noun">,
  found: Body | undefined,
  file: Body,
  options: Given,
  secrets: Body,
): Body {
  const body: Record<string, unknown> = {};
  for (const name of new Set(fields.map((field) => field.name.split(".")[0] ?? ""))) {
    const isKept = KEPT_FIELDS.includes(name) && !isNamed(fields, name, options);
    const value = file[name] ?? (isKept ? undefined : found?.[name]);
    if (value !== undefined) body[name] = structuredClone(value);
  }
  for (const field of fields) apply(field, body, options, noun);
  return { ...body, ...secrets };
}

/** True if a flag names the field or a field in it. */
const isNamed = (fields: readonly Field[], name: string, options: Given): boolean =>
  fields.some(
    ({ name: field, flag }) =>
      field.split(".")[0] === name &&
      [flag, `no-${flag}`, `add-${flag}`, `remove-${flag}`].some((one) => options.has(one)),
  );

function apply(field: Field, body: Record<string, unknown>, options: Given, noun: string): void {
  const { flag, name, type } = field;
  const isOff = options.has(`no-${flag}`);
  if (isOff && options.has(flag)) throw new UsageError(`--${flag} and --no-${flag} contradict each other.`);
  const value = options.value(flag);
  if (type === "boolean") {
    if (options.has(flag) || isOff) write(body, name, !isOff);
  } else if (type === "list") {
    const list = isOff ? [] : options.has(flag) ? options.values(flag) : undefined;
    const more = options.values(`add-${flag}`);
    const less = options.values(`remove-${flag}`);
    if (list === undefined && more.length === 0 && less.length === 0) return;
    const before: unknown = list ?? read(body, name) ?? [];
    if (!Array.isArray(before)) throw new UsageError(`${name} in the file is no list.`);
    const absent = less.find((one) => !before.includes(one));
    if (absent !== undefined) throw new UsageError(`The ${noun} has no ${flag} ${absent} to remove.`);
    write(
      body,
      name,
      [...new Set([...before, ...more])].filter((one) => !less.includes(one)),
    );
  } else if (type === "pairs") {
    if (isOff) write(body, name, {});
    else if (options.has(flag))
      write(body, name, Object.fromEntries(options.values(flag).map((one) => readPair(one, flag))));
  } else if (type !== "secret") {
    if (isOff) write(body, name, field.none);
    else if (value !== undefined) write(body, name, type === "count" ? readCount(value, `--${flag}`) : value);
  }
}

function readPair(text: string, flag: string): readonly [string, string] {
  const at = text.indexOf(":");
  if (at < 1) throw new UsageError(`--${flag} needs a name, a colon and a text.`);
  return [text.slice(0, at), text.slice(at + 1).trim()];
}

/** Required flags that are missing. */
export const missingFlags = (fields: readonly Field[], body: Body, isNew: boolean): string[] =>
  fields
    .filter(({ required, requiredOfNew }) => required === true || (isNew && requiredOfNew === true))
    .filter(({ name }) => read(body, name) === undefined)
    .map(({ flag, type, value }) =>
      type === "boolean"
        ? `--${flag} or --no-${flag}`
        : type === "secret"
          ? `--${flag}-file <file|-> or --${flag}-env <variable>`
          : `--${flag} ${value}`,
    );

/** Names of the fields that the body would change. */
export const changedFields = (fields: readonly Field[], found: Body, body: Body): string[] =>
  fields
    .filter(({ name }) => !isDeepStrictEqual(read(found, name), read(body, name)))
    .map(({ name }) => name)
    .filter((name) => {
      const [top = ""] = name.split(".");
      return top in body || !KEPT_FIELDS.includes(top);
    });

/** Parses a body from a file. Ignores read-only fields, so the output of `show --json` is a valid file. */
export function readBodyFile(
  text: string,
  source: string,
  resource: Pick<Resource, "fields" | "readOnly" | "noun">,
): Body {
  let file: unknown;
  try {
    file = JSON.parse(text);
  } catch (error) {
    // The parser's message quotes the text, which may be a secret.
    const [where] = /line \d+ column \d+/.exec((error as Error).message) ?? [];
    throw new UsageError(`${source} is not JSON${where === undefined ? "" : `: see ${where}`}.`);
  }
  if (typeof file !== "object" || file === null || Array.isArray(file))
    throw new UsageError(`${source} must hold one JSON object, as \`show --json\` prints it.`);
  const known = [...new Set(resource.fields.map(({ name }) => name.split(".")[0] ?? ""))];
  for (const name of Object.keys(file))
    if (!known.includes(name) && !resource.readOnly.includes(name))
      throw new UsageError(`${source}: a ${resource.noun} has no field ${name}.${didYouMean(name, known)}`);
  const body = Object.entries(file).filter(([name, value]) => known.includes(name) && value !== null);
  return Object.fromEntries(body);
}

function write(body: Record<string, unknown>, name: string, value: unknown): void {
  const [first = "", rest] = name.split(".");
  if (rest !== undefined) {
    const inner = { ...(body[first] as Record<string, unknown> | undefined) };
    write(inner, rest, value);
    body[first] = inner;
  } else if (value === undefined) delete body[first];
  else body[first] = value;
}

/** Reads the secrets that the flags name. */
export async function readSecrets(fields: readonly Field[], options: Given, input: Input): Promise<Body> {
  const secrets: Record<string, string> = {};
  for (const { name, flag, type } of fields) {
    if (type !== "secret") continue;
    const path = options.value(`${flag}-file`);
    const variable = options.value(`${flag}-env`);
    if (path !== undefined && variable !== undefined)
      throw new UsageError(`--${flag}-file and --${flag}-env contradict each other.`);
    if (path !== undefined) secrets[name] = await input.readSecret(path, `--${flag}-file`);
    if (variable !== undefined) secrets[name] = input.readVariable(variable, `--${flag}-env`);
  }
  return secrets;
}
