import { createHash } from "node:crypto";
import { THEMES } from "../../platform/model/brand.ts";

/**
 * The stylesheet of all pages. Colours are variables, so that a theme is one block. Contrast is at least 4.5:1 for
 * text, and 3:1 for borders of fields and the focus ring (WCAG 2.2 AA; a test computes them).
 */
export const STYLESHEET = `
:root {
  color-scheme: light dark;
  --page: ${THEMES.light.page};
  --surface: ${THEMES.light.surface};
  --text: #18212b;
  --muted: #525e6b;
  --line: #dbe0e6;
  --field-line: #7a8693;
  --accent: #0e5a75;
  --accent-strong: #0a4459;
  --on-accent: ${THEMES.light.onAccent};
  --alert: #9f1d1d;
  --alert-surface: #fdf2f1;
  font: 100%/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: ${THEMES.dark.page};
    --surface: ${THEMES.dark.surface};
    --text: #e7ecf1;
    --muted: #a5b1bd;
    --line: #2d3843;
    --field-line: #73808d;
    --accent: #83cbe4;
    --accent-strong: #a9dcee;
    --on-accent: ${THEMES.dark.onAccent};
    --alert: #ffb8b0;
    --alert-surface: #341b1c;
  }
}
@media (prefers-contrast: more) {
  :root {
    --muted: var(--text);
    --line: var(--text);
    --field-line: var(--text);
  }
}

*, ::before, ::after { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body {
  display: flex;
  min-height: 100vh;
  min-height: 100dvh;
  margin: 0;
  background: var(--page);
  color: var(--text);
  overflow-wrap: anywhere;
}
.frame { width: 100%; max-width: 29rem; margin: auto; padding: 1.5rem 1rem; }
main {
  padding: 2.25rem;
  border: 1px solid var(--line);
  border-radius: 0.875rem;
  background: var(--surface);
  box-shadow: 0 1px 2px #1018280a, 0 0.75rem 2rem #1018280f;
}
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }

header, footer { color: var(--muted); font-size: 0.875rem; }
header { display: flex; align-items: center; gap: 0.625rem; padding: 0 0 1rem; }
header svg { flex: none; width: 1.375rem; height: 1.375rem; color: var(--accent); fill: currentColor; }
header img { flex: none; max-width: 8rem; height: 2.25rem; object-fit: contain; }
header p, footer p { margin: 0; }
header strong { color: var(--text); }
footer p + .legal { margin-top: 0.5rem; }
.legal a { display: inline-block; padding: 0.25rem 0; margin-inline-end: 1rem; color: inherit; }
footer { padding: 1rem 0 0; }

h1 { margin: 0; font-size: 1.5rem; font-weight: 600; line-height: 1.25; letter-spacing: -0.01em; text-wrap: balance; }
h2 { margin: 0 0 0.375rem; font-size: 0.875rem; font-weight: 600; }
main > p { margin: 0.625rem 0 0; color: var(--muted); }
main strong { color: var(--text); font-weight: 600; }
code, .detail p { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: 0.875em; }

form { margin: 1.75rem 0 0; }
label { display: block; margin: 1.25rem 0 0.375rem; font-size: 0.9375rem; font-weight: 500; }
input, button { width: 100%; min-height: 2.875rem; border-radius: 0.5rem; font: inherit; }
input {
  padding: 0.5rem 0.875rem;
  border: 1px solid var(--field-line);
  background: var(--surface);
  color: inherit;
}
input:focus-visible { border-color: var(--accent); outline-offset: 0; outline-width: 2px; }
input[aria-invalid] { border-color: var(--alert); }
button { border: 1px solid transparent; cursor: pointer; }
.submit { margin-top: 1.75rem; padding: 0.5rem 1rem; background: var(--accent); color: var(--on-accent); font-weight: 600; }
a.submit { display: block; min-height: 2.875rem; padding: 0.6875rem 1rem; border-radius: 0.5rem; text-align: center; text-decoration: none; }
main a.submit { color: var(--on-accent); }
.link { margin-top: 0.75rem; background: none; color: var(--accent); text-decoration: underline; }
.submit:hover { background: var(--accent-strong); }

.alert, .notice {
  display: flex;
  gap: 0.75rem;
  margin-top: 1.5rem;
  padding: 0.875rem 1rem;
  border: 1px solid var(--alert);
  border-radius: 0.5rem;
  background: var(--alert-surface);
  color: var(--alert);
  font-size: 0.9375rem;
}
.notice { border-color: var(--accent); background: var(--page); color: var(--text); }
.alert:focus-visible, .notice:focus-visible { outline-width: 2px; outline-offset: -2px; }
.alert:focus-visible { outline-color: var(--alert); }
[data-sending] :is(button, summary) { cursor: progress; }
[data-sending] button { opacity: 0.6; }
[hidden] { display: none; }
.alert[hidden] { display: none; }
.alert + form { margin-top: 0.25rem; }
.alert svg, .notice svg { flex: none; width: 1.25rem; height: 1.25rem; margin-top: 0.125rem; fill: currentColor; }
.notice svg { color: var(--accent); }
.alert p, .notice p { margin: 0; }

.choices { display: grid; gap: 0.625rem; margin: 0; padding: 0; list-style: none; }
.choices button {
  display: flex;
  align-items: center;
  gap: 1rem;
  padding: 0.75rem 1rem;
  border-color: var(--field-line);
  background: var(--surface);
  color: inherit;
  text-align: start;
}
.choices button:hover { border-color: var(--accent); background: var(--page); }
.choices span { flex: 1; min-width: 0; }
.choices small { display: block; color: var(--muted); font-size: 0.875rem; }
.choices button::after {
  flex: none;
  width: 0.5rem;
  height: 0.5rem;
  border: solid var(--muted);
  border-width: 2px 2px 0 0;
  content: "";
  transform: rotate(45deg);
}

.asked { margin-top: 1.5rem; }
.asked ul { margin: 0.5rem 0 0; padding-inline-start: 1.25rem; }
.asked li + li { margin-top: 0.375rem; }
.asked ul ul { margin-top: 0.375rem; }
.asked + p { margin-top: 1rem; font-size: 0.9375rem; }
.decision { display: grid; gap: 0.75rem; margin-top: 1.5rem; }
.decision .submit { margin-top: 0; }
.logo { display: block; max-width: 10rem; height: 3rem; margin-bottom: 1rem; object-fit: contain; object-position: left; }
.or { margin-top: 1.25rem; color: var(--muted); text-align: center; }
.providers { display: grid; gap: 0.625rem; margin: 0.75rem 0 0; padding: 0; list-style: none; }
.providers .other { display: block; border: 1px solid var(--field-line); border-radius: 0.5rem; text-align: center; text-decoration: none; }
.other { padding: 0.5rem 1rem; border-color: var(--field-line); background: var(--surface); color: inherit; font-weight: 500; }
.passkey { margin-top: 0.75rem; }
.other:hover { border-color: var(--accent); background: var(--page); }

.qr { display: block; width: 13rem; max-width: 100%; margin: 1rem auto 0; border-radius: 0.5rem; background: #ffffff; fill: #000000; }
.key { color: var(--text); white-space: normal; }
.codes { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(11rem, 100%), 1fr)); gap: 0.375rem 1rem; margin: 1.25rem 0 0; padding: 1rem; border: 1px solid var(--line); border-radius: 0.5rem; list-style: none; }
details { margin-top: 0.5rem; }
summary { padding-block: 0.625rem; color: var(--accent); cursor: pointer; }
summary + label { margin-top: 0.625rem; }
p > a.submit { margin-top: 1.25rem; }

.detail { margin-top: 1.75rem; padding-top: 1.25rem; border-top: 1px solid var(--line); color: var(--muted); }
.detail p { margin: 0; }

.popup { background: var(--surface); }
.popup .frame { max-width: 32rem; margin-top: 0; }
.popup main { padding: 0; border: 0; box-shadow: none; }
.popup form, .popup .submit { margin-top: 1.25rem; }

.account .frame { max-width: 40rem; margin-top: 0; }
.account section { margin-top: 2rem; padding-top: 1.5rem; border-top: 1px solid var(--line); }
.account h2 { margin: 0; font-size: 1.125rem; }
.account section p { margin: 0.375rem 0 0; color: var(--muted); }
.account input + p, .account details + p { margin-top: 0.75rem; }
.account form { margin-top: 1rem; }
.account .alert p { margin: 0; color: inherit; }
.account button:not(.submit) { border-color: var(--field-line); background: var(--surface); color: var(--text); font-weight: 500; }
.account button:not(.submit):hover { border-color: var(--accent); background: var(--page); }
.account button + button { margin-block-start: 0.75rem; }
.account button.danger { border-color: var(--alert); color: var(--alert); }
.account button.danger:hover { border-color: var(--alert); background: var(--alert-surface); }
.cards { display: grid; gap: 0.75rem; margin: 1rem 0 0; padding: 0; list-style: none; }
.cards li { padding: 1rem; border: 1px solid var(--line); border-radius: 0.5rem; }
.cards h3 { margin: 0; font-size: 1rem; font-weight: 600; }
.cards p { font-size: 0.9375rem; }

.wide .frame { max-width: 48rem; margin-top: 0; }
.wide h2 { margin-top: 2.25rem; font-size: 1.125rem; }
main a, .wide a { color: var(--accent); }
.wide nav { margin-top: 1.5rem; padding: 0.5rem 0; border-block: 1px solid var(--line); }
.wide nav div { display: flex; flex-wrap: wrap; align-items: center; column-gap: 1rem; }
.wide nav a { display: inline-flex; align-items: center; min-width: 2.75rem; min-height: 2.75rem; }
.doors { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(11rem, 100%), 1fr)); gap: 0.75rem; margin: 1.5rem 0 0; padding: 0; list-style: none; }
.doors a {
  display: block;
  height: 100%;
  padding: 1rem;
  border: 1px solid var(--line);
  border-radius: 0.5rem;
  text-decoration: none;
}
.doors a:hover { border-color: var(--accent); background: var(--page); }
.doors b { display: block; font-weight: 600; }
.doors span { display: block; margin-top: 0.25rem; color: var(--muted); font-size: 0.9375rem; }
.doors + nav { border-bottom: 0; padding-bottom: 0; }
dl { margin: 1.5rem 0 0; }
dl > div { padding: 0.875rem 0; border-top: 1px solid var(--line); }
dl > div:target { margin: 0 -1rem; padding-inline: 1rem; border-radius: 0.5rem; background: var(--page); }
dt { font-weight: 600; }
dt span { margin-inline-start: 0.375rem; color: var(--muted); font-weight: 400; }
dd { margin: 0.25rem 0 0; }

@media (max-width: 30rem) {
  body { background: var(--surface); }
  .frame { margin-top: 0; }
  main { padding: 0.5rem 0 0; border: 0; box-shadow: none; }
  footer { padding-top: 2rem; }
}
@media (min-width: 30.0625rem) {
  .account time { white-space: nowrap; }
  .account button:not(.submit) { width: auto; padding-inline: 1.25rem; }
  .account button + button { margin-block-start: 0; margin-inline-start: 0.5rem; }
}
@media (prefers-reduced-motion: no-preference) {
  input, button { transition: background-color 0.15s, border-color 0.15s; }
}
@media (forced-colors: active) {
  .alert, .submit { border-width: 2px; }
}
`;

const HASH = createHash("sha256").update(STYLESHEET).digest("hex").slice(0, 16);

/** The name contains a digest of the content, so a copy may be cached for ever. */
export const STYLESHEET_NAME = `pages-${HASH}.css`;

/** The directory is below `/docs`, which no registered service can use. A service could have the path `/assets`. */
export const STYLESHEET_DIRECTORY = "/docs/assets";

/** Returns the address of a file that pages load. */
export const fileHref = (pathPrefix: string, name: string): string => `${pathPrefix}${STYLESHEET_DIRECTORY}/${name}`;

export const stylesheetHref = (pathPrefix: string): string => fileHref(pathPrefix, STYLESHEET_NAME);
