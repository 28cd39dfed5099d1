import type {
  ConfirmAddressView,
  ForgotView,
  InvitationView,
  LinkUsedView,
  LinkVoidView,
  NewPasswordFault,
  NewPasswordView,
} from "../../oauth/pages/views/links.ts";
import { emailField } from "../parts/email-field.ts";
import { afterFault, type Page } from "../parts/layout.ts";
import { fill, given, hiddenFields, html, type Markup } from "../parts/markup.ts";
import { alert } from "../parts/message.ts";
import { INVALID, passwordField } from "../parts/password-field.ts";
import type { Texts } from "../texts/texts.ts";

/** Asks for the address, or reports that a mail with a link was sent. */
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
      ${hiddenFields(hidden)} ${emailField({ label: signIn.email, email }, html`autofocus`)}
      <button class="submit" type="submit">${recovery.send}</button>
    </form>`;
  return { title: recovery.title, main };
}

export const newPasswordPage = (
  { action, hidden, email, fault }: NewPasswordView,
  { recovery, account, signIn }: Texts,
): Page => ({
  title: afterFault(fault, recovery.newTitle, signIn),
  main: html`<h1>${recovery.newTitle}</h1>
    <p>${fill(recovery.newLead, { user: given(email) })}</p>
    ${faultOf(fault, account)}
    <form method="post" action="${action}">
      ${hiddenFields(hidden)} ${newPassword(email, fault, account)}
      <button class="submit" type="submit">${account.changePassword}</button>
    </form>`,
});

export function invitationPage(view: InvitationView, { invitation, account, signIn }: Texts): Page {
  const { action, hidden, email, place, needsPassword, fault } = view;
  const names = { user: given(email), place: given(place) };
  return {
    title: afterFault(fault, invitation.title, signIn),
    main: html`<h1>${invitation.title}</h1>
      <p>${fill(invitation.lead, names)} ${needsPassword ? invitation.choose : undefined}</p>
      ${faultOf(fault, account)}
      <form method="post" action="${action}">
        ${hiddenFields(hidden)} ${needsPassword ? newPassword(email, fault, account) : undefined}
        <button class="submit" type="submit">${invitation.accept}</button>
      </form>
      <p>${invitation.otherwise}</p>`,
  };
}

export const confirmAddressPage = ({ action, hidden, email }: ConfirmAddressView, { verification }: Texts): Page => ({
  title: verification.title,
  main: html`<h1>${verification.title}</h1>
    <p>${fill(verification.lead, { user: given(email) })}</p>
    <form method="post" action="${action}">
      ${hiddenFields(hidden)}
      <button class="submit" type="submit">${verification.confirm}</button>
    </form>`,
});

/** True for a fault that concerns a field, which the page shows at the field too. */
const isAtField = (fault: NewPasswordFault | undefined): boolean => fault !== undefined && fault !== "stale";

const faultOf = (fault: NewPasswordFault | undefined, { faults }: Texts["account"]): Markup | undefined =>
  fault === undefined ? undefined : alert(faults[fault], !isAtField(fault));

/** Two fields for a new password. The field to correct has the focus. */
function newPassword(email: string, fault: NewPasswordFault | undefined, account: Texts["account"]): Markup {
  const inRepeated = fault === "repeated";
  const field = (id: string, name: string, label: string, isWrong: boolean, hasFocus: boolean) =>
    passwordField(
      { id, name, label, autocomplete: "new-password" },
      html`${isWrong ? INVALID : undefined} ${hasFocus ? html`autofocus` : undefined}`,
    );
  const inFirst = isAtField(fault) && !inRepeated;
  return html`<input type="text" autocomplete="username" value="${email}" readonly hidden />
    ${field("new-password", "new_password", account.newPassword, inFirst, fault !== "stale" && !inRepeated)}
    ${field("repeated-password", "repeated_password", account.repeated, inRepeated, inRepeated)}`;
}

export const linkVoidPage = ({ kind, account: address }: LinkVoidView, { recovery, account }: Texts): Page => ({
  title: recovery.void[kind].title,
  main: html`<h1>${recovery.void[kind].title}</h1>
    <p>${recovery.void[kind].text}</p>
    <p><a href="${address}">${account.title}</a></p>`,
});

export function linkUsedPage(view: LinkUsedView, { done, invitation }: Texts): Page {
  const { kind, next, place = "", passwordIsUnused = false } = view;
  const { title, text, button } = done[kind];
  return {
    title,
    main: html`<h1>${title}</h1>
      ${passwordIsUnused ? alert(invitation.passwordIsUnused, true) : undefined}
      <p>${fill(text, { place: given(place) })}</p>
      <p><a class="submit" href="${next}">${button}</a></p>`,
  };
}
