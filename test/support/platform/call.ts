import { exports } from "cloudflare:workers";
import { expectDocumented } from "../documented.ts";
import { noteAnswer, noteRequest } from "../secrets.ts";

/** The address of the Worker in this runtime. Tests call its public interface, without fakes. */
export const ORIGIN = "https://plinth.test";

export interface CallInit {
  readonly method?: string;
  readonly token?: string;
  /** The body, sent as application/json. */
  readonly json?: unknown;
  /** The body, sent as a form. */
  readonly form?: Record<string, string> | URLSearchParams;
  readonly body?: BodyInit;
  readonly headers?: Record<string, string>;
}

/**
 * Sends one request. `path` may be an absolute address too. It follows no redirects, and checks the answer against the
 * interface document.
 */
export async function call(path: string, init: CallInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  let body: BodyInit | undefined = init.body;
  if (init.token !== undefined) headers.set("authorization", `Bearer ${init.token}`);
  if (init.json !== undefined) {
    headers.set("content-type", "application/json");
    body = JSON.stringify(init.json);
  }
  if (init.form !== undefined) body = new URLSearchParams(init.form);
  const method = init.method ?? (body === undefined ? "GET" : "POST");
  const url = new URL(path, ORIGIN);
  noteRequest(url.href, headers, body);
  const response = await exports.default.fetch(url, { method, headers, body, redirect: "manual" });
  await noteResponse(url.pathname, response);
  await expectDocumented(method, url.pathname, response, init.json);
  return response;
}

/** Addresses whose answers contain secrets, and the addresses below them. */
const HANDS_OUT = /\/(oauth2|clients|subscriptions|files|services)\b/;

/** Records the secrets of an answer. The test can still read its body. */
export async function noteResponse(path: string, response: Response): Promise<void> {
  const isJson = response.ok && HANDS_OUT.test(path) && response.headers.get("content-type") === "application/json";
  noteAnswer(response.headers, isJson ? await response.clone().text() : "");
}

/** Returns the JSON of an answer that must have this status. Otherwise it fails and shows the answer. */
export async function expectJson<T = any>(response: Response, status: number): Promise<T> {
  const text = await response.text();
  if (response.status !== status) throw new Error(`expected ${status}, got ${response.status}: ${text}`);
  return JSON.parse(text) as T;
}
