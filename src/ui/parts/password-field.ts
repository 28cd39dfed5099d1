import { html, type Markup } from "./markup.ts";

/** The attributes of a field whose fault `alert` shows. */
export const INVALID = html`aria-invalid="true" aria-describedby="fault"`;

interface PasswordField {
  readonly label: string;
  /** The id and name are `password`, unless the form has several such fields. */
  readonly id?: string;
  readonly name?: string;
  readonly autocomplete?: "current-password" | "new-password";
}

/** The field for a password. `state` has attributes that mark it as wrong or give it the focus. */
export const passwordField = (
  { label, id = "password", name = "password", autocomplete = "current-password" }: PasswordField,
  state?: Markup,
): Markup =>
  html`<label for="${id}">${label}</label>
    <input id="${id}" name="${name}" type="password" autocomplete="${autocomplete}" required ${state} />`;
