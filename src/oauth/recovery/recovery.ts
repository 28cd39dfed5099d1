/**
 * Forgotten passwords: the person gets a link by mail and chooses a new password.
 *
 *   sign-in page ──"Forgot your password?"──▶ /forgot: asks for the address ──▶ "look at your mail", for every address
 *                                                         │ after the response: a link, if the account exists
 *                                                         ▼
 *   mail ──link──▶ GET /reset: asks for the new password ──▶ POST /reset ──▶ changed; on to the application
 *
 *   link:  made ──POST /reset──▶ used          made ──30 min, or another link of the account used──▶ void
 *
 * - The response of /forgot does not depend on the account, which is looked up only after it.
 * - A link works only in the browser that requested it, so an intercepted link is useless. Opening it changes nothing,
 *   because mail programs open links too.
 * - One transaction uses the link, changes the password and invalidates every session, grant and token of the person.
 *   Of two requests at once, one changes the password.
 * - Links of an account and of a network are limited (mail-link-store.ts). A person without a password signs in at a
 *   provider and gets no link, because it would add a second way to sign in.
 * - In a deployment, addresses in mails come from its configuration, never from the request's `Host`.
 */
import type { CommonPasswords } from "../../platform/secrets/common-passwords.ts";
import type { SendMail } from "../../platform/ports/mail.ts";
import type { AuthorizeDeps } from "../authorize/protocol/deps.ts";
import type { RevokeAll } from "../grants/revocation/revoke-all.ts";
import type { Mails } from "../pages/port.ts";
import type { TrustStore } from "../tokens/trust-store.ts";
import type { InvitationStore } from "./invitation-store.ts";
import type { MailLinkStore } from "./mail-link-store.ts";
import { MINUTE_MS } from "../../platform/runtime/clock.ts";

export interface RecoveryDeps extends AuthorizeDeps {
  readonly commonPasswords: CommonPasswords;
  readonly mailLinks: MailLinkStore;
  readonly invitations: InvitationStore;
  readonly mails: Mails;
  readonly sendMail: SendMail;
  /** The base of the pages in a mail's links. `origin`: of the request; only a local platform uses it. */
  mailBase(origin: string): string;
  readonly revocations: Pick<RevokeAll, "deleteSignedOut"> & Pick<TrustStore, "revokeStatement">;
}

/** The dependencies of the pages behind links by hand, which a platform without mail has too. */
export type LinkDeps = Omit<RecoveryDeps, "sendMail">;

/** Our choice: long enough for a slow mail, and too short for somebody who reads the mailbox later. */
export const LINK_LIFE_MS = 30 * MINUTE_MS;
