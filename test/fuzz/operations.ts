import document from "../../api/openapi.json";
import { inFull } from "../support/documented.ts";

/** The operations of api/openapi.json as the fuzz reads them: what a request may have, each part with its schema. */
export type Json = Record<string, any>;

export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required: boolean;
  readonly schema: Json;
  readonly example: unknown;
}

export interface Operation {
  readonly id: string;
  readonly method: string;
  readonly template: string;
  readonly parameters: readonly Parameter[];
  readonly body:
    | { readonly mediaType: string; readonly required: boolean; readonly schema: Json; readonly example: unknown }
    | undefined;
  /** `/events/v1`: the same operations as those of `/pubsub/v1` at another address. */
  readonly deprecated: boolean;
}

const { paths, components } = document as Json;

const parameterOf = (stated: Json): Parameter => {
  const found: Json = stated["$ref"]
    ? components.parameters[stated["$ref"].replace("#/components/parameters/", "")]
    : stated;
  return {
    name: found["name"],
    in: found["in"],
    required: found["required"] === true,
    schema: found["schema"],
    example: found["example"],
  };
};

export const operations: readonly Operation[] = Object.entries(paths as Json).flatMap(
  ([template, item]: [string, Json]) =>
    Object.entries(item)
      .filter(([method]) => method !== "servers")
      .map(([method, stated]: [string, Json]) => {
        const [content] = Object.entries<Json>(stated["requestBody"]?.content ?? {});
        return {
          id: stated["operationId"] as string,
          method: method.toUpperCase(),
          template,
          parameters: ((stated["parameters"] ?? []) as Json[]).map(parameterOf),
          body:
            content === undefined
              ? undefined
              : {
                  mediaType: content[0],
                  required: stated["requestBody"].required === true,
                  schema: inFull(content[1]["schema"]) as Json,
                  example: content[1]["example"] as unknown,
                },
          deprecated: stated["deprecated"] === true,
        };
      }),
);
