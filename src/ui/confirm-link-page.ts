import type { ConfirmLinkView } from "../oauth/pages/port.ts";
import { fill, given, hiddenFields, html, type Markup } from "./markup.ts";
import { alert } from "./message.ts";
import type { Texts } from "./texts/texts.ts";

/** Asks for the password of the account whose address the provider named. */
export function confirmLinkPage(
  { action, hidden, email, provider, clientName, fault }: ConfirmLinkView,
  { confirmLink, signIn }: Texts,
): { readonly title: string; readonly main: Markup; readonly footer: Markup } {
  const names = { provider: given(provider), user: given(email) };
  const isWrong = fault === "wrong";
  const main = html`<h1>${confirmLink.title}</h1>
    ${clientName === "" ? undefined : html`<p>${fill(signIn.lead, { client: given(clientName) })}</p>`}
    <p>${fill(confirmLink.lead, names)}</p>
    <p>${fill(confirmLink.once, names)}</p>
    ${fault === undefined ? undefined : alert(isWrong ? confirmLink.wrong : signIn.faults.blocked, !isWrong)}
    <form method="post" action="${action}">
      ${hiddenFields(hidden)}
      <input type="text" autocomplete="username" value="${email}" readonly hidden />
      <label for="password">${signIn.password}</label>
      <input
        id="password"
        name="password"
        type="password"
        autocomplete="current-password"
        required
        ${isWrong ? html`aria-invalid="true" aria-describedby="fault"` : undefined}
        ${fault === "blocked" ? undefined : html`autofocus`}
      />
      <button class="submit" type="submit">${confirmLink.submit}</button>
    </form>`;
  const title = fault === undefined ? confirmLink.title : `${signIn.failed}: ${confirmLink.title}`;
  return { title, main, footer: html`<p>${confirmLink.otherwise}</p>` };
}
