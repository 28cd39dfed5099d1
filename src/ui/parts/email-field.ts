import { html, type Markup } from "./markup.ts";

interface EmailField {
  readonly label: string;
  readonly email: string;
  /** With `webauthn`, browsers offer passkeys at the field. */
  readonly autocomplete?: "username" | "username webauthn";
}

/** The field for the address of an account. `state` has attributes that mark it as wrong or give it the focus. */
export const emailField = ({ label, email, autocomplete = "username" }: EmailField, state?: Markup): Markup =>
  html`<label for="email">${label}</label>
    <input
      id="email"
      name="email"
      type="text"
      inputmode="email"
      autocomplete="${autocomplete}"
      autocapitalize="none"
      spellcheck="false"
      required
      value="${email}"
      ${state}
    />`;
