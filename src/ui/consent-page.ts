import type { ConsentView } from "../oauth/pages/port.ts";
import { fill, given, hiddenFields, html, type Markup } from "./markup.ts";
import { alert } from "./message.ts";
import type { Texts } from "./texts/texts.ts";

/** Names the application, its tenant and the requested access; the two buttons send `decision`. */
export function consentPage(
  view: ConsentView,
  { consent, signIn, chooseTenant }: Texts,
): { readonly title: string; readonly main: Markup; readonly footer: Markup } {
  const { action, hidden, client, tenant, user, place, scopes, lasts, fault } = view;
  const main = html`<h1>${consent.title}</h1>
    <p>${fill(consent.lead, { client: given(client.name), tenant: named(tenant) })}</p>
    ${client.name === client.id ? undefined : html`<p><code>${client.id}</code></p>`}
    ${fault === undefined ? undefined : alert(consent.stale, true)}
    <section class="asked" aria-labelledby="asked">
      <h2 id="asked">${consent.asked}</h2>
      <ul>
        <li>${fill(consent.identity, { user: given(user) })}</li>
        ${
          scopes.length === 0
            ? undefined
            : html`<li>
                ${fill(place === "" ? consent.nowhere : consent.inPlace, { place: given(place) })}
                ${scopes.map((scope, at) => html`${at === 0 ? undefined : ", "}<code>${scope}</code>`)}
              </li>`
        }
        ${lasts ? html`<li>${consent.lasts}</li>` : undefined}
      </ul>
    </section>
    <p>${consent.takeBack}</p>
    <form class="decision" method="post" action="${action}">
      ${hiddenFields(hidden)}
      <button class="submit" name="decision" value="allow">${consent.allow}</button>
      <button class="other" name="decision" value="deny">${consent.deny}</button>
    </form>`;
  const footer = html`<p>${fill(chooseTenant.user, { user: given(user) })}</p>`;
  return { title: fault === undefined ? consent.title : `${signIn.failed}: ${consent.title}`, main, footer };
}

/** Shows the id too, since names of tenants are not unique. */
const named = ({ id, name }: ConsentView["tenant"]): Markup =>
  name === id ? given(name) : html`${given(name)} (<code>${id}</code>)`;
