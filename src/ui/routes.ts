import * as z from "zod/mini";
import { notFound } from "../http/errors.ts";
import { defineRoute, json, open, type Route } from "../http/route.ts";
import { errorReferencePage } from "./error-reference.ts";
import { STYLESHEET, STYLESHEET_DIRECTORY, STYLESHEET_NAME } from "./stylesheet.ts";

/** Addresses that belong to no service: is it up, what do its errors mean, and what do its pages look like. */
export const createPlatformRoutes = (pathPrefix: string): readonly Route[] => [
  defineRoute({
    method: "GET",
    path: "/health",
    summary: "Whether the Worker answers",
    access: open("asked by monitors; says nothing but that the Worker runs"),
    produces: "any",
    handle: async () => json(200, { status: "ok" }, { "cache-control": "no-store" }),
  }),
  defineRoute({
    method: "GET",
    path: "/docs/errors",
    summary: "What each error type means and what to do about it",
    access: open("documentation"),
    produces: "any",
    handle: async (call) => errorReferencePage(call.publicBase, pathPrefix, call.url.searchParams.get("request")),
  }),
  defineRoute({
    method: "GET",
    path: `${STYLESHEET_DIRECTORY}/{file}`,
    summary: "The stylesheet of the pages, under the name of its content",
    access: open("needed by pages that are shown before anyone signs in"),
    params: z.object({ file: z.string() }),
    produces: "any",
    handle: async (call) => (call.params.file === STYLESHEET_NAME ? stylesheet() : notFound("stylesheet")),
  }),
];

const stylesheet = (): Response =>
  new Response(STYLESHEET, {
    headers: { "content-type": "text/css; charset=utf-8", "cache-control": "public, max-age=31536000, immutable" },
  });
