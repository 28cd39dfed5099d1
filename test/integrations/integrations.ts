import assert from "node:assert/strict";
import { ADA, type Integration, type Stage } from "./stage.ts";

/** Signs in by the application's link, and out again. Then the application asks for the password again. */
async function signInAndOut(stage: Stage): Promise<void> {
  const { app, browser } = stage;
  await browser.goto(app);
  await browser
    .getByRole("link", { name: "Sign in" })
    .or(browser.getByRole("button", { name: "Sign in" }))
    .click();
  await stage.signIn();
  await stage.sees(`Hello ${ADA}`);
  await browser.getByText("Sign out").click();
  await stage.sees("Nobody is signed in");
  await asksForPassword(stage, app);
}

/** After a sign-out the session at the platform has ended too. */
async function asksForPassword({ browser }: Stage, address: string): Promise<void> {
  await browser.goto(address);
  const link = browser.getByRole("link", { name: "Sign in" }).or(browser.getByRole("button", { name: "Sign in" }));
  const password = browser.getByLabel("Password");
  await link.or(password).first().waitFor();
  if (!(await password.isVisible())) await link.first().click();
  await password.waitFor({ timeout: 15_000 });
}

/** What the platform tells an application comes beside its answer to the browser. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (const deadline = Date.now() + 15_000; !(await isSo());) assert.ok(Date.now() < deadline, "it did not come");
}

/** The last but one character: the last one has bits that count for nothing. */
const changed = (token: string): string => token.slice(0, -2) + (token.at(-2) === "A" ? "B" : "A") + token.slice(-1);

/** An API that takes tokens of the demo's client, and nothing else. */
async function checksTokens({ clientToken, statusOf }: Stage): Promise<void> {
  const token = await clientToken();
  assert.equal(await statusOf("/api/me", token), 200);
  assert.equal(await statusOf("/api/me", changed(token)), 401);
  assert.equal(await statusOf("/api/me"), 401);
}

/** The pages of docs/integrations, by their names. */
export const INTEGRATIONS: Readonly<Record<string, Integration>> = {
  apache: {
    needs: ["apache2", "/usr/lib/apache2/modules/mod_auth_openidc.so"],
    path: "/goodbye.html",
    async try(stage) {
      const { app, browser, platform } = stage;
      const home = `${app}/private/index.shtml`;
      await browser.goto(home);
      await stage.signIn();
      await stage.sees(`Hello ${ADA} of tenant demo`);
      assert.equal((await browser.goto(`${app}/private/acme.shtml`))?.status(), 403);
      // The platform tells Apache.
      await browser.goto(`${platform}/oauth2/v1/end_session`);
      await until(async () => !(await browser.goto(home))?.url().startsWith(app));
      await asksForPassword(stage, home);
      await stage.signIn();
      await stage.sees(`Hello ${ADA}`);
      await browser.getByText("Sign out").click();
      await stage.sees("You are signed out.");
      await asksForPassword(stage, home);
      assert.notEqual(await stage.statusOf("/private/callback?code=made-up&state=made-up"), 200);
    },
  },
  "oauth2-proxy": {
    needs: ["nginx", "oauth2-proxy"],
    path: "/goodbye.html",
    async try(stage) {
      const { app, browser } = stage;
      await browser.goto(app);
      await stage.signIn();
      await stage.sees(`Hello ${ADA}`);
      const forged = await fetch(app, { headers: { cookie: "_oauth2_proxy=forged" }, redirect: "manual" });
      assert.match(forged.headers.get("location") ?? "", /\/oauth2\/start/);
      await browser.getByText("Sign out").click();
      await stage.sees("You are signed out.");
      await asksForPassword(stage, app);
    },
  },
  authlib: {
    needs: ["python3"],
    async try(stage) {
      const { app, browser } = stage;
      await browser.goto(`${app}/sign-in`);
      await stage.signIn();
      await stage.sees("your files: 200");
      assert.notEqual(await stage.statusOf("/callback?code=made-up&state=made-up"), 302);
      await browser.context().clearCookies();
      await signInAndOut(stage);
      await checksTokens(stage);
      assert.equal(await stage.statusOf("/api/admin", await stage.clientToken()), 403);
    },
  },
  go: {
    needs: ["go"],
    async try(stage) {
      await signInAndOut(stage);
      assert.equal(await stage.statusOf("/callback?code=made-up&state=made-up"), 400);
      await checksTokens(stage);
    },
  },
  "spring-security": {
    needs: ["java", "mvn"],
    async try(stage) {
      const { app, browser } = stage;
      await browser.goto(`${app}/oauth2/authorization/plinth`);
      await stage.signIn();
      await stage.sees(`Hello ${ADA} of tenant demo`);
      await browser.getByText("Leave").click();
      await browser.getByRole("button", { name: "Log Out" }).click();
      await stage.sees("Nobody is signed in");
      await asksForPassword(stage, app);
      await browser.goto(`${app}/login/oauth2/code/plinth?code=made-up&state=made-up`);
      assert.match(browser.url(), /login\?error/);
      await checksTokens(stage);
      assert.equal(await stage.statusOf("/api/admin", await stage.clientToken()), 403);
    },
  },
  authjs: {
    needs: ["npm"],
    async try(stage) {
      const { app, browser } = stage;
      await browser.goto(`${app}/auth/signin`);
      await browser.getByRole("button", { name: "Sign in with Plinth" }).click();
      await stage.signIn();
      await stage.sees(`Hello ${ADA} of tenant demo`);
      await browser.goto(`${app}/files`);
      await stage.sees("The platform answered 200");
      assert.equal(await stage.statusOf("/files"), 401);
      await browser.goto(`${app}/auth/callback/plinth?code=made-up&state=made-up`);
      assert.match(browser.url(), /error/);
      await browser.goto(app);
      await browser.getByText("Sign out").click();
      await stage.sees("Nobody is signed in");
      await browser.goto(`${app}/auth/signin`);
      await browser.getByRole("button", { name: "Sign in with Plinth" }).click();
      await browser.getByLabel("Password").waitFor();
    },
  },
  "browser-app": {
    needs: ["npm", "python3"],
    async try(stage) {
      const { app, browser } = stage;
      await signInAndOut(stage);
      await stage.signIn();
      await stage.sees("The platform answered 200");
      await browser.goto(`${app}/?code=made-up&state=made-up`);
      await stage.sees("Refused: ");
    },
  },
  "cloudflare-worker": {
    needs: ["npm"],
    async try(stage) {
      await signInAndOut(stage);
      assert.equal(await stage.statusOf("/callback?code=made-up&state=made-up"), 400);
      await checksTokens(stage);
    },
  },
};
