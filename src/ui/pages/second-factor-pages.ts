import type { RecoveryCodesView, SecondFactorView, SetUpView } from "../../oauth/pages/views/factors.ts";
import { afterFault, type Page } from "../parts/layout.ts";
import { fill, given, hiddenFields, html, type Markup } from "../parts/markup.ts";
import { alert } from "../parts/message.ts";
import { passkeyButton } from "../parts/passkey.ts";
import { INVALID, passwordField } from "../parts/password-field.ts";
import { qrCode } from "../parts/qr.ts";
import { logo } from "./sign-in-pages.ts";
import type { Texts } from "../texts/texts.ts";

/** The field for a code. Its attributes make phones show digits and offer a code that they received. */
export const codeField = (label: string, isWrong: boolean, hasFocus: boolean): Markup =>
  html`<label for="code">${label}</label>
    <input
      id="code"
      name="code"
      type="text"
      inputmode="numeric"
      autocomplete="one-time-code"
      maxlength="64"
      ${isWrong ? INVALID : undefined}
      ${hasFocus ? html`autofocus` : undefined}
    />`;

/** The field for a recovery code, after a phone was lost. It is collapsed, because that is rare. */
export const recoveryField = ({ recoveryCode, lostApp }: Texts["secondFactor"]): Markup =>
  html`<details>
    <summary>${lostApp}</summary>
    <label for="recovery-code">${recoveryCode}</label>
    <input
      id="recovery-code"
      name="recovery_code"
      type="text"
      autocomplete="off"
      autocapitalize="none"
      spellcheck="false"
      maxlength="64"
    />
  </details>`;

export function secondFactorPage(view: SecondFactorView, texts: Texts): Page {
  const { secondFactor, passkeys, signIn, chooseTenant } = texts;
  const { action, hidden, user, clientName, logoUri, asksCode, passkey, fault } = view;
  const heading = asksCode ? secondFactor.title : passkeys.onlyTitle;
  const isWrong = fault === "wrong";
  const main = html`${logo(logoUri)}
    <h1>${heading}</h1>
    ${clientName === "" ? undefined : html`<p>${fill(signIn.lead, { client: given(clientName) })}</p>`}
    <p>${asksCode ? secondFactor.lead : passkeys.onlyLead}</p>
    ${fault === undefined ? undefined : alert(secondFactor.faults[fault], !isWrong)}
    <form method="post" action="${action}">
      ${hiddenFields(hidden)}
      ${
        asksCode
          ? html`${codeField(secondFactor.code, isWrong, fault === undefined || isWrong)} ${recoveryField(secondFactor)}
              <button class="submit" type="submit">${secondFactor.submit}</button>`
          : undefined
      }
      ${passkey === undefined ? elsewhere(asksCode, passkeys) : passkeyButton(passkey, { offered: false, isOnly: !asksCode }, passkeys)}
    </form>`;
  const footer = html`<p>${fill(chooseTenant.user, { user: given(user) })}</p>`;
  const title = afterFault(fault, heading, signIn);
  return { title, main, footer };
}

/** Shown if passkeys work only at another address or are switched off, and the person has no other factor. */
const elsewhere = (asksCode: boolean, { needsScript }: Texts["passkeys"]): Markup | undefined =>
  asksCode ? undefined : html`<p>${needsScript}</p>`;

export function setUpPage(view: SetUpView, texts: Texts): Page {
  const { action, hidden, user, logoUri, account, asksPassword, secret, uri, fault } = view;
  const { secondFactor, signIn, chooseTenant, passkeys } = texts;
  const isCode = fault === "wrong";
  const isPassword = fault === "password";
  const main = html`${logo(logoUri)}
    <h1>${secondFactor.setUpTitle}</h1>
    <p>${account === undefined ? secondFactor.needed : secondFactor.wanted}</p>
    ${fault === undefined ? undefined : alert(secondFactor.faults[fault], !isCode && !isPassword)}
    <p>${secondFactor.scan}</p>
    ${qrCode(uri, secondFactor.picture)}
    <p>${secondFactor.typeKey} <code class="key">${secret.match(/.{1,4}/g)?.join(" ")}</code></p>
    <p><a href="${uri}">${secondFactor.openApp}</a></p>
    <form method="post" action="${action}">
      ${hiddenFields(hidden)}
      ${
        asksPassword
          ? html`<input type="text" autocomplete="username" value="${user}" readonly hidden />
              ${passwordField({ label: signIn.password }, isPassword ? html`${INVALID} autofocus` : undefined)}`
          : undefined
      }
      ${codeField(secondFactor.firstCode, isCode, isCode)}
      <button class="submit" type="submit">${secondFactor.turnOn}</button>
    </form>
    ${account === undefined ? undefined : html`<p><a href="${account}">${passkeys.back}</a></p>`}`;
  const footer = html`<p>${fill(chooseTenant.user, { user: given(user) })}</p>`;
  const title = afterFault(fault, secondFactor.setUpTitle, signIn);
  return { title, main, footer };
}

export const recoveryCodesPage = ({ codes, action, hidden }: RecoveryCodesView, { secondFactor }: Texts): Page => ({
  title: secondFactor.codesTitle,
  main: html`<h1>${secondFactor.codesTitle}</h1>
    <p>${secondFactor.codesLead}</p>
    <ul class="codes" role="list">
      ${codes.map((code) => html`<li><code>${code}</code></li>`)}
    </ul>
    ${
      hidden === undefined
        ? html`<p><a class="submit" href="${action}">${secondFactor.kept}</a></p>`
        : html`<form method="post" action="${action}">
            ${hiddenFields(hidden)}
            <button class="submit" type="submit">${secondFactor.kept}</button>
          </form>`
    }`,
});
