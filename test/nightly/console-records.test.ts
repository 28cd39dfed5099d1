import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { goByPalette, OPERATOR, signIn, useConsole, visit } from "../acceptance/console/stage.ts";
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

/** The service gets the first such request, but its answer is lost. Returns how often the request was sent. */
async function loseFirstAnswer(page: Page, method: string, path: string): Promise<() => number> {
  let times = 0;
  await page.route(`**/admin/v1/${path}`, async (route) => {
    if (route.request().method() !== method || (times += 1) > 1) return route.continue();
    await route.fetch();
    await route.abort();
  });
  return () => times;
}

/** Holds such changes, until the function that is returned lets them go on. */
async function holdChange(page: Page, path: string): Promise<() => void> {
  let end = () => {};
  const ended = new Promise<void>((resolve) => (end = resolve));
  await page.route(`**/admin/v1/${path}`, async (route) => {
    if (route.request().method() !== "GET") await ended;
    await route.continue();
  });
  return end;
}

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

test("a new record replaces none that is there", async () => {
  const { operate, open } = stage();
  expect((await operate("PUT", "roles/clerk", { scopes: ["bills.read"] })).status).toBe(201);
  const page = await open({ path: "/roles/new" });
  await page.getByLabel("Name", { exact: true }).fill("clerk");
  await page.getByLabel("Scopes").fill("bills.write");
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByText("It exists already.").waitFor();
  expect(await (await operate("GET", "roles/clerk")).json()).toMatchObject({ scopes: ["bills.read"] });
  await page.getByLabel("Name", { exact: true }).fill("clerk-2");
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByText("clerk-2 is saved.").waitFor();
  await page.getByRole("heading", { level: 1, name: "clerk-2" }).waitFor();
  await page.getByLabel("Scopes").fill("bills.read");
  await page.getByRole("button", { name: "Save" }).click();
  await expect
    .poll(async () => (await operate("GET", "roles/clerk-2")).json())
    .toMatchObject({ scopes: ["bills.read"] });
  expect(page.url()).toContain("/roles/clerk-2");
});

test("a new record is not sent while it is unknown whether there is such a record", async () => {
  const { operate, open } = stage();
  expect((await operate("PUT", "roles/unseen", { scopes: ["bills.read"] })).status).toBe(201);
  const page = await open({ path: "/roles/new" });
  await page.route("**/admin/v1/roles/unseen", (route) =>
    route.request().method() === "GET"
      ? route.fulfill({ status: 500, json: { status: 500, type: "internal_service_error", message: "Not read." } })
      : route.continue(),
  );
  await page.getByLabel("Name", { exact: true }).fill("unseen");
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByRole("alert").getByText("Something went wrong").waitFor();
  expect(await (await operate("GET", "roles/unseen")).json()).toMatchObject({ scopes: ["bills.read"] });
});

