import type { Column, PathOf } from "../terminal/table.ts";
import type { Field, Key } from "./fields.ts";
import type { Body } from "../terminal/values.ts";
import { ok, type ApiFunction, type OkResponse, type RequestOpts } from "@oazapfts/runtime";
import { rowsOf, type AdminClient, type Page } from "../client/admin-client.ts";

/**
 * The resources of the operator service (contract section 5), as the command line knows them: the operations of each one,
 * what it is made of, what a table shows. Commands, their flags and help, and what a file of `apply` may hold come from
 * here; what is right and wrong is the service's to say. `values` are those of the resource's keys, in their order.
 */
export interface Resource {
  /** One of it, for people and on the command line: `tenant`. */
  readonly noun: string;
  /** Its name on the command line; below another resource that one's: `tenant`. */
  readonly word: string;
  /** What a path names it by; the last one alone tells it from the others of its collection. */
  readonly keys: readonly Key[];
  readonly summary: string;
  readonly fields: readonly Field[];
  readonly columns: readonly Column[];
  /** The words of its verbs. */
  readonly verbs: Verbs;
  /** Fields of an answer that a body does not have. */
  readonly readOnly: readonly string[];
  /** What is lost besides, when one is removed: asked before it is. */
  readonly removal: string;
  readonly notes?: string;
  readonly examples: Readonly<Partial<Record<keyof Verbs, readonly string[]>>>;
  /** Every one of a collection; the values are those of all keys but the last. */
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

/** What a path leads to; undefined is among it where the field may be absent. */
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

/** The interface document's word on a resource: its operations, and by their types every field that it is made of. */
interface Described<Show extends ApiFunction, Put extends ApiFunction> extends Omit<
  Resource,
  "keys" | "fields" | "columns" | "readOnly" | "list" | "show" | "set" | "remove"
> {
  /** Of the client: list, show, make or replace, remove. */
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
export const NAME = { flag: "name", type: "text", value: "<text>", help: "what people call it" } as const;
export const scopesField = (help: string) =>
  ({ flag: "scope", type: "list", value: "<scope>", help, required: true }) as const;
