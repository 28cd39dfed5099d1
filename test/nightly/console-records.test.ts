import { expect, test } from "vitest";
import { goByPalette, OPERATOR, signIn, useConsole } from "../acceptance/console/stage.ts";
import { localSecret } from "../acceptance/support/process/state.ts";

/** Pages of the console while its person goes on to another record, and what a form must not change. */
const stage = useConsole();
const DEVICE = "urn:ietf:params:oauth:grant-type:device_code";
const SECRET = "a-secret-of-the-client-that-is-long-enough-for-tests";
const app = (id: string, more: object = {}) => ({
  tenant: "demo",
  confidential: true,
  grantTypes: ["authorization_code", "refresh_token"],
  redirectUris: [`https://${id}.example/cb`],
  scopes: [],
  clientSecret: SECRET,
  ...more,
});

test("a secret that is shown once is not on the page of another application", async () => {
  const { operate, open } = stage();
  for (const id of ["demo.alpha", "demo.beta"])
    expect((await operate("PUT", `clients/${id}`, app(id))).status).toBe(201);
  const page = await open();
  await goByPalette(page, "demo.alpha");
  await page.getByRole("button", { name: /secret/i }).click();
  await page
    .getByRole("alertdialog")
    .getByRole("button", { name: /secret/i })
    .click();
  await page.locator(".secret-value code").waitFor();
  await goByPalette(page, "demo.beta");
  await page.getByText("https://demo.beta.example/cb").first().waitFor();
  expect(await page.locator(".secret-value code").count()).toBe(0);
});

test("a form that is open writes into no other record after Back", async () => {
  const { operate, open } = stage();
  for (const id of ["north", "south"])
    expect([200, 201]).toContain((await operate("PUT", `tenants/${id}`, { organization: "demo", name: id })).status);
  const page = await open();
  const members = page.getByRole("heading", { name: "Members" });
  for (const id of ["south", "north"]) {
    await goByPalette(page, id);
    await page.waitForURL(new RegExp(id));
    await members.waitFor();
  }
  const card = page.locator("section.card", { has: members });
  await card.getByRole("button", { name: "Add", exact: false }).first().click();
  await page.getByRole("dialog").getByLabel("E-mail").fill(OPERATOR);
  await page.evaluate("history.back()");
  await page.getByRole("button", { name: "Throw away" }).click();
  await page.waitForURL(/south/);
  await page.getByRole("dialog").waitFor({ state: "detached" });
});

test("an edit keeps what the form of an application of devices does not show", async () => {
  const { operate, open } = stage();
  const more = { grantTypes: [DEVICE, "refresh_token"], redirectUris: [], thirdParty: true };
  const logout = { backchannelLogoutUri: "https://tv.example/logout" };
  expect((await operate("PUT", "clients/demo.tv", app("demo.tv", { ...more, ...logout }))).status).toBe(201);
  const { clientSecret: _, ...open_ } = app("demo.tool", { ...more, confidential: false });
  expect((await operate("PUT", "clients/demo.tool", open_)).status).toBe(201);
  const page = await open();
  for (const id of ["demo.tv", "demo.tool"]) {
    await goByPalette(page, id);
    await page.waitForURL(new RegExp(id));
    await page.getByRole("button", { name: "Edit", exact: true }).first().click();
    await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
    await page.getByRole("dialog").waitFor({ state: "detached" });
    const saved = (await (await operate("GET", `clients/${id}`)).json()) as object;
    expect(saved).toMatchObject({ ...more, ...(id === "demo.tv" ? logout : {}) });
  }
});

test("a second try to sign in again works", async () => {
  const { operate, open } = stage();
  const page = await open();
  const dialog = page.getByRole("alertdialog");
  expect((await operate("POST", `users/${OPERATOR}/revoke`)).status).toBe(204);
  const links = page.getByRole("navigation");
  for (let at = 0; at < 30 && !(await dialog.isVisible()); at++) {
    const name = at % 2 === 0 ? "Organizations" : "Tenants";
    await links
      .getByRole("link", { name, exact: true })
      .click({ timeout: 1_000 })
      .catch(() => undefined);
    await page.waitForTimeout(700);
  }
  await dialog.waitFor();
  const again = async () => {
    const popup = page.waitForEvent("popup");
    await dialog.getByRole("button", { name: "Sign in again" }).click();
    return popup;
  };
  const first = await again();
  await first.getByLabel("E-mail address").waitFor();
  await first.close();
  await signIn(await again(), OPERATOR, localSecret("DEMO_OPERATOR_PASSWORD")).catch(() => undefined);
  await dialog.waitFor({ state: "detached" });
}, 150_000);