test("a new application whose answer was lost shows the secret that it has", async () => {
  const { url, open } = stage();
  const page = await open({ path: "/applications/new" });
  const timesSent = await loseFirstAnswer(page, "PUT", "clients/demo.lost");
  await page.getByRole("radio", { name: /^Machine/ }).check({ force: true });
  await page.getByRole("button", { name: "Next" }).click();
  await page.getByLabel("Client id").fill("demo.lost");
  await page.getByLabel("Tenant").fill("demo");
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByRole("heading", { level: 1, name: "Your application is ready" }).waitFor();
  const secret = await page.locator(".secret-value code").textContent({ timeout: 5_000 });
  const granted = await fetch(`${url}/oauth2/v1/token`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`demo.lost:${secret}`)}` },
    body: new URLSearchParams({ grant_type: "client_credentials" }),
  });
  // Lost, refused because there is such an application now, and written again since it is the one of this form.
  expect([timesSent(), granted.status]).toEqual([3, 200]);
});

test("a new provider whose answer was lost is there, although its secret is shown as stars", async () => {
  const page = await stage().open({ path: "/providers" });
  const timesSent = await loseFirstAnswer(page, "PUT", "identity-providers/lost");
  await page.getByRole("button", { name: "New provider" }).first().click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Id", { exact: true }).fill("lost");
  await dialog.getByLabel("Issuer").fill("https://login.example");
  await dialog.getByLabel("Our client id there").fill("plinth");
  await dialog.getByLabel("Our client secret there").fill("a secret of theirs");
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.getByText("lost is saved.").waitFor();
  expect(timesSent()).toBe(3);
  await stage().operate("DELETE", "identity-providers/lost");
});

/** Another operator writes this before the first write of the page. */
async function race(page: Page, path: string, body: object): Promise<void> {
  let isFirst = true;
  await page.route(`**/admin/v1/${path}`, async (route) => {
    if (route.request().method() === "PUT" && isFirst) {
      isFirst = false;
      await stage().operate("PUT", path, body);
    }
    await route.continue();
  });
}

test("what another operator writes between the form's read and its write is kept", async () => {
  const { operate, open } = stage();
  async function openRaced(path: string): Promise<Page> {
    const page = await open({ path });
    await race(page, "roles/raced", { scopes: ["bills.other"] });
    return page;
  }
  const scopes = async () => ((await (await operate("GET", "roles/raced")).json()) as { scopes: unknown }).scopes;

  let page = await openRaced("/roles/new");
  await page.getByLabel("Name", { exact: true }).fill("raced");
  await page.getByLabel("Scopes").fill("bills.mine");
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByText("It exists already.").waitFor();
  expect(await scopes()).toEqual(["bills.other"]);

  expect((await operate("PUT", "roles/raced", { scopes: ["bills.first"] })).status).toBe(200);
  page = await openRaced("/roles/raced");
  await page.getByLabel("Scopes").fill("bills.mine");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText(/changed.*bills\.other/i).waitFor();
  expect(await scopes()).toEqual(["bills.other"]);
});

test("what another operator writes between the read and the write of an act is kept", async () => {
  const { operate, open } = stage();
  const kept = async (path: string) => (await operate("GET", path)).json() as Promise<object>;
  const disable = async (page: Page): Promise<void> => {
    await page.getByRole("button", { name: "Disable" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Disable" }).click();
    await page.getByText("Disabled", { exact: true }).waitFor();
  };
  const scopes = ["plat.media_view", "plat.media_manage"];
  expect((await operate("PUT", "clients/demo.acted", app("demo.acted", { scopes }))).status).toBe(201);
  const page = await open({ path: "/applications/demo.acted" });
  await race(page, "clients/demo.acted", app("demo.acted", { scopes: scopes.slice(0, 1) }));
  await disable(page);
  expect(await kept("clients/demo.acted")).toMatchObject({ disabled: true, scopes: scopes.slice(0, 1) });

  expect((await operate("PUT", "users/acted@demo.example", { name: "Before" })).status).toBe(201);
  await goByPalette(page, "acted@demo.example", "Before");
  await race(page, "users/acted%40demo.example", { name: "After" });
  await disable(page);
  expect(await kept("users/acted@demo.example")).toMatchObject({ disabled: true, name: "After" });

  expect((await operate("PUT", "tenants/between", { organization: "demo", name: "Before" })).status).toBe(201);
  await goByPalette(page, "between", "Before");
  await page.waitForURL(/tenants/);
  await race(page, "tenants/between", { organization: "demo", name: "After", brand: { accentColor: "#0e5a75" } });
  await page.getByRole("button", { name: "Edit: Brand" }).click();
  await page.getByLabel("Name in the head of pages").fill("Fresh");
  await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  const brand = { name: "Fresh", accentColor: "#0e5a75" };
  expect(await kept("tenants/between")).toMatchObject({ name: "After", brand });
});

test("a change whose answer was lost is not taken for somebody else's, if the service sorts its list", async () => {
  const { operate, open } = stage();
  expect((await operate("PUT", "users/sorted@demo.example", { name: "Sorted" })).status).toBe(201);
  const page = await open({ path: "/tenants/demo" });
  const dialog = page.getByRole("dialog");
  const member = "tenants/demo/members/sorted%40demo.example";
  const timesSent = await loseFirstAnswer(page, "PUT", member);
  async function send(roles: string): Promise<void> {
    await dialog.getByLabel("Roles").fill(roles);
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.waitFor({ state: "detached", timeout: 10_000 });
  }
  await page.getByRole("button", { name: "Add a member" }).click();
  await dialog.getByLabel("E-mail address").fill("sorted@demo.example");
  await send("demo-operator demo-all");
  expect(timesSent()).toBe(3);

  await page.unroute(`**/admin/v1/${member}`);
  await loseFirstAnswer(page, "PUT", member);
  await page.getByRole("button", { name: "Change roles: sorted@demo.example" }).click();
  await send("organization-admin demo-all");
  expect(await (await operate("GET", member)).json()).toMatchObject({ roles: ["demo-all", "organization-admin"] });
});

test("a secret whose page was left before it came is shown once, on the page of its application", async () => {
  const { url, open } = stage();
  const page = await open({ path: "/applications/new" });
  const secret = page.locator(".secret-value code");
  let answer = await holdChange(page, "clients/demo.left");
  await page.getByRole("radio", { name: /^Machine/ }).check({ force: true });
  await page.getByRole("button", { name: "Next" }).click();
  await page.getByLabel("Client id").fill("demo.left");
  await page.getByLabel("Tenant").fill("demo");
  await page.getByRole("button", { name: "Create" }).click();
  await visit(page, "Organizations");
  answer();
  await page.getByText("demo.left has a new secret. Its page shows it once.").waitFor();
  await goByPalette(page, "demo.left");
  const made = await secret.textContent({ timeout: 5_000 });
  const granted = await fetch(`${url}/oauth2/v1/token`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`demo.left:${made}`)}` },
    body: new URLSearchParams({ grant_type: "client_credentials" }),
  });
  expect(granted.status).toBe(200);

  answer = await holdChange(page, "clients/demo.left/secret");
  await page.getByRole("button", { name: "New secret" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "New secret" }).click();
  await page.evaluate("history.back()");
  await page.getByRole("heading", { level: 1, name: "Organizations" }).waitFor();
  answer();
  await expect.poll(() => page.getByText("demo.left has a new secret. Its page shows it once.").count()).toBe(2);
  await goByPalette(page, "demo.left");
  expect(await secret.textContent({ timeout: 5_000 })).not.toBe(made);
  await page.getByText("The old secret works until").waitFor();
  await visit(page, "Organizations");
  await goByPalette(page, "demo.left");
  await page.getByRole("button", { name: "New secret" }).waitFor();
  expect(await secret.count()).toBe(0);
});

