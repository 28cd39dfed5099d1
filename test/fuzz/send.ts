import { exports } from "cloudflare:workers";
import { isJson } from "../../src/http/input/body.ts";
import { ORIGIN } from "../support/platform/call.ts";
import type { Operation } from "./operations.ts";
import { isKnown, type Part, type Plan, type PlannedBody, type Spelling } from "./plan.ts";
import type { Sandbox } from "./sandbox.ts";

/** A plan made into a request, and sent. */
export interface Sent {
  readonly url: URL;
  readonly response: Response;
  /** All that the caller wrote, to tell its words from the platform's. */
  readonly words: string;
  /**
   * The JSON that was sent, as a parser reads it; undefined where it was none, or was sent as bytes of another type.
   */
  readonly json: unknown;
}

const PATIENCE_MS = 10_000;

/** Undefined where no client could send the request. Throws where no answer comes. */
export async function send(operation: Operation, plan: Plan, sandbox: Sandbox): Promise<Sent | undefined> {
  const text = (part: Part): string =>
    isKnown(part) ? sandbox.value(operation, part) : "text" in part ? part.text : part.raw;
  const encode = (part: Part): string =>
    "raw" in part ? part.raw : encodeURIComponent(text(part).toWellFormed()).replaceAll(/^\.{1,2}$/g, "dots");
  const path = operation.template.replaceAll(/\{(\w+)\}/g, (_, name: string) => encode(plan.path[name]!) || "%20");
  const query = plan.query.map(([name, part]) => `${encodeURIComponent(name)}=${encode(part)}`).join("&");
  const url = new URL(`${ORIGIN}${path}${query === "" ? "" : `?${query}`}`);
  // The tokens of all callers would end; test/oauth has tests of it.
  if (url.searchParams.get("leaked") === "true") return undefined;
  const resolve = (value: unknown): unknown => {
    if (isKnown(value)) return sandbox.value(operation, value);
    if (Array.isArray(value)) return value.map(resolve);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, resolve(field)]));
  };
  const isForm = operation.body?.mediaType === "application/x-www-form-urlencoded";
  const body = plan.body === undefined || operation.method === "GET" ? undefined : write(plan.body, isForm, resolve);
  const headers = headersOf(operation, plan, sandbox, text, typeof body === "string" && body.includes("client_id="));
  if (headers === undefined) return undefined;
  // The runtime labels a text by itself, and bytes not.
  const bytes = typeof body === "string" && plan.contentType === undefined ? new TextEncoder().encode(body) : body;
  const request = new Request(url, { method: operation.method, headers, body: bytes, redirect: "manual" });
  const response = await within(exports.default.fetch(request), `${operation.method} ${url.href.slice(0, 200)}`);
  const words = `${decode(url.href)} ${[...headers.values()].join(" ")} ${typeof body === "string" ? body : ""}`;
  const isText = !isForm && typeof body === "string" && isJson(plan.contentType ?? "application/json");
  return { url, response, words, json: isText ? parsed(body) : undefined };
}

function headersOf(
  operation: Operation,
  plan: Plan,
  sandbox: Sandbox,
  text: (part: Part) => string,
  hasClientId: boolean,
): Headers | undefined {
  const headers = new Headers();
  try {
    const authorization = sandbox.authorization(operation, plan.caller, hasClientId);
    if (authorization !== undefined) headers.set("authorization", authorization);
    const cookie = sandbox.cookie(operation);
    if (cookie !== "") headers.set("cookie", cookie);
    if (plan.contentType !== undefined) headers.set("content-type", plan.contentType);
    for (const [name, part] of plan.headers) headers.append(name, text(part));
    return headers;
  } catch {
    return undefined;
  }
}

function write(
  body: PlannedBody,
  isForm: boolean,
  resolve: (value: unknown) => unknown,
): string | Uint8Array<ArrayBuffer> {
  if (body.kind === "bytes") return body.bytes;
  const value = resolve(body.value);
  return spell(isForm ? formOf(value) : (JSON.stringify(value) ?? ""), body.spelling, isForm);
}

const formOf = (value: unknown): string =>
  typeof value === "object" && value !== null
    ? Object.entries(value)
        .map(([key, field]) => [key, typeof field === "string" ? field : JSON.stringify(field)] as const)
        .map(([key, field]) => `${encode(key)}=${encode(field ?? "")}`)
        .join("&")
    : String(value);
const encode = (text: string): string => encodeURIComponent(text.toWellFormed());

function spell(text: string, spelling: Spelling, isForm: boolean): string {
  switch (spelling) {
    case "plain":
      return text;
    case "truncated":
      return text.slice(0, -1 - Math.floor(text.length / 3));
    case "each key twice":
      return isForm
        ? `${text}&${text}`
        : text.startsWith("{") && text.length > 2
          ? `${text.slice(0, -1)},${text.slice(1)}`
          : text;
    case "with __proto__":
      return isForm
        ? `${text}&__proto__=1&constructor=2&toString=3`
        : text.replace(
            /^\{(?=.)/,
            text === "{}" ? '{"__proto__":{"x":1}' : '{"__proto__":{"x":1},"constructor":1,"toString":null,',
          );
    case "with a byte order mark":
      return `\ufeff${text}`;
  }
}

async function within(answer: Promise<Response>, what: string): Promise<Response> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${PATIENCE_MS} ms: ${what}`)), PATIENCE_MS);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
