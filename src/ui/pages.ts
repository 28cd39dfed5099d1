/**
 * The pages for people: sign-in, sign-out and account.
 *
 *   words    texts/ has a file for each language; texts/languages.ts chooses one
 *   design   parts/stylesheet.ts, one for all pages
 *   content  pages/
 *   layout   parts/layout.ts, common to all pages, limits where a form may lead
 *
 * The pages hold no state, and work without scripts except for passkeys. One script posts a response to its client.
 * Another one sends a form only once, and is the browser's part of passkeys (parts/page-script.ts). parts/markup.ts
 * escapes every value.
 */
import type { ErrorView, FormPostView, PageContext } from "../oauth/pages/views/page.ts";
import type { Pages } from "../oauth/pages/port.ts";
import { devicePage } from "./pages/device-page.ts";
import { accountPage } from "./pages/account-page.ts";
import { legalLinks } from "./parts/legal-links.ts";
import { documentResponse, type Document, type Page } from "./parts/layout.ts";
import { fill, given, hiddenFields, html } from "./parts/markup.ts";
import { PAGE_SCRIPT_NAME } from "./parts/page-script.ts";
import {
  confirmAddressPage,
  forgotPage,
  invitationPage,
  linkUsedPage,
  linkVoidPage,
  newPasswordPage,
} from "./pages/recovery-pages.ts";
import { newPasskeyPage } from "./pages/new-passkey-page.ts";
import { recoveryCodesPage, secondFactorPage, setUpPage } from "./pages/second-factor-pages.ts";
import {
  chooseTenantPage,
  confirmLinkPage,
  consentPage,
  outsideProviderPage,
  signInPage,
} from "./pages/sign-in-pages.ts";
import { chooseLanguage, LANGUAGES, type Language } from "./texts/languages.ts";
import type { Texts } from "./texts/texts.ts";

type View = PageContext & Partial<Pick<Document, "status" | "formTargets" | "logoUri" | "submitsItself">>;

/** `runsScript`: false for a platform without passkeys, whose pages have no script. */
export function createPages(pathPrefix: string, runsScript: boolean): Pages {
  const respond = (
    view: View,
    layout: Document["layout"],
    pageOf: (texts: Texts, lang: Language) => Page,
  ): Response => {
    const { status = 200, publicBase, formTargets, logoUri, brand, submitsItself } = view;
    const lang = chooseLanguage(view.uiLocales, view.acceptLanguage);
    const page = pageOf(LANGUAGES[lang], lang);
    const links = legalLinks(brand, LANGUAGES[lang]);
    const script = runsScript && formTargets !== undefined && submitsItself !== true ? PAGE_SCRIPT_NAME : undefined;
    const frame = { status, lang, layout, publicBase, formTargets, logoUri, brand, links, submitsItself, script };
    return documentResponse({ ...frame, ...page }, pathPrefix);
  };
  return {
    signIn: (view) => respond(view, view.layout, (texts) => signInPage(view, texts)),
    confirmLink: (view) => respond(view, "page", (texts) => confirmLinkPage(view, texts)),
    outsideProvider: (view) => respond({ ...view, status: 400 }, "page", (texts) => outsideProviderPage(view, texts)),
    secondFactor: (view) => respond(view, "page", (texts) => secondFactorPage(view, texts)),
    setUpSecondFactor: (view) => respond(view, "page", (texts) => setUpPage(view, texts)),
    recoveryCodes: (view) => respond(view, "page", (texts) => recoveryCodesPage(view, texts)),
    newPasskey: (view) => respond(view, "page", (texts) => newPasskeyPage(view, texts)),
    chooseTenant: (view) => respond(view, "page", (texts) => chooseTenantPage(view, texts)),
    device: (view) => respond(view, "page", (texts) => devicePage(view, texts)),
    consent: (view) => respond(view, "page", (texts) => consentPage(view, texts)),
    forgot: (view) => respond({ ...view, formTargets: [] }, "page", (texts) => forgotPage(view, texts)),
    newPassword: (view) => respond({ ...view, formTargets: [] }, "page", (texts) => newPasswordPage(view, texts)),
    linkVoid: (view) => respond({ ...view, status: 400 }, "page", (texts) => linkVoidPage(view, texts)),
    invitation: (view) => respond({ ...view, formTargets: [] }, "page", (texts) => invitationPage(view, texts)),
    confirmAddress: (view) => respond({ ...view, formTargets: [] }, "page", (texts) => confirmAddressPage(view, texts)),
    linkUsed: (view) => respond(view, "page", (texts) => linkUsedPage(view, texts)),
    account: (view) => respond(view, "account", (texts, lang) => accountPage(view, texts, lang)),
    error: (view) => respond(view, "page", (texts) => errorPage(view, texts)),
    formPost: (view) => respond({ ...view, submitsItself: true }, "page", (texts) => formPostPage(view, texts)),
    signedOut: (view) => respond(view, "page", (texts) => signedOutPage(view, texts)),
  };
}

/** Shows a text for the person, the exact fault for the application's developers, and the request id for support. */
function errorPage({ kind, detail, requestId, account, back, publicBase }: ErrorView, texts: Texts): Page {
  const { title, text } = texts.errors[kind];
  return {
    title,
    main: html`<h1>${title}</h1>
      <p>${text}</p>
      ${account === undefined ? undefined : html`<p><a href="${account}">${texts.account.title}</a></p>`}
      ${back === undefined ? undefined : html`<p><a href="${back.href}">${fill(texts.outsideProvider.back, { client: given(back.clientName) })}</a></p>`}
      ${
        detail === ""
          ? undefined
          : html`<section class="detail" aria-labelledby="detail">
              <h2 id="detail">${texts.forDevelopers}</h2>
              <p lang="en">${detail}</p>
              <p lang="en">
                <a href="${publicBase}/docs/errors?request=${requestId}"
                  >What errors mean, and how an operator finds the cause</a
                >
              </p>
            </section>`
      }`,
    footer: html`<p>${fill(texts.requestId, { id: html`<code>${requestId}</code>` })}</p>`,
  };
}

const formPostPage = ({ action, fields, clientName }: FormPostView, { formPost }: Texts): Page => ({
  title: formPost.title,
  main: html`<h1>${formPost.title}</h1>
    <p>${fill(formPost.text, { client: given(clientName) })}</p>
    <form method="post" action="${action}">
      ${hiddenFields(fields)}
      <button class="submit" type="submit">${formPost.submit}</button>
    </form>`,
});

/** Links to the account page, which asks to sign in again. */
const signedOutPage = ({ publicBase }: PageContext, { signedOut: { title, text }, account }: Texts): Page => ({
  title,
  main: html`<h1>${title}</h1>
    <p>${text}</p>
    <p><a href="${publicBase}/account">${account.title}</a></p>`,
});
