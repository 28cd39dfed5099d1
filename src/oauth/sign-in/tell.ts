import type { Brand } from "../../platform/model/brand.ts";
import { describeError, type Log } from "../../platform/runtime/log.ts";
import type { MailNotice, SendMail } from "../../platform/ports/mail.ts";
import type { AnyCall } from "../model/call.ts";
import { pageContext } from "../pages/page.ts";
import type { Mails } from "../pages/port.ts";
import { whereaboutsOf } from "./whereabouts.ts";

/**
 * Tells a person by mail what happened to the account, so that somebody else's deed is noticed. Never delays an answer
 * and never fails: a mail that is not taken is logged, and lost.
 *
 * `sign_in` is about browsers that device.ts does not know. A sign-in by an identity provider is not told: the provider
 * knows the person's browsers.
 */
export type Tell = (call: AnyCall, notice: MailNotice, email: string) => void;

interface TellDeps {
  readonly sendMail: SendMail | undefined;
  readonly mails: Mails;
  readonly log: Log;
  /** The notices that the operator wants. */
  readonly notices: readonly MailNotice[];
  /** The address of the account page in a mail. `origin`: the request's, for a local platform. */
  accountIn(origin: string): string;
  brandOf(email: string): Promise<Brand | undefined>;
}

export const createTell =
  ({ sendMail, mails, log, notices, accountIn, brandOf }: TellDeps): Tell =>
  (call, notice, email) => {
    if (sendMail === undefined || !notices.includes(notice)) return;
    const link = accountIn(call.url.origin);
    const view = {
      ...pageContext(call, call.url.searchParams.get("ui_locales") ?? undefined),
      email,
      link,
      base: link,
    };
    const { requestId, nowMs } = call;
    const send = async (): Promise<void> => {
      const brand = await brandOf(email);
      await sendMail(mails.notice({ ...view, brand, notice, atMs: nowMs, ...whereaboutsOf(call) }));
    };
    const failed = (thrown: unknown): void =>
      log.error("mail not sent", { requestId, user: email, notice, error: describeError(thrown) });
    call.waitUntil(send().catch(failed));
  };
