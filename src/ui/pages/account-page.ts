import type { AccountApplication, AccountFault, AccountSession, AccountView } from "../../oauth/pages/views/account.ts";
import type { ScopeView } from "../../oauth/pages/views/consent.ts";
import { afterFault, type Page } from "../parts/layout.ts";
import { alert, notice } from "../parts/message.ts";
import { INVALID, passwordField } from "../parts/password-field.ts";
import { fill, given, hiddenFields, html, type Child, type Markup } from "../parts/markup.ts";
import { browserText, placeText } from "../parts/whereabouts.ts";
import { codeField, recoveryField } from "./second-factor-pages.ts";
import { scopeInWords } from "../parts/scope-words.ts";
import { momentText, type Language } from "../texts/languages.ts";
import type { Texts } from "../texts/texts.ts";

/** The field of each fault. The page shows other faults at the top. */
const FIELD_OF: Partial<Record<AccountFault, FieldId>> = {
  wrong: "password",
  length: "new-password",
  common: "new-password",
  own: "new-password",
  same: "new-password",
  repeated: "repeated-password",
};
type FieldId = "password" | "new-password" | "repeated-password";

type Section = "top" | "password" | "passkeys" | "providers" | "factor";
/** The section that shows a fault. All others are of the password. */
const SECTION_OF: Partial<Record<AccountFault, Section>> = {
  stale: "top",
  lastPasskey: "passkeys",
  notLinked: "providers",
  linkedElsewhere: "providers",
  lastWay: "providers",
  wrongCode: "factor",
  codeBlocked: "factor",
};

/** Each section gets these. */
interface Parts {
  readonly view: AccountView;
  readonly texts: Texts;
  readonly lang: Language;
  /** The message about a fault, if it belongs to this section. */
  messageIn(section: Section): Markup | undefined;
  form(action: string, content: Child): Markup;
}

/** Shows one section for each subject. Each change is a form of its own. */
export function accountPage(view: AccountView, texts: Texts, lang: Language): Page {
  const { fault } = view;
  const { account } = texts;
  const faulty = sectionOf(view);
  const isAtField = faulty === "password" && faultyField(view) !== undefined;
  const parts: Parts = {
    view,
    texts,
    lang,
    messageIn: (section) =>
      fault === undefined || section !== faulty
        ? undefined
        : alert(account.faults[fault], !isAtField && fault !== "wrongCode"),
    form: (action, content) =>
      html`<form method="post" action="${action}">${hiddenFields(view.hidden)} ${content}</form>`,
  };
  const main = html`<h1>${account.title}</h1>
    ${view.notice === undefined ? undefined : notice(account.notices[view.notice])} ${parts.messageIn("top")}
    ${userSection(parts)} ${sessionSection(parts)} ${applicationSection(parts)}
    ${view.hasPassword ? passwordSection(parts) : undefined} ${passkeySection(parts)} ${providerSection(parts)}
    ${factorSection(parts)} ${endSection(parts)}`;
  return { title: afterFault(fault, account.title, texts.signIn), main };
}

function sectionOf({ fault, hasPassword }: AccountView): Section | undefined {
  if (fault === undefined) return undefined;
  return SECTION_OF[fault] ?? (hasPassword ? "password" : "top");
}

const faultyField = ({ fault }: AccountView): FieldId | undefined =>
  fault === undefined ? undefined : FIELD_OF[fault];

const userSection = ({ view, texts: { account }, lang, form }: Parts): Markup =>
  html`<section aria-labelledby="user">
    <h2 id="user">${account.user}</h2>
    <p>
      ${given(view.user.name)}${view.user.name === view.user.email ? undefined : html`<br /><bdi>${view.user.email}</bdi>`}
    </p>
    <p>${signedIn(view, account, lang)}</p>
    ${verification(view, account, form)}
    ${form(view.actions.signOut, html`<button type="submit">${account.signOut}</button>`)}
  </section>`;

function sessionSection({ view, texts: { account }, lang, form }: Parts): Markup {
  const end = (sid: string, at: number): Markup =>
    form(
      view.actions.endSession,
      html`<input type="hidden" name="session" value="${sid}" />
        <button type="submit" aria-describedby="session-${at}">${account.endSession}</button>`,
    );
  return html`<section aria-labelledby="sessions">
    <h2 id="sessions">${account.sessions}</h2>
    <p>${account.sessionsLead}</p>
    <ul class="cards" role="list">
      ${view.sessions.map(
        (one, at) =>
          html`<li>
            ${session(one, `session-${at}`, account, lang)} ${one.isCurrent ? undefined : end(one.sid, at)}
          </li>`,
      )}
    </ul>
    ${view.hasMoreSessions ? html`<p>${account.more}</p>` : undefined}
  </section>`;
}

