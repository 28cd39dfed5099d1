import { html, type Markup } from "./markup.ts";

/** Shows the result of a form. It gets the focus if it concerns no field, so that a screen reader reads it. */
const message = (kind: "alert" | "notice", id: string, path: string, text: string, hasFocus: boolean): Markup =>
  html`<div
    class="${kind}"
    id="${id}"
    role="${kind === "alert" ? "alert" : "status"}"
    tabindex="-1"
    ${hasFocus ? html`autofocus` : undefined}
  >
    <svg viewBox="0 0 20 20" aria-hidden="true"><path d="${path}" /></svg>
    <p>${text}</p>
  </div>`;

/** Shows an error. Its fields refer to it by the id `fault`. */
export const alert = (text: string, hasFocus: boolean): Markup =>
  message("alert", "fault", "M10 1a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM9 5h2v6.5H9zm0 8h2v2H9z", text, hasFocus);

/** Shows a success. */
export const notice = (text: string): Markup =>
  message(
    "notice",
    "notice",
    "M10 1a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM8.5 14 5 10.5l1.4-1.4 2.1 2.1 5.1-5.1L15 7.5z",
    text,
    true,
  );
