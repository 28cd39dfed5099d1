import type {
  ForgotView,
  LinkVoidView,
  NewPasswordFault,
  NewPasswordView,
  PasswordSetView,
} from "../oauth/pages/port.ts";
import type { Page } from "./layout.ts";
import { fill, given, hiddenFields, html } from "./markup.ts";
import { alert } from "./message.ts";
import type { Texts } from "./texts/texts.ts";

/** Asks for the address, or says that a link is on its way. */
export function forgotPage({ action, hidden, email, isSent }: ForgotView, { recovery, signIn }: Texts): Page {
  if (isSent)
    return {
      title: recovery.sentTitle,
      main: html`<h1>${recovery.sentTitle}</h1>
        <p>${fill(recovery.sent, { user: given(email) })}</p>
        <p>${recovery.sentHere}</p>`,
    };
  const main = html`<h1>${recovery.title}</h1>
    <p>${recovery.lead}</p>
    <form method="post" action="${action}">
      ${hiddenFields(hidden)}
      <label for="email">${signIn.email}</label>
      <input
        id="email"
        name="email"
        type="text"
        inputmode="email"
        autocomplete="username"
        autocapitalize="none"
        spellcheck="false"
        required
        value="${email}"
        autofocus
      />
      <button class="submit" type="submit">${recovery.send}</button>
    </form>`;
  return { title: recovery.title, main };
}

const IN_REPEATED: NewPasswordFault = "repeated";

export function newPasswordPage(
  { action, hidden, email, fault }: NewPasswordView,
  { recovery, account, signIn }: Texts,
): Page {
  const atField = fault !== undefined && fault !== "stale";
  const field = (id: string, name: string, label: string, isWrong: boolean, hasFocus: boolean) =>
    html`<label for="${id}">${label}</label>
      <input
        id="${id}"
        name="${name}"
        type="password"
        autocomplete="new-password"
        required
        ${isWrong ? html`aria-invalid="true" aria-describedby="fault"` : undefined}
        ${hasFocus ? html`autofocus` : undefined}
      />`;
  const inRepeated = fault === IN_REPEATED;
  const main = html`<h1>${recovery.newTitle}</h1>
    <p>${fill(recovery.newLead, { user: given(email) })}</p>
    ${fault === undefined ? undefined : alert(account.faults[fault], !atField)}
    <form method="post" action="${action}">
      ${hiddenFields(hidden)}
      <input type="text" autocomplete="username" value="${email}" readonly hidden />
      ${field("new-password", "new_password", account.newPassword, atField && !inRepeated, fault !== "stale" && !inRepeated)}
      ${field("repeated-password", "repeated_password", account.repeated, inRepeated, inRepeated)}
      <button class="submit" type="submit">${account.changePassword}</button>
    </form>`;
  return { title: fault === undefined ? recovery.newTitle : `${signIn.failed}: ${recovery.newTitle}`, main };
}

export const linkVoidPage = ({ kind, account: address }: LinkVoidView, { recovery, account }: Texts): Page => ({
  title: recovery.void[kind].title,
  main: html`<h1>${recovery.void[kind].title}</h1>
    <p>${recovery.void[kind].text}</p>
    <p><a href="${address}">${account.title}</a></p>`,
});

export const passwordSetPage = ({ next }: PasswordSetView, { recovery, signIn }: Texts): Page => ({
  title: recovery.setTitle,
  main: html`<h1>${recovery.setTitle}</h1>
    <p>${recovery.set}</p>
    <p><a class="submit" href="${next}">${signIn.title}</a></p>`,
});