function applicationSection({ view, texts, lang, form }: Parts): Markup {
  const { applications, actions } = view;
  const { account } = texts;
  const card = (one: AccountApplication, at: number): Markup =>
    html`<li>
      ${application(one, `application-${at}`, texts, lang)}
      ${form(
        actions.removeAccess,
        html`<input type="hidden" name="client_id" value="${one.clientId}" />
          <button type="submit" aria-describedby="application-${at}">${account.removeAccess}</button>`,
      )}
    </li>`;
  return html`<section aria-labelledby="applications">
    <h2 id="applications">${account.applications}</h2>
    <p>${applications.length === 0 ? account.noApplications : account.applicationsLead}</p>
    ${
      applications.length === 0
        ? undefined
        : html`<ul class="cards" role="list">
            ${applications.map(card)}
          </ul>`
    }
    ${view.hasMore ? html`<p>${account.more}</p>` : undefined}
  </section>`;
}

function passwordSection({ view, texts: { account }, form, messageIn }: Parts): Markup {
  const faulty = faultyField(view);
  return html`<section aria-labelledby="change-password">
    <h2 id="change-password">${account.changePassword}</h2>
    <p>${account.changePasswordLead}</p>
    ${messageIn("password")}
    ${form(
      view.actions.password,
      html`${whose(view.user.email)} ${fieldOf("password", "password", account.oldPassword, "current-password", faulty)}
        ${fieldOf("new-password", "new_password", account.newPassword, "new-password", faulty)}
        ${fieldOf("repeated-password", "repeated_password", account.repeated, "new-password", faulty)}
        <button class="submit" type="submit">${account.changePassword}</button>`,
    )}
  </section>`;
}

function factorSection({ view, texts: { secondFactor }, form, messageIn }: Parts): Markup {
  const { actions, fault } = view;
  const isWrong = fault === "wrongCode";
  return html`<section aria-labelledby="second-factor">
    <h2 id="second-factor">${secondFactor.section}</h2>
    ${messageIn("factor")}
    ${
      view.secondFactor === undefined
        ? html`<p>${secondFactor.off}</p>
            ${form(actions.setUpFactor, html`<button type="submit">${secondFactor.setUpTitle}</button>`)}`
        : html`<p>${fill(secondFactor.on, { left: html`<strong>${view.secondFactor.recoveryCodes}</strong>` })}</p>
            ${form(
              actions.renewCodes,
              html`${codeField(secondFactor.change, isWrong, isWrong)} ${recoveryField(secondFactor)}
                <p>
                  <button type="submit">${secondFactor.renew}</button>
                  <button class="danger" type="submit" formaction="${actions.removeFactor}">
                    ${secondFactor.remove}
                  </button>
                </p>`,
            )}`
    }
  </section>`;
}

const endSection = ({ view, texts: { account }, form }: Parts): Markup =>
  html`<section aria-labelledby="end-all">
    <h2 id="end-all">${account.endAll}</h2>
    <p>${account.endAllLead}</p>
    ${form(view.actions.revokeAll, html`<button class="danger" type="submit">${account.endAll}</button>`)}
  </section>`;

/** Shows the passkeys, or nothing if neither the platform nor the person has any. */
function passkeySection({ view, texts: all, lang, form, messageIn }: Parts): Markup | undefined {
  const { passkeys, actions } = view;
  const { passkeys: texts, account } = all;
  if (passkeys === undefined) return messageIn("passkeys");
  const card = ({ id, name, createdAtMs, lastUsedMs, isBackedUp }: (typeof passkeys.list)[number], at: number) =>
    html`<li>
      <h3 id="passkey-${at}"><bdi>${name}</bdi></h3>
      <p>
        ${isBackedUp ? html`${texts.backedUp}<br />` : undefined}${fill(account.since, {
          time: moment(createdAtMs, lang),
        })}${
          lastUsedMs === undefined ? undefined : html`, ${fill(account.lastUsed, { time: moment(lastUsedMs, lang) })}`
        }
      </p>
      ${form(
        actions.renamePasskey,
        html`<input type="hidden" name="passkey" value="${id}" />
          <details>
            <summary>${texts.rename}</summary>
            <label for="passkey-name-${at}">${texts.name}</label>
            <input id="passkey-name-${at}" name="name" type="text" autocomplete="off" maxlength="60" value="${name}" />
            <p><button type="submit">${texts.rename}</button></p>
          </details>
          <p>
            <button class="danger" type="submit" formaction="${actions.removePasskey}" aria-describedby="passkey-${at}">
              ${texts.remove}
            </button>
          </p>`,
      )}
    </li>`;
  return html`<section aria-labelledby="passkeys">
    <h2 id="passkeys">${texts.section}</h2>
    <p>${texts.lead}</p>
    ${messageIn("passkeys")}
    ${
      passkeys.list.length === 0
        ? undefined
        : html`<ul class="cards" role="list">
            ${passkeys.list.map(card)}
          </ul>`
    }
    ${passkeys.mayAdd ? form(actions.newPasskey, html`<button type="submit">${texts.add}</button>`) : undefined}
  </section>`;
}

