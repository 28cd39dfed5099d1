import { html, type Markup } from "./markup.ts";

/** What came of a form. The cursor stands on it where it is about no field, so that it is read aloud. */
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

/** What was wrong. Fields that it is about name it by the id `fault`. */
export const alert = (text: string, hasFocus: boolean): Markup =>
  message("alert", "fault", "M10 1a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM9 5h2v6.5H9zm0 8h2v2H9z", text, hasFocus);

/** What was done. */
export const notice = (text: string): Markup =>
  message(
    "notice",
    "notice",
    "M10 1a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM8.5 14 5 10.5l1.4-1.4 2.1 2.1 5.1-5.1L15 7.5z",
    text,
    true,
  );
