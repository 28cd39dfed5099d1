import { html } from "hono/html";
import { PROBLEM_TYPES } from "../http/errors.ts";

/** The page that `moreInfo` of every error leads to: what each type means and what to do. */
export async function errorReferencePage(): Promise<Response> {
  const entries = Object.entries(PROBLEM_TYPES).map(
    ([type, { status, advice }]) =>
      html`<div id="${type}">
        <dt><code>${type}</code> <span>${status}</span></dt>
        <dd>${withCode(advice)}</dd>
      </div>`,
  );
  const page = await html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>Errors of this platform</title>
        <style>
          :root {
            color-scheme: light dark;
            font:
              1rem/1.5 system-ui,
              sans-serif;
          }
          body {
            max-width: 44rem;
            margin: 2rem auto;
            padding: 0 1rem;
          }
          h1 {
            line-height: 1.2;
          }
          dl > div {
            padding: 0.75rem 1rem;
            border-bottom: 1px solid #8885;
            overflow-wrap: anywhere;
          }
          dl > div:target {
            background: #fc03;
            border-radius: 0.5rem;
          }
          dt {
            font-weight: 600;
          }
          dt span {
            font-weight: 400;
            opacity: 0.75;
          }
          dd {
            margin: 0.25rem 0 0;
          }
        </style>
      </head>
      <body>
        <main>
          <h1>Errors of this platform</h1>
          <p>
            Every error answer is JSON with <code>status</code>, <code>type</code>, <code>message</code>,
            <code>moreInfo</code> and <code>details</code>. The message says what was wrong with this request; below
            stands what to do about each type.
          </p>
          <dl>${entries}</dl>
        </main>
      </body>
    </html>`;
  return new Response(page, {
    headers: {
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-store",
      "content-security-policy":
        "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
      "referrer-policy": "no-referrer",
    },
  });
}

/** Words between backticks as code. */
const withCode = (text: string) =>
  text.split("`").map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part));
