import { call, ORIGIN } from "./platform/call.ts";
import { unescapeHtml } from "./unescape-html.ts";

/**
 * The parts of a browser that the pages need: it keeps cookies by their rules, reads forms from the HTML and sends
 * them, and sends Fetch Metadata. A test follows each redirect itself, so that it can check each.
 */
export interface Visit {
  readonly status: number;
  readonly headers: Headers;
  readonly html: string;
  /** The address to which the answer redirects; undefined if it shows a page. */
  readonly location: string | undefined;
  readonly forms: readonly Form[];
}

export interface Form {
  readonly action: string;
  readonly method: string;
  /** The fields with their values. */
  readonly fields: Readonly<Record<string, string>>;
  readonly buttons: readonly { readonly name: string; readonly value: string; readonly text: string }[];
}

/** The origin of the page that makes the request. */
export type From = "same-origin" | "cross-site" | "none" | undefined;

export type Send = (
  address: string,
  init: { readonly method: string; readonly headers: Record<string, string>; readonly form?: URLSearchParams },
) => Promise<Response>;

type Fields = Record<string, string> | URLSearchParams;

export class Browser {
  /** The cookies by name. */
  readonly cookies = new Map<string, string>();
  /** Every received `Set-Cookie`, the newest last. */
  readonly setCookies: string[] = [];
  readonly #send: Send;
  readonly #headers: Record<string, string>;

  constructor(options: { send?: Send; headers?: Record<string, string> } = {}) {
    this.#send = options.send ?? call;
    this.#headers = options.headers ?? {};
  }

  /** Opens an address: by a link, by typing or by a redirect. */
  get(address: string, from: From = "none", headers: Record<string, string> = {}): Promise<Visit> {
    return this.#request(address, { method: "GET", headers: { ...site(from), ...headers } }, true);
  }

  /** Opens the page to which a form led. */
  follow({ status, location, html }: Visit): Promise<Visit> {
    if (location === undefined) throw new Error(`expected a redirect, got ${status} ${html}`);
    return this.get(location, "same-origin");
  }

  /** Sends a form. A form of another site does not send cookies with `SameSite=Lax`. */
  post(
    address: string,
    fields: Fields,
    from: From = "same-origin",
    headers: Record<string, string> = {},
  ): Promise<Visit> {
    const form = new URLSearchParams(fields);
    return this.#request(
      address,
      { method: "POST", headers: { ...site(from), ...headers }, form },
      from !== "cross-site",
    );
  }

  /** Fills in the page's only form and sends it. */
  submit(page: Visit, fields: Record<string, string>, from: From = "same-origin"): Promise<Visit> {
    const [form, another] = page.forms;
    if (form === undefined || another !== undefined || form.method !== "post")
      throw new Error(`expected a page with one form, got ${page.status} ${page.location ?? ""} ${page.html}`);
    return this.post(form.action, { ...form.fields, ...fields }, from);
  }

  /** Returns the cookie of a kind (`session`, `browser`), with any prefix of its name. */
  cookie(kind: string): string | undefined {
    return [...this.cookies].find(([name]) => name.endsWith(`_${kind}`))?.[1];
  }

  async #request(address: string, init: Parameters<Send>[1], withCookies: boolean): Promise<Visit> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const headers = { ...this.#headers, ...init.headers, ...(withCookies && cookie !== "" ? { cookie } : {}) };
    const response = await this.#send(address, { ...init, headers });
    for (const text of response.headers.getSetCookie()) this.#keep(text);
    const html = await response.text();
    const location = response.headers.get("location") ?? undefined;
    return { status: response.status, headers: response.headers, html, location, forms: readForms(html) };
  }

  #keep(text: string): void {
    this.setCookies.push(text);
    const [pair = "", ...attributes] = text.split(";").map((part) => part.trim());
    const equals = pair.indexOf("=");
    const name = pair.slice(0, equals);
    const has = (attribute: string) => attributes.some((given) => given.toLowerCase() === attribute);
    // A browser drops a cookie that breaks the rules of its prefix (RFC 6265bis 4.1.3.2).
    if (name.startsWith("__Host-") && !(has("secure") && has("path=/"))) return;
    if (has("max-age=0")) this.cookies.delete(name);
    else this.cookies.set(name, pair.slice(equals + 1));
  }
}

const site = (from: From): Record<string, string> => (from === undefined ? {} : { "sec-fetch-site": from });

/** Returns a request in the form that a test's own isolate takes. */
export const toInit = ({ method, headers, form }: Parameters<Send>[1]): RequestInit => ({
  method,
  headers: new Headers(headers),
  redirect: "manual",
  ...(form === undefined ? {} : { body: form }),
});

/** Returns the parameters of an address, from its query and from its fragment. */
export function landed(visit: Visit): { at: string; query: URLSearchParams; fragment: URLSearchParams } {
  if (visit.location === undefined) throw new Error(`expected a redirect, got ${visit.status} ${visit.html}`);
  const [, at = "", query = "", fragment = ""] = /^([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/.exec(visit.location) ?? [];
  return { at, query: new URLSearchParams(query), fragment: new URLSearchParams(fragment) };
}

/** Returns `/oauth2/v1/authorize?…` with these parameters. */
export const authorizeAddress = (parameters: Fields): string =>
  `${ORIGIN}/oauth2/v1/authorize?${new URLSearchParams(parameters).toString()}`;

function readForms(html: string): Form[] {
  return [...html.matchAll(/<form\b([^>]*)>([^]*?)<\/form>/g)].map(([, tag = "", content = ""]) => {
    const inputs = [...content.matchAll(/<input\b([^>]*)>/g)].map(([, input = ""]) => input);
    const named = inputs.flatMap((input) => {
      const name = attributeOf(input, "name");
      return name === undefined ? [] : [[name, attributeOf(input, "value") ?? ""] as const];
    });
    const buttons = [...content.matchAll(/<button\b([^>]*)>([^]*?)<\/button>/g)].map(([, button = "", text = ""]) => ({
      name: attributeOf(button, "name") ?? "",
      value: attributeOf(button, "value") ?? "",
      text: unescapeHtml(text.replaceAll(/<[^>]*>/g, "").trim()),
    }));
    return {
      action: attributeOf(tag, "action") ?? "",
      method: (attributeOf(tag, "method") ?? "get").toLowerCase(),
      fields: Object.fromEntries(named),
      buttons,
    };
  });
}

function attributeOf(tag: string, name: string): string | undefined {
  const found = new RegExp(`(?:^|\\s)${name}="([^"]*)"`).exec(tag)?.[1];
  return found === undefined ? undefined : unescapeHtml(found);
}