test("each step of a new application begins at its heading, and a secret is in view", async () => {
  const { open } = stage();
  const page = await open({ path: "/applications/new", viewport: { width: 360, height: 740 } });
  const focused = () => page.evaluate("document.activeElement.tagName + ' ' + document.activeElement.textContent");
  const isInView = () =>
    page.evaluate(`(() => {
      const { top, bottom } = document.querySelector(".secret").getBoundingClientRect();
      return top > 50 && bottom < innerHeight;
    })()`);
  await page.getByRole("radio", { name: /^Server/ }).check({ force: true });
  await page.getByRole("button", { name: "Next" }).click();
  await page.getByLabel("Client id").waitFor();
  expect(await focused()).toBe("H1 New application");
  await page.getByLabel("Client id").fill("demo.seen");
  await page.getByLabel("Tenant").fill("demo");
  await page.getByLabel("Redirect addresses").fill("https://seen.example/cb");
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByRole("heading", { level: 1, name: "Your application is ready" }).waitFor();
  expect(await focused()).toBe("H1 Your application is ready");
  expect(await isInView()).toBe(true);
  await page.getByRole("button", { name: "To the application" }).click();
  await page.getByRole("button", { name: "New secret" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "New secret" }).click();
  await page.getByRole("alertdialog").waitFor({ state: "detached" });
  await page.locator(".secret").waitFor();
  await expect.poll(isInView).toBe(true);
  // It stays there when the dialog has given the focus back.
  await page.waitForTimeout(300);
  expect(await isInView()).toBe(true);
});

test("a deletion whose answer was lost is done", async () => {
  const { operate, open } = stage();
  expect((await operate("PUT", "roles/short", { scopes: [] })).status).toBe(201);
  const page = await open({ path: "/roles/short" });
  const timesSent = await loseFirstAnswer(page, "DELETE", "roles/short");
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Delete" }).click();
  await page.getByText("short is deleted.").waitFor();
  await page.getByRole("heading", { level: 1, name: "Roles" }).waitFor();
  expect(timesSent()).toBe(2);
});

test("the secret of a provider is an empty field, not the stars that stand for it", async () => {
  const { operate, open } = stage();
  const provider = { issuer: "https://login.example", clientId: "plinth", clientSecret: "a secret of theirs" };
  expect((await operate("PUT", "identity-providers/office", provider)).status).toBe(201);
  const page = await open({ path: "/providers" });
  await page.getByRole("button", { name: "Edit" }).click();
  expect(await page.getByLabel("Our client secret there").inputValue()).toBe("");
  const sent = page.waitForRequest((request) => request.method() === "PUT");
  await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
  expect((await sent).postDataJSON()).not.toHaveProperty("clientSecret");
  await page.getByText("office is saved.").waitFor();
});

/** Ends the operator's session, and goes from page to page until the console has noticed. */
async function expire(page: Page): Promise<void> {
  expect((await stage().operate("POST", `users/${OPERATOR}/revoke`)).status).toBe(204);
  const dialog = page.getByRole("alertdialog");
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
}

test("a second try to sign in again works", async () => {
  const page = await stage().open();
  const dialog = page.getByRole("alertdialog");
  await expire(page);
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

test("another person who signs in again gets a page of their own, and sends nothing of the first one's", async () => {
  const { operate, open } = stage();
  expect((await operate("PUT", "users/otto@demo.example", { name: "Otto", password: SECRET })).status).toBe(201);
  const membership = "organizations/operators/members/otto@demo.example";
  expect((await operate("PUT", membership, { roles: ["operator"] })).status).toBe(201);
  const page = await open();
  await expire(page);
  await page.evaluate("window.isFirst = true");
  const popup = page.waitForEvent("popup");
  await page.getByRole("alertdialog").getByRole("button", { name: "Sign in again" }).click();
  await signIn(await popup, "otto@demo.example", SECRET).catch(() => undefined);
  await page.getByRole("button", { name: "otto@demo.example" }).waitFor();
  expect(await page.evaluate("window.isFirst")).toBe(undefined);
}, 150_000);
