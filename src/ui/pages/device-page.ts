import type { DeviceView } from "../../oauth/pages/views/consent.ts";
import { afterFault, type Page } from "../parts/layout.ts";
import { hiddenFields, html } from "../parts/markup.ts";
import { alert } from "../parts/message.ts";
import { INVALID } from "../parts/password-field.ts";
import type { Texts } from "../texts/texts.ts";

/** Asks for the code that a device shows, or shows the result. */
export function devicePage({ kind, action, hidden, userCode, fault }: DeviceView, { device, signIn }: Texts): Page {
  if (kind !== "ask") {
    const { title, text } = device[kind];
    return {
      title,
      main: html`<h1>${title}</h1>
        <p>${text}</p>`,
    };
  }
  const main = html`<h1>${device.title}</h1>
    <p>${device.lead}</p>
    ${fault === undefined ? undefined : alert(device.faults[fault], true)}
    <form method="post" action="${action}">
      ${hiddenFields(hidden)}
      <label for="user_code">${device.code}</label>
      <input
        id="user_code"
        name="user_code"
        type="text"
        autocomplete="off"
        autocapitalize="characters"
        spellcheck="false"
        required
        value="${userCode}"
        ${fault === undefined ? html`autofocus` : INVALID}
      />
      <button class="submit" type="submit">${device.submit}</button>
    </form>`;
  return { title: afterFault(fault, device.title, signIn), main };
}
