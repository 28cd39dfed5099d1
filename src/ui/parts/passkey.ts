import type { NewPasskeyView, PasskeyRequestView } from "../../oauth/pages/views/factors.ts";
import type { Texts } from "../texts/texts.ts";
import { html, type Markup } from "./markup.ts";

/** A message that the script (page-script.ts) shows. `name` is the script's name for the fault. */
const fault = (name: "failed" | "known", text: string): Markup =>
  html`<div class="alert" role="alert" data-passkey-fault="${name}" hidden><p>${text}</p></div>`;

/** The fields that the script fills in. */
const fields = (challenge: string): Markup =>
  html`<input type="hidden" name="challenge" value="${challenge}" />
    <input type="hidden" name="credential" value="" />`;

/** A message for a page that works only with passkeys. The script hides it if the browser supports them. */
const needsScript = ({ needsScript: text }: Texts["passkeys"]): Markup =>
  html`<p data-passkey-fault="unsupported">${text}</p>`;

interface Asks {
  /** True if the browser may offer passkeys in the address field too (conditional UI). */
  readonly offered: boolean;
  /** True if the page has no other way to sign in. */
  readonly isOnly: boolean;
}

/** The button that asks for a passkey, within the page's form. It is hidden until the script finds browser support. */
export const passkeyButton = (
  { challenge, rpId, allow }: PasskeyRequestView,
  { offered, isOnly }: Asks,
  texts: Texts["passkeys"],
): Markup =>
  html`${fields(challenge)} ${fault("failed", texts.failed)} ${isOnly ? needsScript(texts) : undefined}
    <button
      class="${isOnly ? "submit" : "other passkey"}"
      type="button"
      data-passkey="${JSON.stringify({ challenge, rpId, allow, offered })}"
      hidden
    >
      ${texts.use}
    </button>`;

/** The button that makes a passkey and sends the form. */
export function createButton(view: NewPasskeyView, texts: Texts["passkeys"]): Markup {
  const { challenge, rpId, user, userHandle, known, algs } = view;
  const person = { id: userHandle, name: user.email, displayName: user.name };
  return html`${fields(challenge)} ${fault("failed", texts.failed)} ${fault("known", texts.known)} ${needsScript(texts)}
    <button
      class="submit"
      type="submit"
      data-passkey="${JSON.stringify({ challenge, rpId, user: person, known, algs })}"
      hidden
    >
      ${texts.create}
    </button>`;
}
