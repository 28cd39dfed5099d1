import type { Column, PathOf } from "../terminal/table.ts";
import type { Field, Key } from "./fields.ts";
import type { Body } from "../terminal/values.ts";
import { ok, type ApiFunction, type OkResponse, type RequestOpts } from "@oazapfts/runtime";
import { rowsOf, type AdminClient, type Page } from "../client/admin-client.ts";

/**
 * A resource of the operator service: its operations, fields and table columns. The commands with their flags and
 * help, and the fields of an `apply` file, are derived from it. The service validates. `values` are the values of its
 * keys, in order.
 */
export interface Resource {
  /** The singular: `tenant`. */
  readonly noun: string;
  /** Its word on the command line; a nested resource has its owner's: `tenant`. */
  readonly word: string;
  /** The parts of its path. The last one identifies it within its collection. */
  readonly keys: readonly Key[];
  readonly summary: string;
  readonly fields: readonly Field[];
  readonly columns: readonly Column[];
  /** The names of its verbs. */
  readonly verbs: Verbs;
  /** Fields of the answer that a body does not have. */
  readonly readOnly: readonly string[];
  /** Consequences of a deletion, shown before it is confirmed. */
  readonly removal: string;
  readonly notes?: string;
  readonly examples: Readonly<Partial<Record<keyof Verbs, readonly string[]>>>;
  /** Lists a collection; `values` leave out the last key. */
  list(client: AdminClient, values: readonly string[], pageSize: number): AsyncIterable<Body>;
  show(client: AdminClient, values: readonly string[]): Promise<Body>;
  set(client: AdminClient, values: readonly string[], body: Body): Promise<Body>;
  remove(client: AdminClient, values: readonly string[]): Promise<void>;
}

export interface Verbs {
  readonly list: string;
  readonly show: string;
  readonly set: string;
  readonly remove: string;
}

/** The type of the value at a path; includes undefined for an optional field. */
type ValueAt<T, P extends string> = P extends `${infer K}.${infer Rest}`
  ? ValueAt<NonNullable<T[K & keyof T]>, Rest>
  : T[P & keyof T];

type TypeOf<Value> = Value extends string
  ? "text" | "secret"
  : Value extends number
    ? "count"
    : Value extends boolean
      ? "boolean"
      : "list";

/** A resource as it is written down, checked against the types of its operations. */
interface Described<Show extends ApiFunction, Put extends ApiFunction> extends Omit<
  Resource,
  "keys" | "fields" | "columns" | "readOnly" | "list" | "show" | "set" | "remove"
> {
  /** Generated functions. */
  readonly operations: readonly [list: ApiFunction, show: Show, put: Put, remove: ApiFunction];
  readonly keys: KeyOfEach<KeysOf<Show>>;
  readonly fields: { readonly [Path in PathOf<BodyOf<Put>>]: FieldAs<ValueAt<BodyOf<Put>, Path>> };
  readonly columns: readonly Column<OkResponse<Show>>[];
  readonly readOnly: readonly Exclude<keyof OkResponse<Show> & string, keyof BodyOf<Put>>[];
}

type KeysOf<Show extends ApiFunction> =
  Required<Parameters<Show>> extends [...infer Keys extends string[], RequestOpts] ? Keys : never;
type KeyOfEach<Keys extends readonly string[]> = { readonly [Index in keyof Keys]: Key };
type BodyOf<Put extends ApiFunction> =
  Required<Parameters<Put>> extends [...string[], infer Sent, RequestOpts] ? Sent : never;
type FieldAs<Value> = Omit<Field, "name" | "type" | "required"> & {
  readonly type: TypeOf<NonNullable<Value>>;
} & (undefined extends Value ? { readonly required?: never } : { readonly required: true });

export function resource<Show extends ApiFunction, Put extends ApiFunction>(words: Described<Show, Put>): Resource {
  const { operations, fields, ...rest } = words;
  const [list, show, put, remove] = operations;
  return {
    ...rest,
    fields: Object.entries(fields).map(([name, field]) => ({ name, ...(field as Omit<Field, "name">) })),
    list: (client, values, pageSize) =>
      rowsOf((page: Page) => list(...values, page, client.opts), { pageSize }) as AsyncIterable<Body>,
    show: (client, values) => ok(show(...values, client.opts)),
    set: (client, values, body) => ok(put(...values, body, client.opts)),
    remove: async (client, values) => void (await remove(...values, client.opts)),
  };
}

export const STANDARD_VERBS: Verbs = { list: "list", show: "show", set: "set", remove: "delete" };
export const CREATED = { field: "createdAt", title: "CREATED", kind: "time" } as const;
export const NAME = { flag: "name", type: "text", value: "<text>", help: "its display name" } as const;
export const scopesField = (help: string) =>
  ({ flag: "scope", type: "list", value: "<scope>", help, required: true }) as const;
