import * as z from "zod/mini";
import { defineRoute, formBody, open, type Route } from "../http/route.ts";
import { authorize } from "./authorize/authorize.ts";
import type { OAuthContext } from "./context.ts";
import { endSession } from "./end-session.ts";
import { federationCallback } from "./federation/callback.ts";
import { signIn } from "./sign-in/form.ts";

/** A request has an ID token and a state at most; the form of the sign-in page holds all of it, encoded once more. */
const REQUEST_FORM_BYTES = 64 * 1024;
const SIGN_IN_FORM_BYTES = 256 * 1024;

/** Where browsers come with people before them: they answer with pages and redirects, to no other origin's scripts. */
export const createPageRoutes = (context: OAuthContext): readonly Route[] => [
  defineRoute({
    method: "GET",
    path: "/authorize",
    summary: "Start a sign-in for a client",
    access: open("the user signs in on the page"),
    changes: true,
    produces: "any",
    handle: (call) => authorize(call, call.url.searchParams, context),
  }),
  defineRoute({
    method: "POST",
    path: "/authorize",
    summary: "Start a sign-in for a client, with the parameters in a form",
    access: open("the user signs in on the page"),
    body: formBody(REQUEST_FORM_BYTES),
    produces: "any",
    handle: (call) => authorize(call, call.body, context),
  }),
  defineRoute({
    method: "POST",
    path: "/sign-in",
    summary: "The form of the sign-in page",
    access: open("the form carries the user's password"),
    body: formBody(SIGN_IN_FORM_BYTES),
    produces: "any",
    handle: (call) => signIn(call, context),
  }),
  defineRoute({
    method: "GET",
    path: "/callback/{providerId}",
    summary: "Where browsers come back to from an identity provider",
    access: open("the state belongs to the browser"),
    params: z.object({ providerId: z.string() }),
    changes: true,
    produces: "any",
    handle: (call) => federationCallback(call, call.params.providerId, context),
  }),
  defineRoute({
    method: "GET",
    path: "/end_session",
    summary: "Sign the browser out",
    access: open("whoever has the browser may sign it out"),
    changes: true,
    produces: "any",
    handle: (call) => endSession(call, call.url.searchParams, context),
  }),
  defineRoute({
    method: "POST",
    path: "/end_session",
    summary: "Sign the browser out, with the parameters in a form",
    access: open("whoever has the browser may sign it out"),
    body: formBody(REQUEST_FORM_BYTES),
    produces: "any",
    handle: (call) => endSession(call, call.body, context),
  }),
];
