import type { Brand } from "../../platform/model/brand.ts";
import { describeError, type Log } from "../../platform/runtime/log.ts";
import { NEWS, type MailNotice, type News, type SendMail } from "../../platform/ports/mail.ts";
import type { AnyCall } from "../model/call.ts";
import { pageContext } from "../pages/page.ts";
import type { Mails } from "../pages/port.ts";
import { whereaboutsOf } from "./whereabouts.ts";

/**
 * Tells a person by mail about changes of the account, so that the person notices those by others. Never delays an
 * answer and never fails: a mail that is not accepted is logged, and lost.
 *
 * `by`: an operator changed it. `sign_in` is about browsers that device.ts does not know, however the person signed in.
 */
export type Tell = (call: TellingCall, news: News, email: string, by?: "operator") => void;

type TellingCall = Pick<AnyCall, "request" | "url" | "publicBase" | "requestId" | "nowMs" | "waitUntil">;

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
  (call, news, email, by) => {
    const notice = NEWS[news];
    if (sendMail === undefined || !notices.includes(notice)) return;
    const link = accountIn(call.url.origin);
    const view = {
      ...pageContext(call, call.url.searchParams.get("ui_locales") ?? undefined),
      // Leaves out language and browser, which are the operator's.
      ...(by === undefined ? {} : { acceptLanguage: null, by }),
      email,
      link,
      base: link,
    };
    const { requestId, nowMs } = call;
    const send = async (): Promise<void> => {
      const brand = await brandOf(email);
      await sendMail(mails.notice({ ...view, brand, news, atMs: nowMs, ...whereaboutsOf(call) }));
    };
    const failed = (thrown: unknown): void =>
      log.error("mail not sent", { requestId, user: email, notice, error: describeError(thrown) });
    call.waitUntil(send().catch(failed));
  };
