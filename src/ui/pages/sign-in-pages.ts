import type { ConfirmLinkView, OutsideProviderView, SignInView } from "../../oauth/pages/views/sign-in.ts";
import type { ConsentView, TenantChooserView } from "../../oauth/pages/views/consent.ts";
import { emailField } from "../parts/email-field.ts";
import { afterFault, type Page } from "../parts/layout.ts";
import { fill, given, hiddenFields, html, type Markup } from "../parts/markup.ts";
import { alert, notice } from "../parts/message.ts";
import { passkeyButton } from "../parts/passkey.ts";
import { INVALID, passwordField } from "../parts/password-field.ts";
import { scopeInWords } from "../parts/scope-words.ts";
import type { Texts } from "../texts/texts.ts";

/** One form with e-mail and password. After a fault the focus is on the field to correct, or on the fault itself. */
export function signInPage(view: SignInView, { signIn, account, passkeys }: Texts): Page {
  const { action, hidden, email, fault, byPassword, passkey } = view;
  const inFields = fault === "wrong" ? INVALID : undefined;
  const focus = focusOf(view);
  const focusOn = (id: typeof focus) => (id === focus ? AUTOFOCUS : undefined);
  const main = html`${logo(view.logoUri)}
    <h1>${signIn.title}</h1>
    ${leadOf(view, signIn)} ${view.notice === undefined ? undefined : notice(account.notices[view.notice])}
    ${fault === undefined ? undefined : alert(signIn.faults[fault], focus === "fault")}
    <form method="post" action="${action}">
      ${hiddenFields(hidden)}
      ${emailField(
        { label: signIn.email, email, autocomplete: passkey === undefined ? "username" : "username webauthn" },
        html`${inFields} ${focusOn("email")}`,
      )}
      ${
        byPassword === undefined
          ? passwordField({ label: signIn.password }, html`${inFields} ${focusOn("password")}`)
          : undefined
      }
      <button class="submit" type="submit">${byPassword === undefined ? signIn.submit : signIn.next}</button>
      ${
        view.forgot === undefined || byPassword !== undefined
          ? undefined
          : html`<button class="link" type="submit" formaction="${view.forgot}" formnovalidate>
              ${signIn.forgot}
            </button>`
      }
      ${passkey === undefined ? undefined : passkeyButton(passkey, { offered: true, isOnly: false }, passkeys)}
    </form>
    ${byPassword === undefined ? undefined : html`<p><a href="${byPassword}">${signIn.byPassword}</a></p>`}
    ${providerLinks(view, signIn)}`;
  const title = afterFault(fault, signIn.title, signIn);
  return { title, main };
}

/** The logo. It has no text, because the name stands beside it. The browser does not send the address of the page. */
export const logo = (uri = ""): Markup | undefined =>
  uri === "" ? undefined : html`<img class="logo" src="${uri}" alt="" referrerpolicy="no-referrer" />`;

const providerLinks = ({ providers = [] }: SignInView, { or, continueWith }: Texts["signIn"]): Markup | undefined =>
  providers.length === 0
    ? undefined
    : html`<p class="or">${or}</p>
        <ul class="providers" role="list">
          ${providers.map(
            ({ name, href }) =>
              html`<li><a class="other" href="${href}">${fill(continueWith, { provider: given(name) })}</a></li>`,
          )}
        </ul>`;

function focusOf({ notice: done, fault, email, byPassword }: SignInView): "notice" | "fault" | "email" | "password" {
  if (done !== undefined) return "notice";
  if (fault !== undefined && fault !== "wrong") return "fault";
  return email === "" || byPassword !== undefined ? "email" : "password";
}

const AUTOFOCUS = html`autofocus`;

function leadOf({ clientName, tenant }: SignInView, signIn: Texts["signIn"]): Markup | undefined {
  if (clientName === "") return undefined;
  const text = tenant === "" ? signIn.lead : signIn.leadInTenant;
  return html`<p>${fill(text, { client: given(clientName), tenant: given(tenant) })}</p>`;
}

