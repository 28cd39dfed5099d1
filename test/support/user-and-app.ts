import { Browser } from "./browser.ts";
import { makeApp, signInThrough, type TestApp } from "./sign-in.ts";
import { makeUser, type TestUser } from "./users.ts";

export interface UserAndApp {
  readonly user: TestUser;
  readonly app: TestApp;
}

/** Makes a user and a client of the user's tenant. `client` has fields of its registration. */
export async function makeUserAndApp(client: Parameters<typeof makeApp>[0] = {}): Promise<UserAndApp> {
  const user = await makeUser();
  return { user, app: await makeApp({ ...client, tenant: user.tenant }) };
}

/** Makes a user, a client, and a browser in which the user is signed in. */
export async function makeSignedInUser(): Promise<UserAndApp & { readonly browser: Browser }> {
  const { user, app } = await makeUserAndApp();
  const browser = new Browser();
  await signInThrough(browser, app, user);
  return { user, app, browser };
}
