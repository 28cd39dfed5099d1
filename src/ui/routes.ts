import { defineRoute, json, open, type Route } from "../http/route.ts";
import { errorReferencePage } from "./error-reference.ts";

/** Addresses that belong to no service: is it up, and what do its errors mean. */
export const platformRoutes: readonly Route[] = [
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
    handle: async () => errorReferencePage(),
  }),
];
