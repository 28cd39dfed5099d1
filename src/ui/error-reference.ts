import { html } from "hono/html";
import { PROBLEM_TYPES } from "../http/errors.ts";

/** The page that `moreInfo` of every error leads to: what each type means and what to do. */
export async function errorReferencePage(): Promise<Response> {
  const rows = Object.entries(PROBLEM_TYPES).map(
    ([type, { status, advice }]) =>
      html`<tr id="${type}">
        <td>${status}</td>
        <td><code>${type}</code></td>
        <td>${advice}</td>
      </tr>`,
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
            max-width: 60rem;
            margin: 2rem auto;
            padding: 0 1rem;
          }
          table {
            border-collapse: collapse;
            width: 100%;
          }
          th,
          td {
            text-align: left;
            vertical-align: top;
            padding: 0.5rem 0.75rem;
            border-bottom: 1px solid #8886;
            overflow-wrap: anywhere;
          }
          tr:target {
            background: #fc03;
          }
        </style>
      </head>
      <body>
        <h1>Errors of this platform</h1>
        <p>
          Every error answer is JSON: <code>status</code>, <code>type</code>, <code>message</code>,
          <code>moreInfo</code>, <code>details</code>.
        </p>
        <table>
          <thead>
            <tr>
              <th>Status</th>
              <th>Type</th>
              <th>What to do</th>
            </tr>
          </thead>
          <tbody>
            ${rows}
          </tbody>
        </table>
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
