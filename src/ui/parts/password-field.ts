import { html, type Markup } from "./markup.ts";

/** Attributes of a field whose fault `alert` says. */
export const INVALID = html`aria-invalid="true" aria-describedby="fault"`;

interface PasswordField {
  readonly label: string;
  /** Id and name are `password` unless a form has more than one. */
  readonly id?: string;
  readonly name?: string;
  readonly autocomplete?: "current-password" | "new-password";
}

/** A password; `state` are attributes that mark it as wrong or give it the focus. */
export const passwordField = (
  { label, id = "password", name = "password", autocomplete = "current-password" }: PasswordField,
  state?: Markup,
): Markup =>
  html`<label for="${id}">${label}</label>
    <input id="${id}" name="${name}" type="password" autocomplete="${autocomplete}" required ${state} />`;
