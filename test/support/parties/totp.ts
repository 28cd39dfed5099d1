import { codeAt, stepAt } from "../../../src/oauth/factors/totp.ts";
import type { Browser, Visit } from "../browser.ts";

/** An authenticator app that has read a secret from a page. */
export interface App {
  /** Returns the code of the current step, or of `ago` steps before. */
  readonly code: (ago?: number) => string;
}

/** Reads the key that the page shows as text. */
export function appOf({ html }: Visit): App {
  const secret = /class="key">([A-Z2-7 ]+)</.exec(html)?.[1]?.replaceAll(" ", "");
  if (secret === undefined) throw new Error(`expected a page with a key, got ${html}`);
  return { code: (ago = 0) => codeAt(secret, stepAt(Date.now()) - ago) };
}

export const recoveryCodesOf = ({ html }: Visit): readonly string[] =>
  [...html.matchAll(/<code>([a-z2-7]{4}(?:-[a-z2-7]{4}){5})<\/code>/g)].map(([, code = ""]) => code);

/** Sets up an app at `/account`, where the browser is signed in. */
export async function setUpApp(
  browser: Browser,
  origin: string,
  password: string,
): Promise<{ readonly app: App; readonly recoveryCodes: readonly string[] }> {
  const account = await browser.get(`${origin}/account`);
  const form = account.forms.find(({ action }) => action.endsWith("/second-factor/set-up"));
  if (form === undefined) throw new Error(`expected an account without a second factor, got ${account.html}`);
  const page = await browser.post(form.action, form.fields);
  const app = appOf(page);
  // This code is of the step before, so that the current code stays unused.
  const done = await browser.submit(page, { code: app.code(1), password });
  const recoveryCodes = recoveryCodesOf(done);
  if (recoveryCodes.length !== 10) throw new Error(`expected ten recovery codes, got ${done.status} ${done.html}`);
  return { app, recoveryCodes };
}
