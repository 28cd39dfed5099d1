import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { storeFile, visit, type Stage } from "./stage.ts";

/** What is typed, and the page that is open, stay until the person gives them up. */
export function keepSuite(stage: () => Stage): void {
  const asked = (page: Page) => page.getByRole("alertdialog", { name: "Throw away what you typed?" });
  const answer = async (page: Page, name: "Cancel" | "Throw away"): Promise<void> => {
    await asked(page).getByRole("button", { name }).click();
    await asked(page).waitFor({ state: "detached" });
  };

  describe("a form of the console", () => {
    test("in a dialog asks before Escape throws away what was typed", async () => {
      const page = await stage().open({ path: "/tenants/demo" });
      const dialog = page.getByRole("dialog");
      const name = dialog.getByLabel("Name", { exact: true });
      const edit = page.locator(".page-head").getByRole("button", { name: "Edit" });
      await edit.click();
      await name.waitFor();
      await page.keyboard.press("Escape");
      await dialog.waitFor({ state: "detached" });
      await edit.click();
      await name.fill("Half a name");
      await page.keyboard.press("Escape");
      await answer(page, "Cancel");
      expect(await name.inputValue()).toBe("Half a name");
      await dialog.locator("input:focus").waitFor();
      await page.keyboard.press("Escape");
      await answer(page, "Throw away");
      await dialog.waitFor({ state: "detached" });
      await edit.click();
      expect(await name.inputValue()).toBe("Demo shop");
      await name.fill("Half a name");
      await dialog.getByRole("button", { name: "Cancel" }).click();
      await dialog.waitFor({ state: "detached" });
    });

    test("in a dialog is left without a keyboard, as a dialog with nothing to fill in is", async () => {
      const page = await stage().open({ path: "/audit", viewport: { width: 360, height: 740 } });
      const dialog = page.getByRole("dialog");
      const close = dialog.getByRole("button", { name: "Close" });
      await page.getByRole("row").nth(1).click();
      await close.click();
      await dialog.waitFor({ state: "detached" });
      await page.goto(`${stage().url}/console/tenants/demo`);
      await page.locator(".page-head").getByRole("button", { name: "Edit" }).click();
      await dialog.getByLabel("Name", { exact: true }).fill("Half a name");
      await close.click();
      await answer(page, "Throw away");
      await dialog.waitFor({ state: "detached" });
    });

    test("in a dialog asks before Escape throws away a choice", async () => {
      const page = await stage().open({ path: "/tenants/demo" });
      const dialog = page.getByRole("dialog");
      await page.locator(".page-head").getByRole("button", { name: "Edit" }).click();
      await dialog.getByRole("button", { name: /Plan/ }).click();
      await page.getByRole("option").last().click();
      await page.getByRole("option").last().waitFor({ state: "detached" });
      await dialog.getByRole("button", { name: /Plan/ }).and(page.locator(":focus")).waitFor();
      await page.keyboard.press("Escape");
      await answer(page, "Throw away");
      await dialog.waitFor({ state: "detached" });
    });

    test("in a dialog stays while it is sent, so that a refusal is seen", async () => {
      const page = await stage().open({ path: "/tenants/demo" });
      const dialog = page.getByRole("dialog");
      const refuse = await holdChanges(page, { status: 409, type: "conflict", message: "Not just now." });
      await page.locator(".page-head").getByRole("button", { name: "Edit" }).click();
      await dialog.getByLabel("Name", { exact: true }).fill("Half a name");
      await dialog.getByRole("button", { name: "Save" }).click();
      await expect.poll(() => dialog.getByRole("button", { name: "Cancel" }).isDisabled()).toBe(true);
      await page.keyboard.press("Escape");
      refuse();
      await dialog.getByText("Not just now.").waitFor();
      expect(await dialog.getByLabel("Name", { exact: true }).inputValue()).toBe("Half a name");
    });

    test("tells of a refusal on the page to which the person went meanwhile", async () => {
      const page = await stage().open({ path: "/organizations/new" });
      const refuse = await holdChanges(page, { status: 409, type: "conflict", message: "Not just now." });
      await page.getByLabel("Id", { exact: true }).fill("meanwhile");
      await page.getByLabel("Name", { exact: true }).fill("Meanwhile");
      await page.getByRole("button", { name: "Create" }).click();
      await visit(page, "People");
      refuse();
      await page
        .getByRole("alertdialog")
        .getByText("New organization: The platform refused this. Not just now.")
        .waitFor();
    });

    test("leaves the person on the page that was opened meanwhile", async () => {
      const page = await stage().open({ path: "/organizations/new" });
      const change = await holdChanges(page);
      await page.getByLabel("Id", { exact: true }).fill("left");
      await page.getByLabel("Name", { exact: true }).fill("Left");
      await page.getByRole("button", { name: "Create" }).click();
      await visit(page, "People");
      change();
      await page.getByText("Left is saved.").waitFor();
      await page.getByRole("row", { name: "ada@demo.example" }).waitFor();
      expect(page.url()).toBe(`${stage().url}/console/people`);
    });

    test("asks for what was typed after it was sent", async () => {
      expect((await stage().operate("PUT", "roles/typist", { scopes: [] })).status).toBe(201);
      const page = await stage().open({ path: "/roles/typist" });
      const change = await holdChanges(page);
      await page.getByLabel("Scopes").fill("bills.read");
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByLabel("Scopes").fill("bills.write");
      change();
      await page.getByText("typist is saved.").waitFor();
      await page.getByRole("navigation").getByRole("link", { name: "People" }).click();
      await answer(page, "Cancel");
      expect(await page.getByLabel("Scopes").inputValue()).toBe("bills.write");
    });

    test("asks before a link, the back button or a reload throws away what was typed", async () => {
      const page = await stage().open({ path: "/organizations" });
      await page.getByRole("link", { name: "New organization" }).click();
      const id = page.getByLabel("Id", { exact: true });
      await id.fill("typed");
      await page.getByRole("navigation").getByRole("link", { name: "People" }).click();
      await answer(page, "Cancel");
      expect([await id.inputValue(), page.url()]).toEqual(["typed", `${stage().url}/console/organizations/new`]);
      await page.evaluate("history.back()");
      await answer(page, "Cancel");
      expect([await id.inputValue(), page.url()]).toEqual(["typed", `${stage().url}/console/organizations/new`]);
      const question = new Promise<string>((resolve) =>
        page.once("dialog", (dialog) => {
          resolve(dialog.type());
          void dialog.dismiss();
        }),
      );
      await page.evaluate("setTimeout(() => location.reload())");
      expect(await question).toBe("beforeunload");
      expect(await id.inputValue()).toBe("typed");

      await page.getByLabel("Name", { exact: true }).fill("Kept");
      await page.getByRole("button", { name: "Create" }).click();
      await page.getByRole("heading", { level: 1, name: "Kept" }).waitFor();
      await visit(page, "People");
      await visit(page, "Organizations");
      await page.getByRole("link", { name: "New organization" }).click();
      await id.fill("typed");
      await page.getByRole("navigation").getByRole("link", { name: "People" }).click();
      await answer(page, "Throw away");
      await page.getByRole("heading", { level: 1, name: "People" }).waitFor();
    });
  });

  describe("without a connection, the console", () => {
    test("shows no page that it has not, and goes on by itself", async () => {
      const page = await stage().open({ path: "/roles" });
      await page.getByRole("heading", { level: 1, name: "Roles" }).waitFor();
      await page.context().setOffline(true);
      await page.getByRole("navigation").getByRole("link", { name: "Sign-in elsewhere" }).click();
      await page.getByRole("heading", { name: "The platform cannot be reached" }).waitFor();
      await page.getByRole("button", { name: "Try again" }).click();
      await page.getByRole("navigation").getByRole("link", { name: "Roles" }).click();
      await page.getByRole("heading", { level: 1, name: "Roles" }).waitFor();
      await page.getByRole("navigation").getByRole("link", { name: "Sign-in elsewhere" }).click();
      await page.getByRole("heading", { name: "The platform cannot be reached" }).waitFor();
      await page.context().setOffline(false);
      await page.getByRole("heading", { level: 1, name: "Sign-in elsewhere" }).waitFor();
      for (const complaint of stage().complaints()) expect(complaint).toContain("UnavailableError");
    });

    test("keeps a form if the palette cannot be loaded", async () => {
      const page = await stage().open({ path: "/organizations/new" });
      const id = page.getByLabel("Id", { exact: true });
      await id.fill("typed");
      await page.context().setOffline(true);
      await page.keyboard.press("Control+k");
      await page.getByRole("alert").getByText("could not be loaded").waitFor();
      expect(await id.inputValue()).toBe("typed");
      for (const complaint of stage().complaints()) expect(complaint).toContain("imported module");
    });
  });

  describe("when the platform does not answer while tokens are fetched, the console", () => {
    test("says so at the sign-in, and a page that is loaded again begins anew", async () => {
      const page = await stage().open({ path: "/roles" });
      await page.getByRole("heading", { level: 1, name: "Roles" }).waitFor();
      await page.route("**/oauth2/v1/token", (route) => route.abort());
      await page.reload();
      await page.getByRole("alert").getByText("The platform did not answer. Try again.").waitFor();
      await page.unroute("**/oauth2/v1/token");
      await page.getByRole("button", { name: "Sign in", exact: true }).click();
      await page.getByRole("heading", { level: 1, name: "Roles" }).waitFor();
      await page.goto(`${stage().url}/console/callback?code=used&state=gone`);
      await page.getByRole("alert").getByText("Begin it again.").waitFor();
    });

    test("says why the person could not be signed in again", async () => {
      const page = await stage().open({ path: "/roles" });
      await page.getByRole("heading", { level: 1, name: "Roles" }).waitFor();
      await page.route("**/oauth2/v1/token", (route) =>
        route.fulfill({ status: 400, json: { error: "invalid_grant" } }),
      );
      let times = 0;
      await page.route("**/admin/v1/**", (route) =>
        (times += 1) === 1 ? route.fulfill({ status: 401, json: {} }) : route.continue(),
      );
      await page.getByRole("navigation").getByRole("link", { name: "Organizations" }).click();
      const dialog = page.getByRole("alertdialog", { name: "Your session has ended" });
      const again = async () => {
        const popup = page.waitForEvent("popup");
        await dialog.getByRole("button", { name: "Sign in again" }).click();
        await (await popup).waitForEvent("close");
      };
      await dialog.waitFor();
      await page.unroute("**/oauth2/v1/token");
      await page.route("**/oauth2/v1/token", (route) => route.abort());
      await again();
      await dialog.getByRole("alert").getByText("The platform did not answer. Try again.").waitFor();
      await page.unroute("**/oauth2/v1/token");
      await again();
      await dialog.waitFor({ state: "detached" });
      await page.getByRole("row", { name: "demo" }).first().waitFor();
    });

    test("says that it cannot be reached, and goes on", async () => {
      const page = await stage().open({ path: "/roles" });
      await page.getByRole("heading", { level: 1, name: "Roles" }).waitFor();
      await page.route("**/oauth2/v1/token", (route) => route.abort());
      let times = 0;
      await page.route("**/admin/v1/**", (route) =>
        (times += 1) === 1 ? route.fulfill({ status: 401, json: {} }) : route.continue(),
      );
      await page.getByRole("navigation").getByRole("link", { name: "Organizations" }).click();
      await page.getByRole("heading", { name: "The platform cannot be reached" }).waitFor();
      await page.unroute("**/oauth2/v1/token");
      await page.getByRole("button", { name: "Try again" }).click();
      await page.getByRole("row", { name: "demo" }).first().waitFor();
    });
  });

  describe("while the platform asks it to wait, the console", () => {
    const waits = /^Too many requests, or the platform is busy\. It goes on at \d+:/;

    test("says until when, and asks at once if the person wants it", async () => {
      const page = await stage().open({ path: "/people" });
      await page.getByRole("row", { name: "ada@demo.example" }).waitFor();
      const sent = await refuseOnce(page, "GET", "**/admin/v1/roles?**");
      await page.getByRole("navigation").getByRole("link", { name: "Roles" }).click();
      await page.getByRole("status").getByText(waits).waitFor();
      expect(sent.length).toBe(1);
      await page.getByRole("button", { name: "Try again" }).click();
      await page.getByRole("rowheader", { name: "operator", exact: true }).waitFor();
      expect([await page.getByText(waits).count(), sent.length]).toEqual([0, 2]);
    });

    test("and has no connection, says both, one below the other, however far one has scrolled", async () => {
      const page = await stage().open({ path: "/applications/demo.web", viewport: { width: 360, height: 400 } });
      await refuseOnce(page, "GET", "**/admin/v1/explain?**");
      await page.getByRole("link", { name: "Why does it get a scope, or not?" }).click();
      await page.getByRole("status").getByText(waits).waitFor();
      await page.context().setOffline(true);
      const bars = page.locator(".offline");
      await expect.poll(() => bars.count()).toBe(2);
      await page.evaluate("document.querySelector('main').style.minHeight = '3000px', scrollTo(0, 900)");
      const [one, other] = await Promise.all([bars.first().boundingBox(), bars.last().boundingBox()]);
      expect(one!.y).toBeGreaterThan(0);
      expect(other!.y).toBeGreaterThanOrEqual(one!.y + one!.height);
    });

    test("says so for the bytes of a file, and sends them afterwards", async () => {
      const page = await stage().open({ path: "/media?tenant=demo&client=demo.shop" });
      await page.getByRole("heading", { name: "No files yet" }).waitFor();
      const sent = await refuseOnce(page, "PUT", "**/media/v2/uploads/**");
      const file = { name: "note.txt", mimeType: "text/plain", buffer: Buffer.from("a note") };
      await page.locator("input[type=file]").setInputFiles([file]);
      await page.getByRole("status").getByText(waits).waitFor();
      await page.getByRole("button", { name: "Try again" }).click();
      await page.getByText("1 of 1 files uploaded").waitFor();
      expect([await page.getByText(waits).count(), sent.length]).toEqual([0, 2]);
    });

    test("says so in a dialog that sends a change", async () => {
      const page = await stage().open({ path: "/tenants/demo" });
      const dialog = page.getByRole("dialog");
      await refuseOnce(page, "PUT", "**/admin/v1/tenants/demo");
      await page.locator(".page-head").getByRole("button", { name: "Edit" }).click();
      await dialog.getByRole("button", { name: "Save" }).click();
      await dialog.getByText(waits).waitFor();
      await dialog.getByRole("button", { name: "Try again" }).click();
      await dialog.waitFor({ state: "detached" });
      await page.getByText("is saved").waitFor();
    });
  });

  test("what is typed while the palette is loaded goes into it, not into a form", async () => {
    const page = await stage().open({ path: "/organizations/new" });
    const id = page.getByLabel("Id", { exact: true });
    await id.fill("typed");
    let load = () => {};
    const loaded = new Promise<void>((resolve) => (load = resolve));
    await page.route(/palette-.*\.js/, async (route) => {
      await loaded;
      await route.continue();
    });
    await page.keyboard.press("Control+k");
    await page.keyboard.type("demmo");
    await page.keyboard.press("Backspace");
    await page.keyboard.press("Backspace");
    load();
    const palette = page.getByRole("searchbox");
    await palette.and(page.locator(":focus")).waitFor();
    await page.keyboard.type("o sh");
    expect([await palette.inputValue(), await id.inputValue()]).toEqual(["demo sh", "typed"]);
    await page.getByRole("option", { name: /Demo shop/ }).waitFor();
    // The first one empties the search.
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    await expect.poll(() => id.and(page.locator(":focus")).count()).toBe(1);
    await page.keyboard.press("Control+k");
    await palette.waitFor();
    expect(await palette.inputValue()).toBe("");
  });

  describe("a page that shows a record as it was", () => {
    const path = "clients/demo.stale";
    const body = { tenant: "demo", confidential: false, grantTypes: ["authorization_code"] };
    const stored = async (of = path) => (await (await stage().operate("GET", of)).json()) as object;
    const opened = async (): Promise<Page> => {
      const made = { ...body, redirectUris: ["https://a.example/cb"], scopes: ["plat.media_view"], disabled: false };
      await stage().operate("PUT", path, { ...made, thirdParty: false });
      const page = await stage().open({ path: "/applications/demo.stale" });
      await page.locator(".page-head").getByRole("button", { name: "Edit" }).waitFor();
      return page;
    };

    test("enables nothing, and takes no protection away, by a form about something else", async () => {
      const page = await opened();
      await page.locator(".page-head").getByRole("button", { name: "Edit" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Name on pages for people").fill("Renamed");
      const protections = { disabled: true, thirdParty: true, requirePkce: true };
      await stage().operate("PUT", path, { ...body, scopes: ["plat.media_view"], ...protections });
      await dialog.getByRole("button", { name: "Save" }).click();
      await dialog.waitFor({ state: "detached" });
      expect(await stored()).toMatchObject({ displayName: "Renamed", ...protections });
    });

    test("takes back no limit, and no binding of a provider, that the form did not change", async () => {
      const [tenant, provider] = ["tenants/stale", "identity-providers/stale"];
      const shop = { organization: "demo", name: "Stale shop" };
      const idp = { issuer: "https://idp.example", clientId: "x", clientSecret: "y", tenants: [] };
      const quota = { files: 7, bytes: 7_000 };
      await stage().operate("PUT", tenant, { ...shop, plan: "large", quota: {} });
      await stage().operate("PUT", provider, { ...idp, linking: "confirm" });
      const page = await stage().open({ path: "/tenants/stale" });
      const dialog = page.getByRole("dialog");
      const save = async () => {
        await dialog.getByRole("button", { name: "Save" }).click();
        await dialog.waitFor({ state: "detached" });
      };
      await page.locator(".page-head").getByRole("button", { name: "Edit" }).click();
      await dialog.getByLabel("Name", { exact: true }).fill("Renamed");
      await stage().operate("PUT", tenant, { ...shop, plan: "small", quota });
      await save();
      expect(await stored(tenant)).toMatchObject({ name: "Renamed", plan: "small", quota });
      await visit(page, "Sign-in elsewhere");
      await page.getByRole("button", { name: "Edit" }).click();
      await dialog.getByLabel("Client id").fill("renamed");
      await stage().operate("PUT", provider, { ...idp, tenants: ["demo"], linking: "operator" });
      await save();
      expect(await stored(provider)).toMatchObject({ clientId: "renamed", tenants: ["demo"], linking: "operator" });
      await stage().operate("DELETE", provider);
    });

    test("gives back no scope when it disables the application", async () => {
      const page = await opened();
      await stage().operate("PUT", path, { ...body, scopes: [] });
      await page.getByRole("button", { name: "Disable" }).click();
      await page.getByRole("alertdialog").getByRole("button", { name: "Disable" }).click();
      await expect.poll(() => stored()).toMatchObject({ disabled: true, scopes: [], redirectUris: [] });
    });

    test("brings back no trust, no scope and no name that another operator took away", async () => {
      const service = { sourceUrl: "https://stale.example", proxyPath: "/stale/v1", tenant: "demo", access: "token" };
      const trusts = { access: "public", essential: true, trusted: true, forwardAuthorization: true };
      const scopes = ["stale.view", "stale.edit"];
      await stage().operate("PUT", "services/stale", { ...service, ...trusts, scopes });
      await stage().operate("PUT", "packages/stale", { version: "1", organization: "demo", services: ["stale"] });
      const page = await stage().open({ path: "/services" });
      const dialog = page.getByRole("dialog");
      const edit = async (name: string, at: number) => {
        await page
          .getByRole("listitem")
          .filter({ hasText: name })
          .nth(at)
          .getByRole("button", { name: "Edit" })
          .click();
        await dialog.waitFor();
      };
      const save = async () => {
        await dialog.getByRole("button", { name: "Save" }).click();
        await dialog.waitFor({ state: "detached" });
      };
      await edit("stale", 0);
      await dialog.getByLabel("Path at the gateway").fill("/stale/v2");
      await stage().operate("PUT", "services/stale", { ...service, scopes: ["stale.view"] });
      await save();
      const none = { access: "token", essential: false, trusted: false, forwardAuthorization: false };
      expect(await stored("services/stale")).toMatchObject({ proxyPath: "/stale/v2", scopes: ["stale.view"], ...none });
      await edit("stale", 1);
      await dialog.getByLabel("Version").fill("2");
      await stage().operate("PUT", "packages/stale", { version: "1", organization: "demo", services: [] });
      await save();
      expect(await stored("packages/stale")).toMatchObject({ version: "2", services: [] });
      await stage().operate("DELETE", "packages/stale");
      await stage().operate("DELETE", "services/stale");
    });

    test("asks once before it replaces what another operator has changed as well", async () => {
      await stage().operate("PUT", "roles/stale", { scopes: ["stale.view", "stale.edit"] });
      const page = await stage().open({ path: "/roles/stale" });
      const scopes = page.getByLabel("Scopes");
      await scopes.fill("stale.view\nstale.edit\nstale.more");
      await stage().operate("PUT", "roles/stale", { scopes: ["stale.view"] });
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByText("Somebody else has changed this meanwhile, to: stale.view.").waitFor();
      expect(await stored("roles/stale")).toMatchObject({ scopes: ["stale.view"] });
      expect(await scopes.inputValue()).toBe("stale.view\nstale.edit\nstale.more");
      await scopes.fill("stale.view\nstale.more");
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByText("stale is saved.").waitFor();
      await scopes.fill("stale.more");
      await page.getByRole("button", { name: "Save" }).click();
      await expect.poll(() => stored("roles/stale")).toMatchObject({ scopes: ["stale.more"] });
      await stage().operate("DELETE", "roles/stale");
    });

    test("asks once before it replaces the metadata of a file that changed meanwhile", async () => {
      const id = await storeFile(stage(), "demo/files/demo.shop/private", { album: "old" }, "a file");
      const metadata = `files/${id}/metadata`;
      const page = await stage().open({ path: `/media/files/${id}` });
      const value = page.getByLabel("Value");
      const save = () => page.getByRole("button", { name: "Save" }).click();
      await value.fill("mine");
      await stage().operate("PUT", metadata, { album: "theirs" });
      await save();
      await page.getByText('Somebody else has changed this meanwhile, to: {"album":"theirs"}.').waitFor();
      expect(await value.inputValue()).toBe("mine");
      const now = async () => JSON.parse(String(((await stored(`files/${id}`)) as any).metadataText)) as object;
      expect(await now()).toEqual({ album: "theirs" });
      await save();
      await page.getByText("The metadata is saved.").waitFor();
      expect(await now()).toEqual({ album: "mine" });
      await value.fill("mine again");
      await save();
      await expect.poll(now).toEqual({ album: "mine again" });
    });

    test("takes back no name and no colour by an act about something else", async () => {
      const shop = { organization: "demo", name: "Stale shop" };
      await stage().operate("PUT", "tenants/stale", { ...shop, disabled: false, brand: { name: "Old" } });
      await stage().operate("PUT", "users/stale@demo.example", { name: "Stale", disabled: false });
      const page = await stage().open({ path: "/tenants/stale" });
      const brand = page.locator("section.card", { has: page.getByRole("heading", { name: "Brand" }) });
      await brand.getByRole("button", { name: "Edit" }).click();
      await page.getByLabel("Name in the head of pages").fill("Fresh");
      await stage().operate("PUT", "tenants/stale", { ...shop, name: "Renamed", brand: { accentColor: "#0e5a75" } });
      await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
      await page.getByText(/^Somebody else has changed this meanwhile, to: –/).waitFor();
      await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
      await page.getByRole("dialog").waitFor({ state: "detached" });
      const fresh = { name: "Fresh", accentColor: "#0e5a75" };
      expect(await stored("tenants/stale")).toMatchObject({ name: "Renamed", brand: fresh });
      const disable = async (heading: string) => {
        await page.getByRole("heading", { level: 1, name: heading }).waitFor();
        await stage().operate("PUT", "tenants/stale", { ...shop, name: "Again" });
        await stage().operate("PUT", "users/stale@demo.example", { name: "Again" });
        await page.getByRole("button", { name: "Disable" }).click();
        await page.getByRole("alertdialog").getByRole("button", { name: "Disable" }).click();
        await page.getByText("Disabled", { exact: true }).waitFor();
      };
      await disable("Renamed");
      expect(await stored("tenants/stale")).toMatchObject({ name: "Again", disabled: true });
      await stage().operate("PUT", "users/stale@demo.example", { name: "Stale" });
      await visit(page, "People");
      await page.getByRole("row", { name: "stale@demo.example" }).click();
      await disable("Stale");
      expect(await stored("users/stale@demo.example")).toMatchObject({ name: "Again", disabled: true });
      await stage().operate("DELETE", "users/stale@demo.example");
    });
  });

  test("a page that is reached by a row or Back has the focus at its heading", async () => {
    const page = await stage().open({ path: "/tenants" });
    const focused = () => page.evaluate("document.activeElement.textContent");
    const row = page.getByRole("row", { name: "Demo shop" });
    await row.waitFor();
    expect(await page.evaluate("document.activeElement.tagName")).toBe("BODY");
    await row.focus();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "demo" }).waitFor();
    await expect.poll(focused).toBe("Demo shop");
    await page.evaluate("history.back()");
    await expect.poll(focused).toBe("Tenants");
  });

  test("a copy that the browser refuses is said", async () => {
    const page = await stage().open({ path: "/applications/demo.web" });
    const copy = page.getByRole("button", { name: /^Copy/ }).first();
    await copy.waitFor();
    await page.evaluate("navigator.clipboard.writeText = () => Promise.reject(new Error('not allowed'))");
    await copy.click();
    await page.getByText("The browser did not allow copying").waitFor();
  });
}

/** Holds every change that the page sends. The function that is returned lets them go on, or refuses them. */
async function holdChanges(page: Page, refusal?: { status: number; type: string; message: string }) {
  let end = () => {};
  const ended = new Promise<void>((resolve) => (end = resolve));
  await page.route("**/admin/v1/**", async (route) => {
    if (route.request().method() === "GET") return route.continue();
    await ended;
    if (refusal === undefined) return route.continue();
    await route.fulfill({ status: refusal.status, json: { details: [], ...refusal } });
  });
  return end;
}

/** Answers 429 to the first such request, as a platform with rate limits does. The requests are in what is returned. */
async function refuseOnce(page: Page, method: string, address: string): Promise<readonly string[]> {
  const asked: string[] = [];
  await page.route(address, async (route) => {
    const request = route.request();
    if (request.method() !== method) return route.continue();
    asked.push(request.url());
    if (asked.length > 1) return route.continue();
    const json = { status: 429, type: "too_many_requests", message: "Too many requests.", details: [] };
    await route.fulfill({ status: 429, headers: { "retry-after": "60" }, json });
  });
  return asked;
}
