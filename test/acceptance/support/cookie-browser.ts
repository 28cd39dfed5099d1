/**
 * As much of a browser as signing in takes: it keeps cookies, follows redirects, and sends the form of a page. It stops
 * at an address of the application that it is signed in to, which nobody serves.
 */
export interface Shown {
  readonly url: URL;
  /** Undefined at the application. */
  readonly status: number | undefined;
  readonly text: string;
}

interface Cookie {
  readonly origin: string;
  readonly path: string;
  readonly name: string;
  readonly value: string;
}

const MAX_REDIRECTS = 20;

export class CookieBrowser {
  readonly #application: string;
  #stop: string | undefined;
  #cookies: Cookie[] = [];

  constructor(application: string) {
    this.#application = application;
  }

  /** Addresses that begin like this are not opened either, but shown as where the browser would go. */
  stopAt(beginning: string | undefined): void {
    this.#stop = beginning;
  }

  open(address: string | URL): Promise<Shown> {
    return this.#go(new URL(address), "GET");
  }

  /** Sends the page's form with its own fields and these. */
  submit(page: Shown, fields: Record<string, string>): Promise<Shown> {
    const attribute = (tag: string, name: string): string =>
      unescape(new RegExp(`${name}="([^"]*)"`).exec(tag)?.[1] ?? "");
    const form = /<form\b[^>]*>/.exec(page.text)?.[0] ?? "";
    const hidden = [...page.text.matchAll(/<input\b[^>]*type="hidden"[^>]*>/g)].map(([tag]) => tag);
    const own = hidden.map((tag) => [attribute(tag, "name"), attribute(tag, "value")]);
    const body = new URLSearchParams({ ...Object.fromEntries(own), ...fields });
    return this.#go(new URL(attribute(form, "action"), page.url), "POST", body);
  }

  async #go(url: URL, method: "GET" | "POST", body?: URLSearchParams): Promise<Shown> {
    for (let step = 0; step < MAX_REDIRECTS; step++) {
      const stops = [this.#application, ...(this.#stop === undefined ? [] : [this.#stop])];
      if (stops.some((beginning) => url.href.startsWith(beginning))) return { url, status: undefined, text: "" };
      const headers = { cookie: this.#cookiesFor(url) };
      const response = await fetch(url, { method, redirect: "manual", headers, ...(body && { body }) });
      this.#keep(url, response.headers.getSetCookie());
      const text = await response.text();
      const location = response.headers.get("location");
      if (location === null) return { url, status: response.status, text };
      [url, method, body] = [new URL(location, url), "GET", undefined];
    }
    throw new Error(`more than ${MAX_REDIRECTS} redirects, the last one to ${url.href}`);
  }

  #cookiesFor({ origin, pathname }: URL): string {
    const sent = this.#cookies.filter((cookie) => cookie.origin === origin && pathname.startsWith(cookie.path));
    return sent.map(({ name, value }) => `${name}=${value}`).join("; ");
  }

  #keep({ origin }: URL, lines: readonly string[]): void {
    for (const line of lines) {
      const [pair = "", ...attributes] = line.split(/; */);
      const [name = "", value = ""] = /^([^=]*)=(.*)$/.exec(pair)?.slice(1) ?? [];
      const path = attributes.find((attribute) => /^path=/i.test(attribute))?.slice(5) ?? "/";
      const expires = attributes.find((attribute) => /^expires=/i.test(attribute))?.slice(8);
      this.#cookies = this.#cookies.filter((old) => old.origin !== origin || old.path !== path || old.name !== name);
      if (value !== "" && (expires === undefined || new Date(expires) > new Date()))
        this.#cookies.push({ origin, path, name, value });
    }
  }
}

const unescape = (text: string): string =>
  text.replaceAll("&amp;", "&").replaceAll("&#39;", "'").replaceAll("&quot;", '"');
