import type { User } from "./world.ts";

/**
 * As much of a browser as a person needs who signs in at a page without scripts: it keeps cookies, reads the form, and
 * goes where it is sent, up to the application.
 */
export class UserAgent {
  readonly #cookies = new Map<string, string>();

  /** Follows the link; the user signs in where the page asks for it. Where the application is then called. */
  async signIn(link: URL | string, user: User): Promise<URL> {
    const page = await this.#request(link);
    const { action, fields } = formOf(await pageOf(page));
    return landed(await this.#request(action, { ...fields, email: user.email, password: user.password }));
  }

  /** Follows a link that shows no page. */
  async follow(link: URL | string): Promise<URL> {
    return landed(await this.#request(link));
  }

  async #request(address: URL | string, form?: Record<string, string>): Promise<Response> {
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(address, {
      redirect: "manual",
      headers: { cookie },
      ...(form === undefined ? {} : { method: "POST", body: new URLSearchParams(form) }),
    });
    for (const [, name = "", value = ""] of response.headers
      .getSetCookie()
      .map((text) => /^([^=]*)=([^;]*)/.exec(text) ?? []))
      this.#cookies.set(name, value);
    return response;
  }
}

async function pageOf(response: Response): Promise<string> {
  const text = await response.text();
  if (response.status !== 200)
    throw new Error(`expected a page, got ${response.status} ${response.headers.get("location") ?? text}`);
  return text;
}

async function landed(response: Response): Promise<URL> {
  const text = await response.text();
  const location = response.headers.get("location");
  if (location === null) throw new Error(`expected a redirect, got ${response.status} ${text}`);
  return new URL(location, response.url);
}

function formOf(html: string): { action: string; fields: Record<string, string> } {
  const hidden = [...html.matchAll(/<input[^>]*type="hidden"[^>]*>/g)].map(([tag]) => tag);
  return {
    action: attribute(/<form[^>]*>/.exec(html)?.[0] ?? "", "action"),
    fields: Object.fromEntries(hidden.map((tag) => [attribute(tag, "name"), attribute(tag, "value")])),
  };
}

const attribute = (tag: string, name: string): string =>
  (new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1] ?? "")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");
