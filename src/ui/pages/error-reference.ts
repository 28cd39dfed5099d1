import { DETAIL_TYPES } from "../../http/errors/detail-types.ts";
import { PROBLEM_TYPES } from "../../http/errors/errors.ts";
import { documentResponse } from "../parts/layout.ts";
import { html, type Child, type Markup } from "../parts/markup.ts";
import { PROTOCOL_ERRORS } from "./protocol-errors.ts";

/**
 * The page to which `moreInfo` and `error_uri` of every error lead. It explains each type of error and gives advice, in
 * English, for developers. `error_uri` names its error and its request, and then the page begins with them.
 */
export function errorReferencePage(publicBase: string, pathPrefix: string, asked: URLSearchParams): Response {
  const title = "Errors of this platform";
  const requestId = asked.get("request");
  const error = asked.get("error");
  const main = html`<h1>${title}</h1>
    ${isProtocolError(error) ? html`<p><code>${error}</code>: ${withCode(PROTOCOL_ERRORS[error])}</p>` : ""}
    ${isRequestId(requestId) ? html`<p>Your request was <code>${requestId}</code>: tell it to the operator.</p>` : ""}
    <p>
      An error is JSON with <code>status</code>, <code>type</code>, <code>message</code>, <code>moreInfo</code> and
      <code>details</code>, except in the OAuth protocol below. The message names the mistake in your request. This page
      says what to do about each type, then about each type of <code>details</code>.
    </p>
    <dl>${Object.entries(PROBLEM_TYPES).map(([type, { status, advice }]) => entry(type, type, advice, status))}</dl>
    <h2>Details</h2>
    <dl>${Object.entries(DETAIL_TYPES).map(([type, advice]) => entry(`details-${type}`, type, advice))}</dl>
    <h2>The OAuth protocol</h2>
    <p>
      <code>/token</code>, <code>/revoke</code>, <code>/introspect</code> and <code>/tokeninfo</code> answer with
      <code>error</code>, <code>error_description</code> and <code>error_uri</code>, which ends with the request id:
      with it the operator finds the exact reason in the audit log. <code>/authorize</code> sends <code>error</code> and
      <code>error_description</code> back to the client.
    </p>
    <dl>${Object.entries(PROTOCOL_ERRORS).map(([name, advice]) => entry(name, name, advice))}</dl>`;
  return documentResponse({ status: 200, lang: "en", layout: "wide", title, publicBase, main }, pathPrefix);
}

const entry = (id: string, name: string, advice: string, status?: number): Markup =>
  html`<div id="${id}">
    <dt><code>${name}</code>${status === undefined ? undefined : html` <span>${status}</span>`}</dt>
    <dd>${withCode(advice)}</dd>
  </div>`;

const isProtocolError = (text: string | null): text is keyof typeof PROTOCOL_ERRORS =>
  Object.hasOwn(PROTOCOL_ERRORS, text ?? "");

/** True for an id as http/pipeline.ts makes it. The page shows no other text from the address. */
const isRequestId = (text: string | null): text is string => /^[0-9a-f]{32}$/.test(text ?? "");

/** Shows text between backticks as code. */
const withCode = (text: string): readonly Child[] =>
  text.split("`").map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part));
