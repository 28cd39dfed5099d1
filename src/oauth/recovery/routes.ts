import { defineRoute, formBody, type Route } from "../../http/route.ts";
import { forgotPassword, showForgot } from "./forgot.ts";
import type { LinkDeps, RecoveryDeps } from "./recovery.ts";
import { acceptInvitation, openInvitation } from "./invitation.ts";
import { openLink, resetPassword } from "./reset.ts";
import { openVerifyLink, verifyAddress } from "./verify.ts";

/** A form carries the application's whole request, form-encoded again. */
const FORM_BYTES = 256 * 1024;

/** The pages for a forgotten password, and those behind links in mails. */
export const createRecoveryRoutes = (deps: RecoveryDeps): readonly Route[] => [
  defineRoute({
    method: "GET",
    path: "/forgot",
    summary: "Show the page for a forgotten password",
    operation: "forgotPassword",
    produces: "any",
    handle: (call) => showForgot(deps, call),
  }),
  defineRoute({
    method: "POST",
    path: "/forgot",
    summary: "Ask for a link to choose a new password",
    operation: "forgotPassword",
    body: formBody(FORM_BYTES),
    produces: "any",
    handle: (call) => forgotPassword(deps, call),
  }),
  defineRoute({
    method: "GET",
    path: "/reset",
    summary: "Open the link for a new password",
    operation: "resetPassword",
    produces: "any",
    handle: (call) => openLink(deps, call),
  }),
  defineRoute({
    method: "POST",
    path: "/reset",
    summary: "Choose a new password",
    operation: "resetPassword",
    body: formBody(FORM_BYTES),
    produces: "any",
    handle: (call) => resetPassword(deps, call),
  }),
  defineRoute({
    method: "GET",
    path: "/verify",
    summary: "Open the link that verifies an address",
    operation: "verifyAddress",
    produces: "any",
    handle: (call) => openVerifyLink(deps, call),
  }),
  defineRoute({
    method: "POST",
    path: "/verify",
    summary: "Verify an address",
    operation: "verifyAddress",
    body: formBody(FORM_BYTES),
    produces: "any",
    handle: (call) => verifyAddress(deps, call),
  }),
];

/** The pages behind invitations, by mail or by hand. */
export const createInvitationRoutes = (deps: LinkDeps): readonly Route[] => [
  defineRoute({
    method: "GET",
    path: "/invitation",
    summary: "Open an invitation",
    operation: "acceptInvitation",
    produces: "any",
    handle: (call) => openInvitation(deps, call),
  }),
  defineRoute({
    method: "POST",
    path: "/invitation",
    summary: "Accept an invitation",
    operation: "acceptInvitation",
    body: formBody(FORM_BYTES),
    produces: "any",
    handle: (call) => acceptInvitation(deps, call),
  }),
];
