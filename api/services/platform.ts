import { page, type ServiceEntries } from "../model/entry.ts";
import { obj, oneOf, ref, type Schema } from "../model/schema.ts";

/** Addresses without a service. */
const PLATFORM = "Platform";
const text: Schema = { type: "string" };

export const platform: ServiceEntries = {
  base: "",
  tags: [{ name: PLATFORM, description: "Health and discovery." }],
  parameters: { file: { text: "The stylesheet's name, from a page.", example: "pages-0123456789abcdef.css" } },
  schemas: {
    Health: { schema: obj({ status: oneOf(["ok"], "The Worker answers.") }), example: { status: "ok" } },
  },
  entries: {
    "GET /health": {
      id: "getHealth",
      tag: PLATFORM,
      answers: { 200: { text: "It does.", json: ref("Health") } },
    },
    "GET /openapi.json": {
      id: "getInterfaceDocument",
      tag: PLATFORM,
      about: "OpenAPI 3.1, with this deployment's addresses and names.",
      headers: ["If-None-Match"],
      answers: {
        200: {
          text: "The document.",
          json: { type: "object", additionalProperties: true },
          example: { openapi: "3.1.1" },
          headers: ["ETag", "Cache-Control"],
        },
        304: { text: "The caller has it.", headers: ["ETag", "Cache-Control"] },
      },
    },
    "GET /docs": {
      id: "getReference",
      tag: PLATFORM,
      answers: { 200: { text: "A page.", mediaTypes: page! } },
    },
    "GET /docs/errors": {
      id: "getErrorReference",
      tag: PLATFORM,
      parameters: { request: { text: "The request id from `error_uri`, which the page shows." } },
      answers: { 200: { text: "A page.", mediaTypes: page! } },
    },
    "GET /docs/assets/{file}": {
      id: "getStylesheet",
      tag: PLATFORM,
      answers: { 200: { text: "The stylesheet.", mediaTypes: { "text/css": text }, headers: ["Cache-Control"] } },
      errors: { 404: "" },
    },
  },
};
