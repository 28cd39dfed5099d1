import { exports } from "cloudflare:workers";
import { expectDocumented } from "../documented.ts";
import { noteAnswer, noteRequest } from "../secrets.ts";

/** Where the Worker of this runtime answers. Tests call its public interface; nothing is faked. */
export const ORIGIN = "https://plinth.test";

export interface CallInit {
  readonly method?: string;
  readonly token?: string;
  /** Sent as application/json. */
  readonly json?: unknown;
  /** Sent as a form. */
  readonly form?: Record<string, string> | URLSearchParams;
  readonly body?: BodyInit;
  readonly headers?: Record<string, string>;
}

/**
 * One request; `path` may be an absolute address too. Redirects are not followed. The answer is one that the interface
 * document has.
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

/** Addresses whose answers hand out secrets, below which others lie. */
const HANDS_OUT = /\/(oauth2|clients|subscriptions|files|services)\b/;

/** Notes the secrets that an answer hands out. Its body is left to be read. */
export async function noteResponse(path: string, response: Response): Promise<void> {
  const isJson = response.ok && HANDS_OUT.test(path) && response.headers.get("content-type") === "application/json";
  noteAnswer(response.headers, isJson ? await response.clone().text() : "");
}

/** The JSON of an answer that must have this status; anything else fails with what came. */
export async function expectJson<T = any>(response: Response, status: number): Promise<T> {
  const text = await response.text();
  if (response.status !== status) throw new Error(`expected ${status}, got ${response.status}: ${text}`);
  return JSON.parse(text) as T;
}
