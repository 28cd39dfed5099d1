import * as z from "zod/mini";
import { defineRoute, formBody, type Route } from "../../http/route.ts";
import { authorize } from "../authorize/authorize.ts";
import { decideConsent } from "../authorize/consent-form.ts";
import { enterSecondFactor } from "../authorize/second-factor-form.ts";
import { signIn } from "../authorize/sign-in-form.ts";
import { federationCallback } from "./callback.ts";
import { enterUserCode, showDevice, type DeviceDeps } from "./device.ts";
import { endSession } from "./end-session.ts";
import { confirmLink } from "./link-identity.ts";

/** A request may carry an ID token and a long state. The other forms carry a whole request, form-encoded again. */
const REQUEST_FORM_BYTES = 64 * 1024;
const SIGN_IN_FORM_BYTES = 256 * 1024;

/** The endpoints for people in browsers. They respond with pages and redirects. Other origins have no access. */
export const createPageRoutes = (deps: DeviceDeps): readonly Route[] => [
  defineRoute({
    method: "GET",
    path: "/authorize",
    summary: "Start a sign-in for a client",
    operation: "authorize",
    changes: true,
    produces: "any",
    handle: (call) => authorize(deps, call, call.url.searchParams),
  }),
  defineRoute({
    method: "POST",
    path: "/authorize",
    summary: "Start a sign-in for a client, with the parameters in a form",
    operation: "authorize",
    body: formBody(REQUEST_FORM_BYTES),
    produces: "any",
    handle: (call) => authorize(deps, call, call.body),
  }),
  defineRoute({
    method: "POST",
    path: "/sign-in",
    summary: "Sign in, with the form of the sign-in page",
    operation: "signIn",
    body: formBody(SIGN_IN_FORM_BYTES),
    produces: "any",
    handle: (call) => signIn(deps, call),
  }),
  defineRoute({
    method: "POST",
    path: "/second-factor",
    summary: "Show a second factor, with the form of its page",
    operation: "enterSecondFactor",
    body: formBody(SIGN_IN_FORM_BYTES),
    produces: "any",
    handle: (call) => enterSecondFactor(deps, call),
  }),
  defineRoute({
    method: "POST",
    path: "/consent",
    summary: "Allow or deny a client the scopes that it requests, with the form of the consent page",
    operation: "decideConsent",
    body: formBody(SIGN_IN_FORM_BYTES),
    produces: "any",
    handle: (call) => decideConsent(deps, call),
  }),
  defineRoute({
    method: "GET",
    path: "/device",
    summary: "The page that asks for the code of a device",
    operation: "showDevice",
    produces: "any",
    handle: (call) => showDevice(deps, call),
  }),
  defineRoute({
    method: "POST",
    path: "/device",
    summary: "Enter the code of a device, with the form of its page",
    operation: "enterUserCode",
    body: formBody(REQUEST_FORM_BYTES),
    produces: "any",
    handle: (call) => enterUserCode(deps, call),
  }),
  defineRoute({
    method: "GET",
    path: "/callback/{providerId}",
    summary: "Continue a sign-in when the browser returns from an identity provider",
    operation: "returnFromProvider",
    params: z.object({ providerId: z.string() }),
    changes: true,
    produces: "any",
    handle: (call) => federationCallback(deps, call, call.params.providerId),
  }),
  defineRoute({
    method: "POST",
    path: "/link-identity",
    summary: "Confirm by password that an account at an identity provider is the user's",
    operation: "linkIdentity",
    body: formBody(SIGN_IN_FORM_BYTES),
    produces: "any",
    handle: (call) => confirmLink(deps, call),
  }),
  defineRoute({
    method: "GET",
    path: "/end_session",
    summary: "Sign the browser out",
    operation: "endSession",
    changes: true,
    produces: "any",
    handle: (call) => endSession(deps, call, call.url.searchParams),
  }),
  defineRoute({
    method: "POST",
    path: "/end_session",
    summary: "Sign the browser out, with the parameters in a form",
    operation: "endSession",
    body: formBody(REQUEST_FORM_BYTES),
    produces: "any",
    handle: (call) => endSession(deps, call, call.body),
  }),
];
