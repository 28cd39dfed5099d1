import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { visit, type Stage } from "./stage.ts";

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

  test("a copy that the browser refuses is said", async () => {
    const page = await stage().open({ path: "/applications/demo.web" });
    const copy = page.getByRole("button", { name: /^Copy/ }).first();
    await copy.waitFor();
    await page.evaluate("navigator.clipboard.writeText = () => Promise.reject(new Error('not allowed'))");
    await copy.click();
    await page.getByText("The browser did not allow copying").waitFor();
  });
}
