import type { TenantChooserView } from "../oauth/pages/port.ts";
import { fill, given, hiddenFields, html, type Markup } from "./markup.ts";
import type { Texts } from "./texts/texts.ts";

/** A button for each tenant; the pressed one is sent as `scope`. */
export const chooseTenantPage = (
  { action, hidden, clientName, user, tenants }: TenantChooserView,
  { chooseTenant }: Texts,
): { readonly title: string; readonly main: Markup; readonly footer: Markup } => ({
  title: chooseTenant.title,
  main: html`<h1 id="title">${chooseTenant.title}</h1>
    <p>${fill(chooseTenant.lead, { client: given(clientName) })}</p>
    <form method="post" action="${action}">
      ${hiddenFields(hidden)}
      <ul class="choices" role="list" aria-labelledby="title">
        ${tenants.map(
          ({ id, name, value }) =>
            html`<li>
              <button name="scope" value="${value}">
                <span>${given(name)}${name === id ? undefined : html` <small>${id}</small>`}</span>
              </button>
            </li>`,
        )}
      </ul>
    </form>`,
  footer: html`<p>${fill(chooseTenant.user, { user: given(user) })}</p>`,
});