/** Shows the identity providers, or nothing if the platform offers none. */
function providerSection({ view, texts: { account }, form, messageIn }: Parts): Markup | undefined {
  const { linked, linkable, actions } = view;
  if (linked.length + linkable.length === 0) return messageIn("providers");
  const buttons = (list: AccountView["linked"], action: string, text: string) =>
    list.map(({ id, name }) =>
      form(
        action,
        html`<input type="hidden" name="provider" value="${id}" />
          <button type="submit">${fill(text, { provider: given(name) })}</button>`,
      ),
    );
  return html`<section aria-labelledby="providers">
    <h2 id="providers">${account.providers}</h2>
    <p>${linked.length === 0 ? account.noProviders : account.providersLead}</p>
    ${messageIn("providers")} ${buttons(linked, actions.unlink, account.unlink)}
    ${buttons(linkable, actions.link, account.link)}
  </section>`;
}

function verification(
  { verification: state, actions }: AccountView,
  account: Texts["account"],
  form: Parts["form"],
): Markup | undefined {
  if (state === undefined) return undefined;
  if (state === "verified") return html`<p>${account.verified}</p>`;
  return html`<p>${account.notVerified}</p>
    ${form(actions.verifyAddress, html`<button type="submit">${account.verify}</button>`)}`;
}

function signedIn(
  { provider, signedInAtMs }: AccountView,
  account: Texts["account"],
  lang: Language,
): readonly Child[] {
  const time = moment(signedInAtMs, lang);
  return provider === undefined
    ? fill(account.since, { time })
    : fill(account.sinceByProvider, { time, provider: given(provider) });
}

function session(one: AccountSession, id: string, account: Texts["account"], lang: Language): Markup {
  const { sinceMs, lastUsedMs, isCurrent } = one;
  const place = placeText(one, lang);
  return html`<h3 id="${id}">${browserText(one, account)}</h3>
    <p>
      ${isCurrent ? html`${account.thisBrowser}<br />` : undefined}
      ${place === "" ? undefined : html`<bdi>${place}</bdi><br />`}${fill(account.since, {
        time: moment(sinceMs, lang),
      })}${lastUsedMs <= sinceMs ? undefined : html`, ${fill(account.lastUsed, { time: moment(lastUsedMs, lang) })}`}
    </p>`;
}

function application(
  { clientId, name, access, sinceMs, lastUsedMs }: AccountApplication,
  id: string,
  { account, consent }: Texts,
  lang: Language,
): Markup {
  return html`<h3 id="${id}"><bdi>${name}</bdi></h3>
    ${name === clientId ? undefined : html`<p><code>${clientId}</code></p>`}
    ${access.map(
      ({ place, scopes }) =>
        html`<p>
          ${fill(place === "" ? account.nowhere : account.inPlace, { place: given(place), scopes: list(scopes, consent) })}
        </p>`,
    )}
    <p>
      ${fill(account.given, { time: moment(sinceMs, lang) })}${
        lastUsedMs === undefined ? undefined : html`, ${fill(account.lastUsed, { time: moment(lastUsedMs, lang) })}`
      }
    </p>`;
}

const list = (scopes: readonly ScopeView[], consent: Texts["consent"]): Markup =>
  scopes.length === 0
    ? html`–`
    : html`${scopes.map((scope, at) => html`${at === 0 ? undefined : "; "}${scopeInWords(scope, consent)}`)}`;

/** Tells a password manager which account the password belongs to. The browser does not send the field. */
const whose = (email: string): Markup =>
  html`<input type="text" autocomplete="username" value="${email}" readonly hidden />`;

const fieldOf = (
  id: FieldId,
  name: string,
  label: string,
  autocomplete: "current-password" | "new-password",
  faulty: FieldId | undefined,
): Markup => passwordField({ id, name, label, autocomplete }, faulty === id ? html`${INVALID} autofocus` : undefined);

const moment = (ms: number, lang: Language): Markup =>
  html`<time datetime="${new Date(ms).toISOString()}">${momentText(ms, lang)}</time>`;
