/**
 * Forgotten passwords: the person gets a link by mail and chooses a new password.
 *
 *   sign-in page ──"Forgot your password?"──▶ /forgot: asks for the address ──▶ "look at your mail", for every address
 *                                                         │ after the answer: a link, if there is such an account
 *                                                         ▼
 *   mail ──link──▶ GET /reset: asks for the new password ──▶ POST /reset ──▶ changed; on to the application
 *
 *   link:  made ──POST /reset──▶ used          made ──30 min, or another link of the account used──▶ void
 *
 * The answer of /forgot does not depend on what is stored: it is sent before anything is read. A link works in the
 * browser that asked for it, so a forwarded or intercepted one is worth nothing. Opening it uses nothing up, since mail
 * programs open links too. The change ends every session, grant and token of the person, in one transaction with the
 * link's use: of two who use it at once, one changes the password.
 *
 * Limits: links of an account and of a network in an hour (mail-link-store.ts). A person without a password, who signs
 * in at a provider, gets none: the link would open a second way in.
 *
 * Addresses in mails come from the deployment, never from the request's `Host`.
 */
import type { CommonPasswords } from "../../platform/secrets/common-passwords.ts";
import type { SendMail } from "../../platform/ports/mail.ts";
import type { AuthorizeDeps } from "../authorize/deps.ts";
import type { RevokeAll } from "../grants/revoke-all.ts";
import type { Mails } from "../pages/port.ts";
import type { TrustStore } from "../tokens/trust-store.ts";
import type { InvitationStore } from "./invitation-store.ts";
import type { MailLinkStore } from "./mail-link-store.ts";

export interface RecoveryDeps extends AuthorizeDeps {
  readonly commonPasswords: CommonPasswords;
  readonly mailLinks: MailLinkStore;
  readonly invitations: InvitationStore;
  readonly mails: Mails;
  readonly sendMail: SendMail;
  /** The base of the pages in a mail's links. `origin`: the request's, for a local platform. */
  mailBase(origin: string): string;
  readonly revocations: Pick<RevokeAll, "deleteSignedOut"> & Pick<TrustStore, "revokeStatement">;
}

/** The pages behind links, which a platform without mail has too. */
export type LinkDeps = Omit<RecoveryDeps, "sendMail">;

/** Our choice: long enough for a slow mail, short enough for a mailbox that somebody else reads later. */
export const LINK_LIFE_MS = 30 * 60_000;
