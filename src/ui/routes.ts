import * as z from "zod/mini";
import { notFound } from "../http/errors/errors.ts";
import { defineRoute, empty, json, type Route } from "../http/route.ts";
import { errorReferencePage } from "./pages/error-reference.ts";
import { ICON, ICON_NAME, iconHref } from "./parts/icon.ts";
import type { createInterfaceDocument } from "./interface-document.ts";
import { landing } from "./pages/landing-page.ts";
import { PAGE_SCRIPT, PAGE_SCRIPT_NAME } from "./parts/page-script.ts";
import { STYLESHEET, STYLESHEET_DIRECTORY, STYLESHEET_NAME } from "./parts/stylesheet.ts";
import { CACHING } from "./assets.ts";

/** Routes that every host has: health, error reference and the files of the pages. */
export const createPlatformRoutes = (pathPrefix: string): readonly Route[] => [
  defineRoute({
    method: "GET",
    path: "/health",
    summary: "Check that the Worker answers",
    operation: "readHealth",
    produces: "any",
    handle: async () => json(200, { status: "ok" }, { "cache-control": "no-store" }),
  }),
  defineRoute({
    method: "GET",
    path: "/docs/errors",
    summary: "Explain each error type and what to do about it",
    operation: "readDocuments",
    produces: "any",
    handle: async (call) => errorReferencePage(call.publicBase, pathPrefix, call.url.searchParams),
  }),
  defineRoute({
    method: "GET",
    path: `${STYLESHEET_DIRECTORY}/{file}`,
    summary:
      "Fetch what the pages load: the stylesheet and the script, whose names are digests of their content, and the icon",
    operation: "readStylesheet",
    params: z.object({ file: z.string() }),
    produces: "any",
    handle: async ({ params: { file } }) => {
      if (file === STYLESHEET_NAME) return forEver(STYLESHEET, "text/css");
      if (file === PAGE_SCRIPT_NAME) return forEver(PAGE_SCRIPT, "text/javascript");
      return file === ICON_NAME ? icon() : notFound("file");
    },
  }),
];

/** The route of the platform's own address, `{PATH_PREFIX}/`. */
export const createLandingRoutes = (pathPrefix: string): readonly Route[] => [
  defineRoute({
    method: "GET",
    path: "/",
    summary: "Find the platform's parts: a page for people, links for clients",
    operation: "readDocuments",
    produces: "any",
    handle: async ({ request, publicBase }) => landing(request, publicBase, pathPrefix),
  }),
];

/**
 * Routes at the root of the host, which browsers request by themselves. They redirect to addresses below the prefix.
 */
export const createRootRoutes = (pathPrefix: string): readonly Route[] => {
  const redirect = (path: string, to: string): Route =>
    defineRoute({
      method: "GET",
      path,
      summary: "Go to the address that is meant",
      operation: "readDocuments",
      produces: "any",
      handle: async ({ url }) => empty(302, { location: `${url.origin}${to}`, "cache-control": "public, max-age=300" }),
    });
  const toStart = pathPrefix === "" ? [] : ["/", pathPrefix].map((path) => redirect(path, `${pathPrefix}/`));
  return [redirect("/favicon.ico", iconHref(pathPrefix)), ...toStart];
};

type DocumentOf = ReturnType<typeof createInterfaceDocument>;

/** The route of the interface document. Any origin may read it, for generators and editors on the web. */
export const createDocumentRoutes = (documentOf: DocumentOf): readonly Route[] => [
  defineRoute({
    method: "GET",
    path: "/openapi.json",
    summary: "Read the reference, for machines: this document",
    operation: "readDocuments",
    produces: "any",
    handle: async ({ request, publicBase }) => {
      const { text, etag } = await documentOf(publicBase);
      const headers = { etag, "cache-control": "public, max-age=300" };
      const known = (request.headers.get("if-none-match") ?? "")
        .split(",")
        .map((one) => one.trim().replace(/^W\//, ""));
      if (known.includes(etag) || known.includes("*")) return empty(304, headers);
      return new Response(text, { headers: { "content-type": "application/json", ...headers } });
    },
  }),
];

const icon = (): Response =>
  new Response(ICON, { headers: { "content-type": "image/svg+xml", "cache-control": "public, max-age=86400" } });

/** Answers with a file whose name contains a digest of its content. */
const forEver = (text: string, type: string): Response =>
  new Response(text, {
    headers: { "content-type": `${type}; charset=utf-8`, "cache-control": CACHING.forEver },
  });
