import type { Schema } from "./schema.ts";

/**
 * Describes what a route's data does not say: answers, own errors, texts and examples for people. Each service is a
 * file in `services/` with entries keyed by `METHOD /path`, as in the route table. The Worker contains nothing of this
 * folder.
 */
export interface ServiceEntries {
  /** The path in front of the routes. */
  readonly base: string;
  readonly tags: readonly Tag[];
  /** Components with an example each. */
  readonly schemas: Readonly<Record<string, Named>>;
  /** Descriptions of path and query parameters by name, for entries without their own. */
  readonly parameters: Readonly<Record<string, Parameter>>;
  readonly entries: Readonly<Record<string, Entry>>;
}

interface Tag {
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
  /** For a route whose schema says too little, or that reads the query itself. */
  readonly schema?: Schema;
  readonly required?: boolean;
}

export interface Entry {
  /** `operationId` */
  readonly id: string;
  readonly tag: string;
  /** Text beyond the route's summary. */
  readonly about?: string;
  readonly parameters?: Readonly<Record<string, Parameter>>;
  /** Names in `components.parameters` of headers that the operation reads. */
  readonly headers?: readonly string[];
  readonly body?: BodyEntry;
  readonly answers: Readonly<Record<number, AnswerEntry>>;
  /** Own errors, with a text for each if the general one is not enough. */
  readonly errors?: Readonly<Record<number, string>>;
  /** For a route that authenticates by itself: a client by its secret, or a token. */
  readonly security?: "client" | "token";
}

export interface BodyEntry {
  /** For a route without a schema: forms, streams, bodies that the operation parses. */
  readonly schema?: Schema;
  readonly mediaType?: string;
  /** Descriptions of the schema's fields, by bean notation. */
  readonly fields?: Readonly<Record<string, string>>;
  /** Constraints of a field's own check, which no JSON Schema is made from, by bean notation. */
  readonly more?: Readonly<Record<string, Schema>>;
  readonly example?: unknown;
  /** Schemas of bodies of other media types. */
  readonly others?: Readonly<Record<string, Schema>>;
  readonly text?: string;
}

export interface AnswerEntry {
  readonly text: string;
  /** The JSON body; absent for no JSON. */
  readonly json?: Schema;
  /** Absent for a named schema or a list of one, which have examples. */
  readonly example?: unknown;
  /** Bodies of other types. */
  readonly mediaTypes?: Readonly<Record<string, Schema>>;
  /** Names in `components.headers`, besides those of every answer. */
  readonly headers?: readonly string[];
}

export const page: AnswerEntry["mediaTypes"] = { "text/html": { type: "string" } };
