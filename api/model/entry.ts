import type { Schema } from "./schema.ts";

/**
 * What a route's own data does not say: how its answers look, which errors are its own, and words and examples for
 * people. A service of the document is a file in `services/`, its entries keyed by `METHOD /path` as the route table has them.
 * Nothing of this folder is part of the Worker.
 */
export interface ServiceEntries {
  /** Where the routes are mounted. */
  readonly base: string;
  readonly tags: readonly Tag[];
  /** Components with an example each. */
  readonly schemas: Readonly<Record<string, Named>>;
  /** What path and query parameters mean, by name, wherever an entry has no words of its own. */
  readonly parameters: Readonly<Record<string, Parameter>>;
  readonly entries: Readonly<Record<string, Entry>>;
}

export interface Tag {
  readonly name: string;
  readonly description: string;
}

export interface Named {
  readonly schema: Schema;
  readonly example: unknown;
}

export interface Parameter {
  readonly text: string;
  readonly example?: unknown;
  /** Where the route's own schema says too little, or the route reads the query itself. */
  readonly schema?: Schema;
  readonly required?: boolean;
}

export interface Entry {
  /** `operationId` */
  readonly id: string;
  readonly tag: string;
  /** Beyond the route's summary. */
  readonly about?: string;
  readonly parameters?: Readonly<Record<string, Parameter>>;
  /** Headers that the operation reads, names in `components.parameters`. */
  readonly headers?: readonly string[];
  readonly body?: BodyEntry;
  readonly answers: Readonly<Record<number, AnswerEntry>>;
  /** Errors beyond those that follow from the route; the words say when, where the general ones do not suffice. */
  readonly errors?: Readonly<Record<number, string>>;
  /** Where the route authenticates by itself: a client by its secret, or a token. */
  readonly security?: "client" | "token";
}

export interface BodyEntry {
  /** Where the route has no schema: forms, streams, and bodies that the operation reads by itself. */
  readonly schema?: Schema;
  readonly mediaType?: string;
  /** What the fields of the route's schema mean, by bean notation. */
  readonly fields?: Readonly<Record<string, string>>;
  /** What a field's own check asks for and no JSON Schema is made of, by bean notation. */
  readonly more?: Readonly<Record<string, Schema>>;
  readonly example?: unknown;
  readonly text?: string;
}

export interface AnswerEntry {
  readonly text: string;
  /** Of the JSON body; none: no body, unless `mediaTypes` names others. */
  readonly json?: Schema;
  /** Left out for a named schema or a list of it, which have examples. */
  readonly example?: unknown;
  readonly mediaTypes?: Readonly<Record<string, Schema>>;
  /** Names in `components.headers`, besides those that every answer has. */
  readonly headers?: readonly string[];
}

export const page: AnswerEntry["mediaTypes"] = { "text/html": { type: "string" } };
