import type { LinkMailView, Mails, NoticeMailView } from "../oauth/pages/port.ts";
import type { Mail } from "../platform/ports/mail.ts";
import { accentsOf, NO_BRAND } from "../platform/model/brand.ts";
import { legalLinks } from "./parts/legal-links.ts";
import { html } from "./parts/markup.ts";
import { chooseLanguage, LANGUAGES, momentText, type Language } from "./texts/languages.ts";
import { browserText, placeText } from "./parts/whereabouts.ts";
import type { Texts } from "./texts/texts.ts";

/** The accent of the pages' light theme. */
const OWN_ACCENT = "#0e5a75";

/** Keeps a name that somebody else chose within one line, above all within the subject. */
const oneLine = (name: string): string => name.replaceAll(/\s+/g, " ").slice(0, 80);

/** Writes the mails, in the language of the page on which the person asked for them. */
export const createMails = (): Mails => ({
  reset: (view) => linkMail(view, "reset"),
  verify: (view) => linkMail(view, "verify"),
  invitation: (view) => linkMail(view, "invitation"),
  notice: noticeMail,
});

function noticeMail(view: NoticeMailView): Mail {
  const { news } = view;
  return news === "sign_in" || news === "password"
    ? linkMail(view, news, (texts, lang) => ({ details: detailsOf(view, texts, lang) }))
    : linkMail(view, "changed", (texts, lang) => ({ news: texts.news[news], details: detailsOf(view, texts, lang) }));
}

/** Writes `Firefox, Windows · Berlin, Germany · 23 Nov 2026, 10:20 UTC`, or that an operator did it, and the time. */
function detailsOf(view: NoticeMailView, { account }: Texts, lang: Language): string {
  const where = view.by === undefined ? [browserText(view, account), placeText(view, lang)] : [account.byOperator];
  const parts = [...where, momentText(view.atMs, lang)];
  return parts.filter((part) => part !== "").join(" · ");
}

/**
 * Writes a mail of a few sentences with one link. Mail programs ignore stylesheets and pictures as data, so it has
 * neither. The sentences always name the host, so that a brand never hides the sender.
 */
function linkMail(
  view: LinkMailView,
  kind: keyof Texts["mails"],
  more: (texts: Texts, lang: Language) => Readonly<Record<string, string>> = () => ({}),
): Mail {
  const { email, link, base, place = "", brand = NO_BRAND } = view;
  const accent = accentsOf(brand)?.light.accent ?? OWN_ACCENT;
  const lang = chooseLanguage(view.uiLocales, view.acceptLanguage);
  const texts = LANGUAGES[lang].mails[kind];
  const links = legalLinks(brand, LANGUAGES[lang]);
  const title = oneLine(brand.name);
  const values: Readonly<Record<string, string>> = {
    user: email,
    host: new URL(base).host,
    place: oneLine(place),
    ...more(LANGUAGES[lang], lang),
  };
  const say = (text: string): string => text.replaceAll(/\{(\w+)\}/g, (_, name: string) => values[name] ?? "");
  const lead = say(texts.lead);
  const subject = say(texts.subject);
  return {
    to: email,
    subject,
    text: [
      ...(title === "" ? [] : [title]),
      lead,
      link,
      say(texts.rules),
      `${texts.otherwise}\n`,
      ...links.map(({ href, text }) => `${text}: ${href}\n`),
    ].join("\n\n"),
    html: html`<!doctype html>
      <html lang="${lang}">
        <head>
          <meta charset="utf-8" />
          <title>${subject}</title>
        </head>
        <body style="font-family: sans-serif; line-height: 1.5; max-width: 36em; margin: 2em auto; padding: 0 1em">
          ${brand.logoUri.startsWith("https:") ? html`<p><img src="${brand.logoUri}" alt="" height="40" /></p>` : undefined}
          ${title === "" ? undefined : html`<p><strong>${title}</strong></p>`}
          <p>${lead}</p>
          <p>
            <a
              href="${link}"
              style="display: inline-block; padding: 0.6em 1.2em; border-radius: 0.5em; background: ${accent}; color: #ffffff; text-decoration: none"
              >${texts.button}</a
            >
          </p>
          <p>${say(texts.rules)}</p>
          <p>${texts.otherwise}</p>
          ${
            links.length === 0
              ? undefined
              : html`<p>${links.map(({ href, text }) => html`<a href="${href}">${text}</a> `)}</p>`
          }
        </body>
      </html>`.toString(),
  };
}
