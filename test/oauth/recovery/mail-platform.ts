import { Browser, toInit, type Visit } from "../../support/browser.ts";
import type { Mail } from "../../../src/platform/ports/mail.ts";
import { isolate, type Isolate } from "../../support/isolate.ts";
import { ORIGIN } from "../../support/platform/call.ts";

/** A platform that sends mail, and its sent mails. */
export interface MailPlatform {
  readonly platform: Isolate;
  readonly mails: Mail[];
  /** Opens a new browser. */
  browser(headers?: Record<string, string>): Browser;
}

export function mailPlatform(more: Record<string, string> = {}): MailPlatform {
  const mails: Mail[] = [];
  const send = async (mail: Mail) => ({ messageId: String(mails.push(mail)) });
  const platform = isolate({
    MAIL: { send } as unknown as SendEmail,
    MAIL_FROM: "Acme <no-reply@acme.example>",
    PUBLIC_URL: ORIGIN,
    ...more,
  });
  return {
    platform,
    mails,
    browser: (headers = {}) => new Browser({ send: (address, init) => platform.fetch(address, toInit(init)), headers }),
  };
}

export const linkIn = (mail: Mail | undefined): string => /https?:\S+/.exec(mail?.text ?? "no mail")?.[0] ?? "no link";

/** Sends the page's form with a new password. */
export const choose = (browser: Browser, page: Visit, password: string, repeated = password): Promise<Visit> =>
  browser.submit(page, { new_password: password, repeated_password: repeated });
