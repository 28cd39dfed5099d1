import type { NewPasskeyView } from "../../oauth/pages/views/factors.ts";
import { afterFault, type Page } from "../parts/layout.ts";
import { fill, given, hiddenFields, html } from "../parts/markup.ts";
import { alert } from "../parts/message.ts";
import { createButton } from "../parts/passkey.ts";
import type { Texts } from "../texts/texts.ts";

/** Asks for a name and creates a passkey. The server shortens a name that is too long. */
export function newPasskeyPage(view: NewPasskeyView, { passkeys, signIn, chooseTenant }: Texts): Page {
  const { action, hidden, user, name, account, fault } = view;
  const main = html`<h1>${passkeys.newTitle}</h1>
    <p>${passkeys.newLead}</p>
    ${fault === undefined ? undefined : alert(passkeys.faults[fault], true)}
    <form method="post" action="${action}">
      ${hiddenFields(hidden)}
      <label for="name">${passkeys.name}</label>
      <input id="name" name="name" type="text" autocomplete="off" maxlength="60" value="${name}" />
      ${createButton(view, passkeys)}
    </form>
    <p><a href="${account}">${passkeys.back}</a></p>`;
  const footer = html`<p>${fill(chooseTenant.user, { user: given(user.email) })}</p>`;
  const title = afterFault(fault, passkeys.newTitle, signIn);
  return { title, main, footer };
}
