import { UsageError } from "./command.ts";

/**
 * The resources of the operator service (contract section 5), as the command line knows them: where each one lies, what
 * it is made of, what a table shows. Commands, their flags and help, and what a file of `apply` may hold come from here;
 * what is right and wrong is the service's to say.
 */
export interface Resource {
  /** One of it, for people and on the command line: `tenant`. */
  readonly noun: Noun;
  /** Its name on the command line; below another resource that one's: `tenant`. */
  readonly word: string;
  /** `/tenants/{tenant}`; the collection is this without its last part. */
  readonly path: string;
  /** What the placeholders of `path` are, in their order. */
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
}

export type Noun =
  | "organization"
  | "organization member"
  | "tenant"
  | "tenant member"
  | "subscription"
  | "role"
  | "user"
  | "client"
  | "service"
  | "package"
  | "identity provider";

export interface Key {
  readonly name: string;
  readonly help: string;
}

export interface Verbs {
  readonly list: string;
  readonly show: string;
  readonly set: string;
  readonly remove: string;
}

export interface Field {
  /** In JSON; a dot leads into an object. */
  readonly name: string;
  /** Without its dashes, one of the list where it is a list. */
  readonly flag: string;
  readonly type: "text" | "list" | "boolean" | "count" | "secret";
  readonly help: string;
  /** `<tenant>`; of texts, lists, counts. */
  readonly value?: string;
  /** A new one must say it. */
  readonly required?: boolean;
  /** Can be taken away again: `--no-<flag>`. */
  readonly optional?: boolean;
}

export interface Column {
  readonly field: string;
  readonly title: string;
  readonly kind?: "time" | "list" | "flag" | "count";
}

/** `/tenants/acme/members/ada%40acme.example`; the values stand in the order of the resource's keys. */
export function pathOf(resource: Resource, keys: readonly string[]): string {
  let index = 0;
  return resource.path.replaceAll(/\{\w+\}/g, () => segmentOf(keys[index++] ?? ""));
}

/** A part of a path. Dots alone would lead out of the resource that is meant, however they are written. */
export function segmentOf(value: string): string {
  if (/^\.*$/.test(value)) throw new UsageError(`${value === "" ? "An empty text" : value} is the name of nothing.`);
  return encodeURIComponent(value);
}

/** The collection's path; the values are those of all keys but the last. */
export function collectionOf(resource: Resource, owners: readonly string[]): string {
  return pathOf({ ...resource, path: resource.path.replace(/\/\{\w+\}$/, "") }, owners);
}

export const STANDARD_VERBS: Verbs = { list: "list", show: "show", set: "set", remove: "delete" };
export const CREATED: Column = { field: "createdAt", title: "CREATED", kind: "time" };
export const NAME: Field = { name: "name", flag: "name", type: "text", value: "<text>", help: "what people call it" };
export const scopesField = (help: string): Field => ({
  name: "scopes",
  flag: "scope",
  type: "list",
  value: "<scope>",
  help,
  required: true,
});
