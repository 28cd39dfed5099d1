/** A mail to one person. Both parts say the same. */
export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

/**
 * Mails that tell people what happened to their account: a sign-in from a new browser, a changed password, a changed
 * second factor, an account at an identity provider that was linked or unlinked.
 */
export const MAIL_NOTICES = ["sign_in", "password", "factor", "identity"] as const;
export type MailNotice = (typeof MAIL_NOTICES)[number];

/** Each thing that a notice tells, and the notice that operators turn off. */
export const NEWS = {
  sign_in: "sign_in",
  password: "password",
  factorOn: "factor",
  factorOff: "factor",
  newCodes: "factor",
  passkeyAdded: "factor",
  passkeyRemoved: "factor",
  linked: "identity",
  unlinked: "identity",
} as const satisfies Record<string, MailNotice>;
export type News = keyof typeof NEWS;

/** Hands a mail over. Throws if it was not accepted; an accepted mail may still not arrive. */
export type SendMail = (mail: Mail) => Promise<void>;

/** An address of a domain that the account may send for, and the name that mail programs show. */
export interface MailSender {
  readonly email: string;
  readonly name?: string;
}

/** Sends by Cloudflare's binding `send_email`. */
export const mailBy =
  (binding: SendEmail, { email, name = "" }: MailSender): SendMail =>
  async (mail) => {
    await binding.send({ from: { email, name }, ...mail });
  };
