import type { SignInView } from "../oauth/pages/port.ts";
import { fill, given, hiddenFields, html, type Markup } from "./markup.ts";
import { alert, notice } from "./message.ts";
import type { Texts } from "./texts/texts.ts";

/** One form with e-mail and password. After a fault the focus is on the field to correct, or on the fault itself. */
export function signInPage(
  view: SignInView,
  { signIn, account }: Texts,
): { readonly title: string; readonly main: Markup } {
  const { action, hidden, email, fault } = view;
  const inFields = fault === "wrong" ? FIELDS_ARE_WRONG : undefined;
  const focus = focusOf(view);
  const focusOn = (id: typeof focus) => (id === focus ? AUTOFOCUS : undefined);
  const main = html`<h1>${signIn.title}</h1>
    ${leadOf(view, signIn)} ${view.notice === undefined ? undefined : notice(account.notices[view.notice])}
    ${fault === undefined ? undefined : alert(signIn.faults[fault], focus === "fault")}
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
        ${inFields}
        ${focusOn("email")}
      />
      <label for="password">${signIn.password}</label>
      <input
        id="password"
        name="password"
        type="password"
        autocomplete="current-password"
        required
        ${inFields}
        ${focusOn("password")}
      />
      <button class="submit" type="submit">${signIn.submit}</button>
    </form>`;
  return { title: fault === undefined ? signIn.title : `${signIn.failed}: ${signIn.title}`, main };
}

function focusOf({ notice: done, fault, email }: SignInView): "notice" | "fault" | "email" | "password" {
  if (done !== undefined) return "notice";
  if (fault !== undefined && fault !== "wrong") return "fault";
  return email === "" ? "email" : "password";
}

const FIELDS_ARE_WRONG = html`aria-invalid="true" aria-describedby="fault"`;
const AUTOFOCUS = html`autofocus`;

function leadOf({ clientName, tenant }: SignInView, signIn: Texts["signIn"]): Markup | undefined {
  if (clientName === "") return undefined;
  const text = tenant === "" ? signIn.lead : signIn.leadInTenant;
  return html`<p>${fill(text, { client: given(clientName), tenant: given(tenant) })}</p>`;
}
