import { Browser, toInit, type Visit } from "../../support/browser.ts";
import { expect, vi } from "vitest";
import type { Env } from "../../../src/env.ts";
import type { Mail } from "../../../src/platform/ports/mail.ts";
import { isolate, type Isolate } from "../../support/isolate.ts";
import { databaseThrough } from "../../support/database-through.ts";
import { ORIGIN } from "../../support/platform/call.ts";

/** A platform that sends mail, and its sent mails. */
export interface MailPlatform {
  readonly platform: Isolate;
  readonly mails: Mail[];
  /** Opens a new browser. */
  browser(headers?: Record<string, string>): Browser;
}

export function mailPlatform(more: Partial<Env> = {}): MailPlatform {
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

/**
 * Sends a form again and again; a later call of the database fails each time, until none does. An answer that does not
 * say "done" must be true.
 */
export async function untilDone(
  submit: (at: MailPlatform) => Promise<Visit>,
  isDone: () => Promise<boolean>,
): Promise<void> {
  vi.spyOn(console, "error").mockImplementation(() => {});
  vi.spyOn(console, "warn").mockImplementation(() => {});
  for (let failing = 0, status = 0; status !== 200; failing++) {
    // Copies of records are old by then.
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 60_000 });
    let calls = 0;
    const fails = () => calls++ === failing;
    const DB = databaseThrough(async (call) => (fails() ? Promise.reject(new Error("D1 is away")) : call()));
    ({ status } = await submit(mailPlatform({ DB })));
    expect([failing, await isDone()]).toEqual([failing, status === 200]);
  }
  vi.useRealTimers();
  vi.restoreAllMocks();
}

/** The browser, at another platform. */
export function browserAt({ browser }: MailPlatform, { cookies }: Browser): Browser {
  const moved = browser();
  for (const [name, value] of cookies) moved.cookies.set(name, value);
  return moved;
}
