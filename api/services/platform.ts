import { type AnswerEntry, page, type ServiceEntries } from "../model/entry.ts";
import { obj, oneOf, ref, type Schema } from "../model/schema.ts";

/** Addresses without a service. */
const PLATFORM = "Platform";
const text: Schema = { type: "string" };

/** A document that a caller with the current one need not get again. */
const cached = (what: string, mediaTypes: NonNullable<AnswerEntry["mediaTypes"]>) => ({
  headers: ["If-None-Match"],
  answers: {
    200: { text: what, mediaTypes, headers: ["ETag", "Cache-Control"] },
    304: { text: "The caller has it.", headers: ["ETag", "Cache-Control"] },
  },
});

export const platform: ServiceEntries = {
  base: "",
  tags: [{ name: PLATFORM, description: "Health and discovery." }],
  parameters: { file: { text: "The file's name, from a page.", example: "pages-0123456789abcdef.css" } },
  schemas: {
    Start: {
      schema: obj({ name: oneOf(["Plinth"], "The program."), links: { type: "object", additionalProperties: text } }),
      example: {
        name: "Plinth",
        links: { documentation: "https://platform.example/docs", openapi: "https://platform.example/openapi.json" },
      },
    },
    Health: { schema: obj({ status: oneOf(["ok"], "The Worker answers.") }), example: { status: "ok" } },
  },
  entries: {
    "GET /": {
      id: "getStart",
      tag: PLATFORM,
      about: "A caller whose `Accept` names `text/html` gets a page. Any other caller gets links as JSON.",
      answers: { 200: { text: "Links to the platform's parts.", json: ref("Start"), mediaTypes: page! } },
    },
    "GET /favicon.ico": {
      id: "getFavicon",
      tag: PLATFORM,
      answers: { 302: { text: "To the icon of the pages.", headers: ["Location", "Cache-Control"] } },
    },
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
      id: "getDocumentation",
      tag: PLATFORM,
      about:
        "The first page. The others are below it: `/docs/quickstart` is a page, and `/docs/quickstart.md` the same as Markdown.",
      ...cached("A page.", page!),
    },
    "GET /console": {
      id: "getConsole",
      tag: PLATFORM,
      about: "An application for people who run the platform or an organization. Its pages and files are below it.",
      ...cached("A page.", page!),
    },
    "GET /llms.txt": {
      id: "getPagesForPrograms",
      tag: PLATFORM,
      about: "Each page's title, first sentences and address as Markdown.",
      ...cached("The list.", { "text/plain": text }),
    },
    "GET /docs/errors": {
      id: "getErrorReference",
      tag: PLATFORM,
      parameters: {
        error: { text: "The error from `error_uri`: the page begins with the advice for it." },
        request: { text: "The request id from `error_uri`, which the page shows." },
      },
      answers: { 200: { text: "A page.", mediaTypes: page! } },
    },
    "GET /docs/assets/{file}": {
      id: "getStylesheet",
      tag: PLATFORM,
      answers: {
        200: {
          text: "The stylesheet or the icon.",
          mediaTypes: { "text/css": text, "image/svg+xml": text },
          headers: ["Cache-Control"],
        },
      },
      errors: { 404: "" },
    },
  },
};