/** Asks for the password of the account whose address the provider named. */
export function confirmLinkPage(
  { action, hidden, email, provider, clientName, fault }: ConfirmLinkView,
  { confirmLink, signIn }: Texts,
): Page {
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
      ${passwordField(
        { label: signIn.password },
        html`${isWrong ? INVALID : undefined} ${fault === "blocked" ? undefined : html`autofocus`}`,
      )}
      <button class="submit" type="submit">${confirmLink.submit}</button>
    </form>`;
  const title = afterFault(fault, confirmLink.title, signIn);
  return { title, main, footer: html`<p>${confirmLink.otherwise}</p>` };
}

/** Explains why the sign-in is not possible, and links to other ways. */
export function outsideProviderPage(view: OutsideProviderView, { outsideProvider, signIn }: Texts): Page {
  const { kind, provider, user, clientName, back, otherWay } = view;
  const { title, text } = outsideProvider[kind];
  const names = { provider: given(provider), user: given(user), client: given(clientName) };
  return {
    title: afterFault(kind, title, signIn),
    main: html`<h1>${title}</h1>
      <p>${fill(text, names)}</p>
      <p>${outsideProvider.whatToDo}</p>
      <ul class="providers" role="list">
        <li><a class="other" href="${otherWay}">${outsideProvider.otherWay}</a></li>
        <li><a class="other" href="${back}">${fill(outsideProvider.back, names)}</a></li>
      </ul>`,
  };
}

/** Shows a button for each tenant. The browser sends the pressed one as `scope`. */
export const chooseTenantPage = (
  { action, hidden, clientName, logoUri, user, tenants }: TenantChooserView,
  { chooseTenant }: Texts,
): Page => ({
  title: chooseTenant.title,
  main: html`${logo(logoUri)}
    <h1 id="title">${chooseTenant.title}</h1>
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

/** Names the application, its tenant and the requested access; the two buttons send `decision`. */
export function consentPage(view: ConsentView, { consent, signIn, chooseTenant }: Texts): Page {
  const { action, hidden, client, user, showsName, lasts, fault } = view;
  const main = html`${logo(view.logoUri)}
    <h1>${consent.title}</h1>
    ${consentLead(view, consent)} ${client.name === client.id ? undefined : html`<p><code>${client.id}</code></p>`}
    ${fault === undefined ? undefined : alert(consent.stale, true)}
    <section class="asked" aria-labelledby="asked">
      <h2 id="asked">${consent.asked}</h2>
      <ul>
        <li>${fill(consent.identity, { user: given(user) })}</li>
        ${showsName ? html`<li>${consent.oidc.profile}</li>` : undefined} ${consentAccess(view, consent)}
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
  return { title: afterFault(fault, consent.title, signIn), main, footer };
}

function consentLead({ client, tenant, isMember, source, device }: ConsentView, consent: Texts["consent"]): Markup {
  const names = { client: given(client.name), tenant: named(tenant), code: html`<code>${device ?? ""}</code>` };
  if (source !== undefined)
    return html`<p>${fill(consent.leadUnregistered, names)}</p>
      <p>
        ${
          source.host === ""
            ? consent.selfRegistered
            : fill(consent.describedAt, { host: html`<code>${source.host}</code>` })
        }
        ${fill(consent.goesTo, { target: html`<code>${source.goesTo}</code>` })}
        ${source.isOnDevice ? consent.onDevice : undefined}
      </p>`;
  const text = device === undefined ? consent.lead : consent.leadForDevice;
  return html`<p>${fill(text, names)} ${isMember ? undefined : consent.notMember}</p>`;
}

/** Shows the tenant or organization of the access, with its scopes in words. */
function consentAccess({ place, scopes }: ConsentView, consent: Texts["consent"]): Markup | undefined {
  const places = { place: given(place) };
  if (scopes.length === 0) return place === "" ? undefined : html`<li>${fill(consent.belongs, places)}</li>`;
  return html`<li>
    ${fill(place === "" ? consent.nowhere : consent.inPlace, places)}
    <ul>
      ${scopes.map((scope) => html`<li>${scopeInWords(scope, consent)}</li>`)}
    </ul>
  </li>`;
}

/** Shows the name with the id, because names of tenants are not unique. */
const named = ({ id, name }: ConsentView["tenant"]): Markup =>
  name === id ? given(name) : html`${given(name)} (<code>${id}</code>)`;
