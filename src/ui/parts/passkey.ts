import type { NewPasskeyView, PasskeyRequestView } from "../../oauth/pages/views/factors.ts";
import type { Texts } from "../texts/texts.ts";
import { html, type Markup } from "./markup.ts";

/** Shown by the script (passkey-script.ts), with the name that it knows the fault by. */
const fault = (name: "failed" | "known", text: string): Markup =>
  html`<div class="alert" role="alert" data-passkey-fault="${name}" hidden><p>${text}</p></div>`;

/** The fields that the script fills in. */
const fields = (challenge: string): Markup =>
  html`<input type="hidden" name="challenge" value="${challenge}" />
    <input type="hidden" name="credential" value="" />`;

/** The page is about nothing else: hidden by a script that can go on. */
const needsScript = ({ needsScript: text }: Texts["passkeys"]): Markup =>
  html`<p data-passkey-fault="unsupported">${text}</p>`;

interface Asks {
  /** The browser may offer passkeys in the address field too (conditional UI). */
  readonly offered: boolean;
  /** There is no other way on the page. */
  readonly isOnly: boolean;
}

/** The button that asks for a passkey, within the page's form. Hidden until the script knows that the browser can. */
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
