/**
 * The pages for people: sign-in, sign-out and account.
 *
 *   words      texts/ (a language is a file), chosen by texts/languages.ts
 *   design     stylesheet.ts, one for all pages
 *   content    sign-in-page.ts, confirm-link-page.ts, choose-tenant-page.ts, consent-page.ts, account-page.ts,
 *              error-page.ts; layout.ts is common to all
 *   redirects  form-action.ts: where a form may lead
 *
 * They hold no state and run no script. `markup.ts` escapes every value on them.
 */
import type { PageContext, Pages } from "../oauth/pages/port.ts";
import { accountPage } from "./account-page.ts";
import { chooseTenantPage } from "./choose-tenant-page.ts";
import { confirmLinkPage } from "./confirm-link-page.ts";
import { consentPage } from "./consent-page.ts";
import { errorPage } from "./error-page.ts";
import { documentResponse } from "./layout.ts";
import { html } from "./markup.ts";
import { signInPage } from "./sign-in-page.ts";
import { chooseLanguage, LANGUAGES } from "./texts/languages.ts";

export function createPages(pathPrefix: string): Pages {
  return {
    signIn(view) {
      const { lang, texts } = languageOf(view);
      const { status, layout, publicBase, formTargets } = view;
      return documentResponse(
        { status, lang, layout, publicBase, formTargets, ...signInPage(view, texts) },
        pathPrefix,
      );
    },
    confirmLink(view) {
      const { lang, texts } = languageOf(view);
      const { status, publicBase, formTargets } = view;
      return documentResponse(
        { status, lang, layout: "page", publicBase, formTargets, ...confirmLinkPage(view, texts) },
        pathPrefix,
      );
    },
    chooseTenant(view) {
      const { lang, texts } = languageOf(view);
      const { publicBase, formTargets } = view;
      return documentResponse(
        { status: 200, lang, layout: "page", publicBase, formTargets, ...chooseTenantPage(view, texts) },
        pathPrefix,
      );
    },
    consent(view) {
      const { lang, texts } = languageOf(view);
      const { status, publicBase, formTargets } = view;
      return documentResponse(
        { status, lang, layout: "page", publicBase, formTargets, ...consentPage(view, texts) },
        pathPrefix,
      );
    },
    account(view) {
      const { lang, texts } = languageOf(view);
      const { status, publicBase } = view;
      const page = accountPage(view, texts, lang);
      return documentResponse({ status, lang, layout: "account", publicBase, formTargets: [], ...page }, pathPrefix);
    },
    error(view) {
      const { lang, texts } = languageOf(view);
      const { status, publicBase } = view;
      return documentResponse({ status, lang, layout: "page", publicBase, ...errorPage(view, texts) }, pathPrefix);
    },
    signedOut(view) {
      const { lang, texts } = languageOf(view);
      const { title, text } = texts.signedOut;
      const main = html`<h1>${title}</h1>
        <p>${text}</p>`;
      return documentResponse(
        { status: 200, lang, layout: "page", title, publicBase: view.publicBase, main },
        pathPrefix,
      );
    },
  };
}

function languageOf({ uiLocales, acceptLanguage }: PageContext) {
  const lang = chooseLanguage(uiLocales, acceptLanguage);
  return { lang, texts: LANGUAGES[lang] };
}
