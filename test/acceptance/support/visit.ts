import { CookieBrowser, type Shown } from "./cookie-browser.ts";
import type { User } from "./world.ts";

/** The application that people sign in to. Nobody serves it: what counts is where the browser is sent. */
const APPLICATION = "http://127.0.0.1:3000";
export const CALLBACK = `${APPLICATION}/callback`;
export const SIGNED_OUT = `${APPLICATION}/signed-out`;

/** One without cookies. */
export const newBrowser = (): CookieBrowser => new CookieBrowser(APPLICATION);

/**
 * Follows the application's link; the user signs in at the page that is shown. Where the application is called then.
 */
export async function signIn(link: URL | string, user: User, browser = newBrowser()): Promise<URL> {
  const page = await browser.open(link);
  if (page.status !== 200) throw new Error(`expected a page: ${describe(page)}`);
  return atApplication(await browser.submit(page, { email: user.email, password: user.password }));
}

/** Follows a link that shows no page. Where the application is called then. */
export async function follow(link: URL | string, browser = newBrowser()): Promise<URL> {
  return atApplication(await browser.open(link));
}

function atApplication(shown: Shown): URL {
  if (shown.status !== undefined) throw new Error(`expected to be at the application: ${describe(shown)}`);
  return shown.url;
}

const describe = ({ status, url, text }: Shown): string => `${status} ${url.href} ${text}`;
